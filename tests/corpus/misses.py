"""Checks of explained misses against what is true of them: truth.py says how that is found."""

from __future__ import annotations

import collections
import json
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import nearest
import truth

if TYPE_CHECKING:
    from check import Corpus, Event, Tally

# The end of a line that is cut in an explanation, and the last line of a text's differences that are.
CUT = "..."
SHORTENED = re.compile(r"^\.\.\. and \d+ more changed lines?$", re.M)


class Files:
    """Keys and components of descriptions, asked for once a file."""

    def __init__(self, corpus: Corpus, files: list[Path]) -> None:
        result = corpus.run("key", "--components", "--json", *files)
        self.of_file: dict[Path, Event] = {}
        self.of_key: dict[str, Path] = {}
        for line in result.stdout.splitlines():
            row = json.loads(line)
            self.of_file[Path(row["file"])] = row
            self.of_key.setdefault(row["key"], Path(row["file"]))

    def differing(self, one: str, other: str) -> set[str]:
        a, b = (self.of_file[self.of_key[key]]["components"] for key in (one, other))
        return {name for name in {*a, *b} if a.get(name) != b.get(name)}


class Played:
    """One program, replayed event by event, so that each miss is explained in the state it happened in."""

    def __init__(self, corpus: Corpus, program: Path, folder: Path) -> None:
        self.corpus, self.program = corpus, program
        self.cache, self.step = folder / "cache", folder / "step"
        self.step.mkdir()
        (self.step / "graphs").symlink_to((program / "graphs").resolve())
        with (program / "trace.jsonl").open() as file:
            self.events = [json.loads(line) for line in file]
        self.files = Files(corpus, sorted({program / event["graph"] for event in self.events if event.get("graph")}))
        # What stands under each key: the guards of every insert that was accepted.
        self.stored: dict[str, set[tuple[str, ...]]] = collections.defaultdict(set)
        self.forms = nearest.Forms(corpus)
        # Each miss as it was explained when it happened.
        self.explained: list[Event] = []

    def key(self, event: Event) -> str:
        return str(self.files.of_file[self.program / event["graph"]]["key"])

    def play(self, pending: list[Event]) -> None:
        (self.step / "trace.jsonl").write_text("".join(json.dumps(event) + "\n" for event in pending))
        self.corpus.run("replay", "--cache", self.cache, self.step)
        for event in pending:
            guards = tuple(event.get("guards", ()))
            hints = truth.numbers(event.get("hints"))
            if "hints" not in event or truth.first_failing(list(guards), hints) is None:
                self.stored[self.key(event)].add(guards)

    def ask(self, command: str, event: Event, changes: dict[str, int] | None = None) -> tuple[int, str]:
        arguments = [command, "--json", "--cache", self.cache, "--graph", self.program / event["graph"]]
        for name, value in {**event.get("hints", {}), **(changes or {})}.items():
            arguments += ["--hint", f"{name}={json.dumps(value)}"]
        for name, value in event.get("provides", {}).items():
            arguments += ["--provide", f"{name}={value}"]
        if "variant" in event:
            arguments += ["--variant", event["variant"]]
        result = self.corpus.run(*arguments)
        return result.returncode, result.stdout or result.stderr

    def wrong(self, event: Event) -> str:
        """What is wrong with the explanation of a recorded miss; "" if all of it is right."""
        status, text = self.ask("explain", event)
        if status != 0:
            return f"exit {status}: {text[:300]}"
        answer = json.loads(text)
        self.explained.append(answer)
        if (answer["outcome"], answer["reason"]) != ("miss", event["expect"]["reason"]):
            return f"{answer['outcome']} {answer['reason']}"
        if answer["reason"] == "no_key":
            return self.wrong_nearest(answer)
        return self.wrong_candidates(event, answer)

    def wrong_candidates(self, event: Event, answer: Event) -> str:
        hints = truth.numbers(event.get("hints"))
        named = {tuple(guard["text"] for guard in candidate["guards"]) for candidate in answer["candidates"]}
        if named != self.stored[self.key(event)]:
            return "the candidates aren't those that were inserted"
        for candidate in answer["candidates"]:
            problem = truth.wrong_candidate(candidate, hints)
            if not problem and "would_hit" in candidate:
                problem = truth.wrong_advice(candidate, hints) or self.refuted(event, candidate["would_hit"])
            if problem:
                return problem
        return ""

    def wrong_afterwards(self) -> str:
        """From the journal, after all the rest was stored, every miss reads as it did when it happened."""
        result = self.corpus.run("explain", "--last", len(self.explained), "--json", "--cache", self.cache)
        past = [json.loads(line) for line in reversed(result.stdout.splitlines())]
        if len(past) != len(self.explained):
            return f"{len(past)} of {len(self.explained)} misses are in the journal"
        return next(filter(None, map(wrong_memory, self.explained, past)), "")

    def refuted(self, event: Event, would_hit: str) -> str:
        """The advised hints are tried: a lookup must hit."""
        status, text = self.ask("lookup", event, truth.changed(would_hit))
        return f"advised {would_hit}, but a lookup with it: {text[:200]}" if status != 0 else ""

    def wrong_nearest(self, answer: Event) -> str:
        """The nearest are stored, none is nearer, and exactly the components that differ are named."""
        for near in answer["nearest"]:
            if near["key"] not in self.stored:
                return f"{near['key'][:8]} isn't stored"
        stored = {key: self.files.of_key[key] for key in self.stored}
        problem = nearest.wrong_nearest(self.forms, self.files.of_key[answer["key"]], answer, stored)
        if problem or not answer["nearest"] or not answer["nearest"][0]["alike"]:
            return problem
        first = answer["nearest"][0]
        differing = self.files.differing(first["key"], answer["key"])
        named = {str(truth.path_steps(item["path"])[0]) for item in first["differs"]}
        if named - differing or (named != differing and first["left_out"] == 0):
            return f"components {sorted(differing)} differ, {sorted(named)} are named"
        return wrong_differences(self.corpus, self.files.of_key[first["key"]], answer["key"], first["differs"])


