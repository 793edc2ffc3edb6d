#!/usr/bin/env python3
"""Guards recorded under one naming are evaluated with another's hints: renamed.py COMMAND FOLDER

Every captured description below FOLDER with symbols is written down once more under other names (shuffled.py). An entry is stored
for the one, with guards over its symbols, and asked for with the other, with hints in its own names: right values must hit,
exchanged ones must not. Then the same with descriptions made to mislead.
"""

from __future__ import annotations

import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

import shuffled

# Fewer descriptions than this prove nothing; more take longer than they tell.
LEAST, MOST = 10, 25


class Failure(Exception):
    pass


def run(command: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([command, *map(str, arguments)], capture_output=True, text=True, check=False)


def symbols_of(command: str, file: pathlib.Path) -> list[str]:
    steps = map(json.loads, run(command, "canon", "--trace", "--json", file).stdout.splitlines())
    return [step["from"] for step in steps if step["step"] == "symbol"]


def hints_of(values: dict[str, int]) -> list[str]:
    return [word for name, value in values.items() for word in ("--hint", f"{name}={value}")]


def guards_of(symbols: list[str]) -> list[str]:
    """None holds any more when two values change places, or one isn't a multiple of 8."""
    guards = [f"{symbol} % 8 == 0" for symbol in symbols]
    guards += [f"{a} < {b} and 2*{a}*{b} > {b} + {a}" for a, b in itertools.pairwise(symbols)]
    return guards


class Case:
    """A stored description in a cache of its own."""

    def __init__(self, command: str, folder: pathlib.Path, stored: pathlib.Path, guards: list[str], values: dict[str, int]) -> None:
        self.command, self.cache = command, folder / f"cache-{stored.stem}"
        (folder / "payload").write_text("code")
        words = [word for guard in guards for word in ("--guard", guard)]
        result = run(command, "insert", "--cache", self.cache, "--graph", stored, "--payload", folder / "payload", *words,
                     *hints_of(values))
        if result.returncode != 0:
            raise Failure(f"{stored.name}: {result.stderr}")

    def expect(self, file: pathlib.Path, values: dict[str, int], reason: str | None) -> None:
        result = run(self.command, "lookup", "--cache", self.cache, "--graph", file, "--json", *hints_of(values))
        found = json.loads(result.stdout)
        if found["outcome"] != ("hit" if reason is None else "miss") or found.get("reason") != reason:
            raise Failure(f"{file.name} at {values}: {found['outcome']} {found.get('reason')}, expected {reason or 'hit'}")


def captured(command: str, folder: pathlib.Path, file: pathlib.Path, number: int) -> bool:
    """false for a description without symbols."""
    description = json.loads(file.read_text())
    if "graph" not in description or not (symbols := symbols_of(command, file)):
        return False
    shuffle = shuffled.Shuffle(number, description)
    twin = folder / f"twin-{number}.json"
    twin.write_text(json.dumps(shuffle.description(description)))
    values = {symbol: 8 * (i + 3) for i, symbol in enumerate(symbols)}
    renamed = {shuffle.symbols[symbol]: value for symbol, value in values.items()}
    case = Case(command, folder, file, guards_of(symbols), values)
    case.expect(file, values, None)
    case.expect(twin, renamed, None)
    names = list(renamed)
    case.expect(twin, renamed | {names[-1]: renamed[names[-1]] + 1}, "guard_false")
    if len(names) > 1:
        exchanged = renamed | {names[0]: renamed[names[1]], names[1]: renamed[names[0]]}
        case.expect(twin, exchanged, "guard_false")
    if not set(names) & set(symbols):
        case.expect(twin, values, "guard_error")  # the stored names mean nothing here
    return True


# ---- made to mislead ----


def sizes(folder: pathlib.Path, name: str, *shapes: list[Any]) -> pathlib.Path:
    inputs = [{"name": f"x{i}", "value": {"$tensor": {"dtype": "float32", "shape": shape}}} for i, shape in enumerate(shapes)]
    nodes = [{"name": f"x{i}", "op": "placeholder", "target": f"x{i}"} for i in range(len(shapes))]
    file = folder / f"{name}.json"
    description = {"format": "guardcache-graph/1", "kind": "fx", "graph": {"nodes": nodes}, "inputs": inputs}
    file.write_text(json.dumps(description))
    return file


def misleading(command: str, folder: pathlib.Path) -> None:
    straight = sizes(folder, "straight", ["s0", "s1"], ["s1"])
    swapped = sizes(folder, "swapped", ["s1", "s0"], ["s0"])
    case = Case(command, folder, straight, ["s0 < s1", "s1 % 3 == 0"], {"s0": 2, "s1": 3})
    case.expect(swapped, {"s1": 2, "s0": 3}, None)
    case.expect(swapped, {"s0": 2, "s1": 3}, "guard_false")
    case.expect(sizes(folder, "once", ["s0", "s1"], ["s2"]), {"s0": 2, "s1": 3, "s2": 3}, "no_key")
    case.expect(sizes(folder, "twice", ["s0", "s0"], ["s0"]), {"s0": 3}, "no_key")
    case.expect(sizes(folder, "other-class", ["s0", "u1"], ["u1"]), {"s0": 2, "u1": 3}, "no_key")

    reordered = sizes(folder, "sum", ["s0*s1 + 4*s0", 2], ["s1"], ["s0"])
    turned = sizes(folder, "turned-sum", ["4*s9 + s3*s9", 2], ["s3"], ["s9"])
    case = Case(command, folder, reordered, ["s0 == 5", "s0*s1 + 4*s0 <= 60"], {"s0": 5, "s1": 8})
    case.expect(turned, {"s9": 5, "s3": 8}, None)
    case.expect(turned, {"s9": 8, "s3": 5}, "guard_false")
    case.expect(turned, {"s9": 5, "s3": 9}, "guard_false")
    case.expect(sizes(folder, "other-sum", ["s0*s1 + 4*s1", 2], ["s1"], ["s0"]), {"s0": 5, "s1": 8}, "no_key")


def main() -> int:
    command, corpus = sys.argv[1], pathlib.Path(sys.argv[2])
    tried = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            for number, file in enumerate(sorted(corpus.glob("torch/*/graphs/*.json"))):
                tried += captured(command, folder, file, number)
                if tried == MOST:
                    break
            misleading(command, folder)
        except Failure as failure:
            print(failure)
            return 1
    print(f"{tried} captured descriptions under other names")
    return tried < LEAST


if __name__ == "__main__":
    sys.exit(main())
