"""Pairs of one key under other names: who doesn't rename misses, who does gets the right renames.

What is right is found without the library: the names that a module's text exports, its own name, and the symbols that
stand alone as sizes of inputs.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from check import Corpus, Tally

Names = list[tuple[str, str]]

# A quoted or a bare name behind @; strings and comments, whose @ means nothing, are skipped.
LLVM_TOKEN = re.compile(r'@"(?P<quoted>[^"\n]*)"|@(?P<bare>[-\w.$]+)|%"[^"\n]*"|"[^"\n]*"|;[^\n]*')
LLVM_HIDDEN = re.compile(
    r'(?m)^@(?:"([^"\n]*)"|([-\w.$]+)) = (?:private|internal)\b'
    r'|^define (?:private|internal)\b[^@\n]*@(?:"([^"\n]*)"|([-\w.$]+))'
)
MODULE = re.compile(r'\A(?:(?:[#!/][^\n]*)?\n)*module @(?:"((?:[^"\\]|\\.)*)"|([\w$.-]+))')


def llvm_names(text: str) -> set[str]:
    """What an object of this module exports or imports."""
    hidden = {next(filter(None, found)) for found in LLVM_HIDDEN.findall(text)}
    found = (match["quoted"] or match["bare"] for match in LLVM_TOKEN.finditer(text))
    return {name for name in found if name and name not in hidden and not name.startswith("llvm.")}


def module_name(text: str) -> str:
    match = MODULE.match(text)
    return (match[1] or match[2]) if match else ""


def sizes(description: dict[str, Any]) -> Iterator[str]:
    for each in description.get("inputs", []):
        value = each["value"]
        if isinstance(value, dict) and "$tensor" in value:
            yield from (str(size) for size in value["$tensor"]["shape"])
        elif isinstance(value, dict) and "$sym" in value:
            yield str(value["$sym"])


def symbol_pairs(stored: dict[str, Any], asked: dict[str, Any]) -> Names:
    """Symbols that stand in one place."""
    both = zip(sizes(stored), sizes(asked), strict=True)
    return [(a, b) for a, b in both if a.isidentifier() and b.isidentifier()]


def is_right(stored: dict[str, Any], asked: dict[str, Any], renames: dict[str, str]) -> bool:
    if stored["kind"] == "llvm-ir":
        return {renames.get(name, name) for name in llvm_names(stored["module"])} == llvm_names(asked["module"])
    if stored["kind"] == "stablehlo":
        name = module_name(stored["module"])
        return renames.get(name, name) == module_name(asked["module"])
    return all(renames.get(a) == b for a, b in symbol_pairs(stored, asked))


def has_same_names(stored: dict[str, Any], asked: dict[str, Any]) -> bool:
    if stored["kind"] == "llvm-ir":
        return llvm_names(stored["module"]) == llvm_names(asked["module"])
    if stored["kind"] == "stablehlo":
        return module_name(stored["module"]) == module_name(asked["module"])
    return all(a == b for a, b in symbol_pairs(stored, asked))


class Pairs:
    """One cache; each pair has a namespace of its own."""

    def __init__(self, corpus: Corpus, cache: str, tally: Tally) -> None:
        self.corpus, self.cache, self.tally, self.count = corpus, cache, tally, 0

    def ask(self, command: str, graph: Path, *more: str) -> tuple[int, str, str]:
        place = ["--cache", self.cache, "--namespace", str(self.count)]
        result = self.corpus.run(command, *place, "--graph", graph, *more)
        return result.returncode, result.stdout, result.stderr

    def check(self, a: Path, b: Path) -> None:
        """What is stored of a is asked for as b."""
        self.count += 1
        what = f"{a.parent.name}/{a.name} asked for as {b.name}"
        stored, asked = (json.loads(file.read_text()) for file in (a, b))
        status, _, trouble = self.ask("insert", a, "--payload", str(a))
        self.tally.add(status == 0, f"{what}: insert: {trouble}")

        strict, _, why = self.ask("lookup", b, "--same-names")
        same = has_same_names(stored, asked)
        self.tally.add(strict == (0 if same else 1) and (same or "miss: names" in why), f"{what}: strict: {strict} {why}")

        status, text, _ = self.ask("lookup", b, "--json")
        renames = json.loads(text)["renames"] if status == 0 else None
        self.tally.add(renames is not None and is_right(stored, asked, renames), f"{what}: renames {renames}")

    def check_counted(self, folder: Path, a: Path, b: Path) -> None:
        """With the module's name counted there is one key if and only if the names are equal."""
        files = [folder / "a.json", folder / "b.json"]
        descriptions = [json.loads(file.read_text()) | {"module_name": True} for file in (a, b)]
        for file, description in zip(files, descriptions, strict=True):
            file.write_text(json.dumps(description))
        keys = self.corpus.keys(files)
        same = len({module_name(description["module"]) for description in descriptions}) == 1
        self.tally.add((keys[files[0]] == keys[files[1]]) == same, f"{a.name} {b.name}: the module's name counted")


def check_renamed(corpus: Corpus, tally: Tally) -> None:
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as folder:
        pairs = Pairs(corpus, cache, tally)
        for path in sorted(corpus.folder.glob("*/pairs.jsonl")):
            for pair in map(json.loads, path.read_text().splitlines()):
                if pair["label"] != "same":
                    continue
                a, b = (path.parent / pair[side] for side in "ab")
                pairs.check(a, b)
                pairs.check(b, a)
                if json.loads(a.read_text())["kind"] == "stablehlo":
                    pairs.check_counted(Path(folder), a, b)
