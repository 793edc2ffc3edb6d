#!/usr/bin/env python3
"""Compares keys with those that the compilers' own caches computed for the same graphs, and explains every pair on which the two
disagree.

usage: key_table.py COMMAND CORPUS [--check PAGE | --write PAGE]

Prints a table in Markdown and the explanations; PAGE has them between two marks, and is compared or rewritten. What explains a pair
comes from the command: where ours are equal, the steps of the normalisation (`canon --trace`) that only one of the two took; where
ours differ, the first differences (`diff --json`).
"""

from __future__ import annotations

import collections
import itertools
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

BEGIN, END = "<!-- key_table.py begins -->\n", "<!-- key_table.py ends -->\n"
# Differences named of a pair; the rest are counted.
NAMED = 3
# What the description's format leaves out by itself.
FORMATS_OWN = {"name": "names of nodes and inputs", "target": "names of placeholders", "meta": "nodes' meta"}


class Pair(NamedTuple):
    compiler: str
    a: Path
    b: Path
    theirs: bool
    note: str
    times: int = 1


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def run(command: str, *arguments: object, text: str | None = None) -> str:
    return subprocess.run(
        [command, *map(str, arguments)], input=text, capture_output=True, text=True, check=False
    ).stdout


def torch_pairs(command: str, corpus: Path) -> Iterator[Pair]:
    """All pairs of descriptions of a kind that PyTorch has keys of. Of those equal for both one stands for all."""
    rows: dict[str, dict[Path, str]] = collections.defaultdict(dict)
    for table in sorted(corpus.glob("torch/*/keys.jsonl")):
        for row in lines(table):
            if row["torch_key"] is not None:
                rows[row["kind"]][table.parent / row["graph"]] = row["torch_key"]
    for kind in sorted(rows):
        ours = keys_of(command, set(rows[kind]))
        groups: dict[tuple[str, str], list[Path]] = collections.defaultdict(list)
        for file, theirs in rows[kind].items():
            groups[theirs, ours[file]].append(file)
        for files in groups.values():
            yield Pair("PyTorch", files[0], files[0], True, "", math.comb(len(files), 2))
        for (a, a_files), (b, b_files) in itertools.combinations(groups.items(), 2):
            yield Pair("PyTorch", a_files[0], b_files[0], a[0] == b[0], "", len(a_files) * len(b_files))


def jax_pairs(corpus: Path) -> Iterator[Pair]:
    for row in lines(corpus / "jax/pairs.jsonl"):
        note = f"{row['pair']}: {row['note']}" if row["note"] else row["pair"]
        yield Pair("JAX", corpus / "jax" / row["a"], corpus / "jax" / row["b"], row["jax_same_key"], note)


def keys_of(command: str, files: set[Path]) -> dict[Path, str]:
    text = "".join(f"{file}\n" for file in sorted(files))
    keys = {}
    for line in run(command, "key", "--batch", text=text).splitlines():
        key, name = line.split("  ", 1)
        keys[Path(name)] = key
    missing = files - keys.keys()
    if missing:
        sys.exit(f"no key: {min(missing)}")
    return keys


def steps(command: str, file: Path) -> collections.Counter[tuple[str, str]]:
    """What was taken out of a description: the reason, and what it was."""
    found: collections.Counter[tuple[str, str]] = collections.Counter()
    for line in run(command, "canon", "--trace", "--json", file).splitlines():
        step = json.loads(line)
        if step["step"] == "name":
            continue  # a whole name that is handed back: its rule's step was told already
        if step["step"] == "symbol":
            reason = "names of symbols"
        elif step.get("rule") is not None:
            reason = step["why"].split(";")[0].split(":")[0]
        else:
            reason = FORMATS_OWN.get(step["path"].rsplit(".", 1)[-1], f"`{step['path']}`")
        found[reason, json.dumps([step.get("path"), step.get("from"), step.get("to")])] += 1
    return found


def why_equal(command: str, pair: Pair) -> str:
    """The reasons for what only one of the two was rid of."""
    a, b = steps(command, pair.a), steps(command, pair.b)
    reasons = sorted({reason for reason, _ in (a - b) + (b - a)} - {"`volatile`"})
    if not reasons:
        return "how expressions and maps are spelt and ordered"
    return "only in: " + ", ".join(reasons)


def why_different(command: str, pair: Pair) -> str:
    answer = json.loads(run(command, "diff", "--json", "--max", 1000, pair.a, pair.b))
    named = [
        f"`{item['path']}`" + (" added" if item["stored"] is None else " gone" if item["asked"] is None else "")
        for item in answer["differs"]
    ]
    more = len(named) - NAMED + answer["left_out"]
    return ", ".join(named[:NAMED]) + (f" and {more} more" if more > 0 else "")


def name_of(corpus: Path, pair: Pair) -> str:
    if pair.note:
        return pair.note
    a, b = (f"{file.parent.parent.name}/{file.stem[:8]}" for file in (pair.a, pair.b))
    return f"{a}, {b}"


def page(command: str, corpus: Path) -> str:
    pairs = [*torch_pairs(command, corpus), *jax_pairs(corpus)]
    keys = keys_of(command, {file for pair in pairs for file in (pair.a, pair.b)})
    counts: collections.Counter[tuple[str, bool, bool]] = collections.Counter()
    disagreements = []
    for pair in pairs:
        ours = keys[pair.a] == keys[pair.b]
        counts[pair.compiler, pair.theirs, ours] += pair.times
        if ours != pair.theirs:
            why = why_equal(command, pair) if ours else why_different(command, pair)
            disagreements.append((pair.compiler, ours, why, name_of(corpus, pair)))
    out = ["| pairs of | both equal | both different | only ours equal | only theirs equal |", "| --- | --- | --- | --- | --- |"]
    for compiler in ("PyTorch", "JAX"):
        row = [counts[compiler, theirs, ours] for theirs, ours in ((True, True), (False, False), (False, True), (True, False))]
        out.append(f"| {compiler} | " + " | ".join(f"{count:,}" for count in row) + " |")
    out += ["", "| pair | equal for | what makes the difference |", "| --- | --- | --- |"]
    groups: dict[tuple[str, bool, str], list[str]] = collections.defaultdict(list)
    for compiler, ours, why, name in disagreements:
        groups[compiler, ours, why].append(name)
    for (compiler, ours, why), names in groups.items():
        out.append(f"| {'; '.join(names)} | {'guardcache' if ours else compiler} | {why} |")
    return "\n".join(out) + "\n"


def main() -> int:
    command, corpus, found = sys.argv[1], Path(sys.argv[2]), ""
    found = page(command, corpus)
    if len(sys.argv) == 3:
        print(found, end="")
        return 0
    target = Path(sys.argv[4])
    text = target.read_text()
    head, rest = text.split(BEGIN)
    old, tail = rest.split(END)
    if sys.argv[3] == "--write":
        target.write_text(head + BEGIN + found + END + tail)
        return 0
    if old != found:
        print(f"{target} has another table than the corpus gives:\n{found}")
    return int(old != found)


if __name__ == "__main__":
    sys.exit(main())