def wrong_memory(then: Event, past: Event) -> str:
    """The journal keeps the candidates that decide, and has more to say: when it was, what it cost, what is now."""
    for name in ("outcome", "reason", "key", "kind", "nearest", "advice"):
        if then.get(name) != past.get(name):
            return f"{name} was {str(then.get(name))[:200]}, is remembered as {str(past.get(name))[:200]}"
    candidates = {candidate["entry"]: candidate for candidate in then["candidates"]}
    if bool(past["candidates"]) != any(one["outcome"] == then["reason"] for one in then["candidates"]):
        return "the candidates that decide aren't remembered"
    for candidate in past["candidates"]:
        if candidate != candidates[candidate["entry"]]:
            return f"{candidate['entry']} isn't remembered as it was"
    return ""


def wrong_differences(corpus: Corpus, stored: Path, asked_key: str, differs: list[Event]) -> str:
    """Where all differences are values: the stored description with them applied has the key that was asked for."""
    try:
        changed = truth.patched(json.loads(stored.read_text()), differs)
    except truth.Unclear:
        return ""
    result = corpus.run("key", "-", text=json.dumps(changed))
    same = result.stdout.startswith(asked_key)
    return "" if same else f"applied to {stored.name}, the differences give another key: {differs[:3]}"


def check_misses(corpus: Corpus, tally: Tally) -> None:
    for program in corpus.programs:
        with tempfile.TemporaryDirectory() as folder:
            played = Played(corpus, program, Path(folder))
            pending: list[Event] = []
            for event in played.events:
                if event["op"] == "insert":
                    pending.append(event)
                if event.get("expect", {}).get("outcome") != "miss":
                    continue
                played.play(pending)
                pending.clear()
                problem = played.wrong(event)
                tally.add(not problem, f"{program.name}: event {event['seq']}: {problem}")
                played.ask("lookup", event)
            played.play(pending)
            problem = played.wrong_afterwards()
            tally.add(not problem, f"{program.name}, afterwards: {problem}")


# ---- pairs ----


