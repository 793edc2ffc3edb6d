#!/usr/bin/env python3
"""Tries the command on a whole corpus of captured data and counts what is right.

usage: check.py COMMAND CORPUS [CHECK]...

Checks, all by default:
  replays   every program on a fresh cache: 0 mismatches; again on the kept cache: nothing that hit misses, and no
            lookup misses whose graph and hints an entry was inserted for
  guards    every recorded evaluation: true, false and the exception's name
  keys      two descriptions have one key if and only if kind and class are equal
  pairs     every label holds
  renamed   of pairs with one key: who doesn't rename misses where names differ, for who does the renames make the one
            module's names the other's; with the module's name counted its name decides
  misses    every miss is explained: the reason is the recorded one; each candidate's guards, the first that fails and its
            arithmetic are what Python finds; the advised hints are the nearest, and a lookup with them hits; of the stored
            keys the nearest is named, with exactly the components that differ; and when the run is over, the journal
            tells of each miss what was told when it happened
  differences  one of two different descriptions is stored and the other asked for: the named paths with their values turn
            the one into the other, the hunks of a text stand where it differs and nowhere else does it
  nearest   in one cache of all that is labelled: the key that is named is the nearest by a distance that nearest.py finds by
            comparing with all of them, in 99 of 100
  rows      whatever a difference names is there and differs, under one renumbering of nodes and inputs; no placeholder that is
            still there is named; an input more, or a node less, is one row from which all others follow
  changes   targets and constants changed in captured graphs, also with a node less: what every row says stands there on that
            side, and changes in place are no more rows than there were changes

The data's formats are in fixtures/README.md. Ends with `N passed, N failed`.
"""

from __future__ import annotations

import collections
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import changes
import misses
import nearest
import renamed
import rows

# What is shown of one check's failures; the counts are complete.
SHOWN = 10

Event = dict[str, Any]


class Tally:
    def __init__(self) -> None:
        self.passed = self.failed = 0

    def add(self, good: bool, what: str) -> None:
        if good:
            self.passed += 1
            return
        self.failed += 1
        if self.failed <= SHOWN:
            print(f"  failed: {what}")


def lines(path: Path) -> list[Any]:
    with path.open() as file:
        return [json.loads(line) for line in file]


class Corpus:
    def __init__(self, command: str, folder: Path) -> None:
        self.command, self.folder = command, folder
        self.programs = sorted(path.parent for path in folder.glob("*/*/trace.jsonl"))

    def run(self, *arguments: object, text: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.command, *map(str, arguments)], input=text, capture_output=True, text=True, check=False
        )

    def replay(self, program: Path, cache: str) -> tuple[int, list[Event], Event]:
        result = self.run("replay", "--json", "--cache", cache, program)
        events = [json.loads(line) for line in result.stdout.splitlines()]
        summary = events.pop()["summary"] if events and "summary" in events[-1] else {}
        return result.returncode, events, summary

    def keys(self, files: Iterable[Path]) -> dict[Path, str]:
        names = [str(file) for file in files]
        result = self.run("key", "--batch", text="\n".join(names) + "\n")
        keys = {}
        for line in result.stdout.splitlines():
            key, name = line.split("  ", 1)
            keys[Path(name)] = key
        return keys


def check_replays(corpus: Corpus, tally: Tally) -> None:
    for program in corpus.programs:
        with tempfile.TemporaryDirectory() as cache:
            status, events, summary = corpus.replay(program, cache)
            recorded = lines(program / "trace.jsonl")
            good = status == 0 and len(events) == len(recorded) and summary["mismatches"] == 0
            tally.add(good, f"{program.name}: exit {status}, {summary}")
            _, again, _ = corpus.replay(program, cache)
            tally.add(*kept_cache_hits(program.name, recorded, events, again))