def module_lines(corpus: Corpus, file: Path) -> list[str]:
    """The lines of a description's text as it is hashed: behind the member's name in the canonical bytes."""
    form = bytes.fromhex(corpus.run("canon", "--hex", file).stdout.replace("\n", ""))
    at = form.find(b"\x66module") + len("\x66module")
    if at < len("\x66module"):
        return []
    small = form[at] & 0x1F
    width = {24: 1, 25: 2, 26: 4, 27: 8}.get(small, 0)
    size = int.from_bytes(form[at + 1 : at + 1 + width], "big") if width else small
    return form[at + 1 + width : at + 1 + width + size].decode().split("\n")


def is_beginning(shown: str, line: str) -> bool:
    return line == shown or (shown.endswith(CUT) and line.startswith(shown[: -len(CUT)]))


def wrong_hunks(hunks: str, stored: list[str], asked: list[str]) -> str:
    """Each line that a hunk takes away or adds stands where its head says, and whatever is outside is equal."""
    pieces = re.split(r"^@@ -(\d+),(\d+) \+(\d+),(\d+) @@$\n?", hunks, flags=re.M)[1:]
    if not pieces:
        return "no hunk"
    kept_stored, kept_asked = list(stored), list(asked)
    for begin, _, other, _, body in reversed(list(zip(*[iter(pieces)] * 5))):
        left, right = int(begin) - 1, int(other) - 1
        for line in body.splitlines():
            for sign, lines, at, kept in (("-", stored, left, kept_stored), ("+", asked, right, kept_asked)):
                if line[0] in (sign, " "):
                    if at >= len(lines) or not is_beginning(line[1:], lines[at]):
                        return f"{line[:80]} isn't line {at + 1}"
                    kept[at] = "\0"
            left += line[0] in "- "
            right += line[0] in "+ "
    same = [line for line in kept_stored if line != "\0"] == [line for line in kept_asked if line != "\0"]
    return "" if same or SHORTENED.search(hunks) else "lines outside of the hunks differ"


def wrong_pair(corpus: Corpus, stored: Path, asked: Path, folder: str) -> str:
    """Stores one of a pair and asks for the other."""
    cache, payload = Path(folder) / "cache", Path(folder) / "payload"
    payload.write_text("code")
    corpus.run("insert", "--cache", cache, "--graph", stored, "--payload", payload)
    answer = json.loads(corpus.run("explain", "--json", "--cache", cache, "--graph", asked).stdout)
    if answer["reason"] != "no_key":
        return str(answer["reason"])
    files = Files(corpus, [stored, asked])
    near: Event = answer["nearest"][0] if answer["nearest"] else {"key": None}
    if near["key"] != files.of_file[stored]["key"]:
        return "the nearest isn't the other of the pair"
    if not near["alike"]:
        most = 2 * near["units_differ"] > near["units"]
        return "" if most and not near["differs"] else f"unlike for {near['units_differ']} of {near['units']} {near['unit']}"
    texts = [item for item in near["differs"] if item["path"] == "module" and "hunks" in item]
    for item in texts:
        problem = wrong_hunks(item["hunks"], module_lines(corpus, stored), module_lines(corpus, asked))
        if problem:
            return problem
    named = {str(truth.path_steps(item["path"])[0]) for item in near["differs"]}
    if named != files.differing(near["key"], answer["key"]):
        return f"{sorted(named)} are named"
    return wrong_differences(corpus, stored, answer["key"], near["differs"])


def check_differences(corpus: Corpus, tally: Tally) -> None:
    for path in sorted(corpus.folder.glob("*/pairs.jsonl")):
        with path.open() as file:
            pairs = [json.loads(line) for line in file]
        for pair in pairs:
            if pair["label"] != "different":
                continue
            for one, other in ("ab", "ba"):
                with tempfile.TemporaryDirectory() as folder:
                    problem = wrong_pair(corpus, path.parent / pair[one], path.parent / pair[other], folder)
                tally.add(not problem, f"{path.parent.name}: {pair[one]}, {pair[other]}: {problem}")