def kept_cache_hits(name: str, recorded: list[Event], first: list[Event], again: list[Event]) -> tuple[bool, str]:
    """On the kept cache a lookup that hit hits, and so does one for which an entry was accepted at those hints."""
    if len(first) != len(recorded) or len(again) != len(recorded):
        return False, f"{name}: the replay on the kept cache ended early"
    accepted = {
        (out["key"], json.dumps(event["hints"], sort_keys=True))
        for event, out in zip(recorded, first, strict=True)
        if out["outcome"] == "inserted" and "hints" in event and not {"variant", "requires"} & set(event)
    }
    for event, before, now in zip(recorded, first, again, strict=True):
        if event["op"] != "lookup" or now["outcome"] == "hit":
            continue
        wanted = (now["key"], json.dumps(event.get("hints", {}), sort_keys=True)) in accepted and "variant" not in event
        if before["outcome"] == "hit" or wanted:
            return False, f"{name}: event {event['seq']} misses on the kept cache ({now['reason']})"
    return True, name


def check_guards(corpus: Corpus, tally: Tally) -> None:
    for path in sorted((corpus.folder / "guards").glob("*.jsonl")):
        recorded = lines(path)
        result = corpus.run("guard", "eval", "--batch", text=path.read_text())
        answers = [json.loads(line) for line in result.stdout.splitlines()]
        tally.add(len(answers) == len(recorded), f"{path.name}: {len(answers)} answers to {len(recorded)} questions")
        for event, answer in zip(recorded, answers, strict=False):
            same = answer["result"] == event["result"] and answer.get("error") == event.get("error")
            tally.add(same, f"{event['guard'][:200]} {event['hints']}: {answer}, recorded {event['result']}")


def check_keys(corpus: Corpus, tally: Tally) -> None:
    """Each distinct class must have a key of its own, and each key a class of its own."""
    for family in sorted({path.parent.parent for path in corpus.folder.glob("*/*/keys.jsonl")}):
        tables = sorted(family.glob("*/keys.jsonl"))
        rows = [(path.parent / row["graph"], row) for path in tables for row in lines(path)]
        keys = corpus.keys(file for file, _ in rows)
        class_of_key: dict[str, tuple[str, str]] = {}
        key_of_class: dict[tuple[str, str], str] = {}
        for file, row in rows:
            key, wanted = keys.get(file, "none"), (row["kind"], row["class"])
            same = class_of_key.setdefault(key, wanted) == wanted and key_of_class.setdefault(wanted, key) == key
            tally.add(same and key != "none", f"{file.parent.parent.name}/{file.name}: key {key[:12]}, class {wanted}")


def check_pairs(corpus: Corpus, tally: Tally) -> None:
    """Every label of every compiler's pairs; `either` asks for nothing but two keys."""
    for path in sorted(corpus.folder.glob("*/pairs.jsonl")):
        pairs = lines(path)
        files = [path.parent / pair[side] for pair in pairs for side in "ab"]
        keys = corpus.keys(files)
        for pair in pairs:
            a, b = (keys.get(path.parent / pair[side]) for side in "ab")
            what = f"{pair['a']} {pair['b']}: {pair['label']}: {pair.get('note', '')}"
            right = pair["label"] == "either" or (a == b) == (pair["label"] == "same")
            tally.add(right and a is not None and b is not None, what)


CHECKS: dict[str, Callable[[Corpus, Tally], None]] = {
    "replays": check_replays,
    "guards": check_guards,
    "keys": check_keys,
    "pairs": check_pairs,
    "renamed": renamed.check_renamed,
    "misses": misses.check_misses,
    "differences": misses.check_differences,
    "nearest": nearest.check_nearest,
    "rows": rows.check_rows,
    "changes": changes.check_changes,
}


def main() -> int:
    corpus = Corpus(sys.argv[1], Path(sys.argv[2]))
    totals: collections.Counter[str] = collections.Counter()
    for name in sys.argv[3:] or CHECKS:
        tally = Tally()
        CHECKS[name](corpus, tally)
        print(f"{name}: {tally.passed} right, {tally.failed} wrong")
        totals.update(passed=tally.passed, failed=tally.failed)
        if tally.passed == 0:
            print(f"  {name}: nothing was checked")
            totals.update(failed=1)
    print(f"{totals['passed']} passed, {totals['failed']} failed")
    return 1 if totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
