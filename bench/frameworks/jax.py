"""JAX's own store and guardcache, side by side: what a second process finds after a change, and how long it takes.

    python bench/frameworks/jax.py [--repeats N] [--case NAME]

Each way begins with an empty directory and a cold process; then, for each change, processes that find what it stored.
Rows are JSON, a line each. Times are of all first calls together, from the choice of the cache on (so with the import
of guardcache) to the last result; of several processes the fastest counts. The time of processors beside it says more on
a machine that has other work.

This file doesn't import JAX, whose name it has: processes of their own do (jax_runs/process.py).
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import guardcache

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "jax_runs" / "programs.py"
CASES = ("10 functions", "flax", "equinox")
CHANGES = ("same", "renamed", "reordered", "moved", "other machine")
WAYS = ("own", "ours")


@dataclass
class Bench:
    """One case in a directory of its own."""

    case: str
    place: Path
    repeats: int

    def rows(self) -> Iterator[dict[str, Any]]:
        stored = {way: self.place / way for way in WAYS}
        source = self._source("same")
        cold = {way: self._run(source, way, stored[way]) for way in WAYS}
        for change in CHANGES:
            yield self._row(change, cold, stored)

    def _row(self, change: str, cold: dict[str, dict[str, Any]], stored: dict[str, Path]) -> dict[str, Any]:
        source = self._source(change)
        warm: dict[str, dict[str, Any]] = {}
        # The two take turns, so that both meet the same machine.
        for turn in range(self.repeats):
            for way in WAYS:
                directory = self._copy(change, way, stored[way], turn)
                found = self._run(source, way, directory, "reversed" if change == "reordered" else "forward")
                best = warm.setdefault(way, found)
                warm[way] = found | {name: min(best[name], found[name]) for name in ("seconds", "cpu_seconds")}
        return {
            "framework": "jax",
            "case": self.case,
            "change": change,
            "own_hits": warm["own"]["hits"],
            "our_hits": warm["ours"]["hits"],
            "total": warm["ours"]["total"],
            "cold_s": cold["own"]["seconds"],
            "our_cold_s": cold["ours"]["seconds"],
            "own_warm_s": warm["own"]["seconds"],
            "our_warm_s": warm["ours"]["seconds"],
            "own_warm_cpu_s": warm["own"]["cpu_seconds"],
            "our_warm_cpu_s": warm["ours"]["cpu_seconds"],
            "equal": len({run["digest"] for run in (*cold.values(), *warm.values())}) == 1,
        }

    def _source(self, change: str) -> Path:
        """The programs as the change leaves them."""
        text = PROGRAMS.read_text()
        folder = self.place / ("elsewhere" if change == "moved" else "here")
        if change == "renamed":
            text = re.sub(r"\b([sS]tep)_(\w+)", r"\1_\2_anew", text)
        if change == "moved":
            text = "# Some lines more.\n" * 7 + text
        folder.mkdir(exist_ok=True)
        source = folder / "programs.py"
        source.write_text(text)
        return source

    def _copy(self, change: str, way: str, stored: Path, turn: int) -> Path:
        """What the cold process stored: nothing that a later one has stored besides."""
        copy = self.place / f"{way}-{change.replace(' ', '-')}-{turn}"
        if change == "other machine" and way == "ours":
            _carry(stored, copy, self.place / "carried")
            return copy
        if change == "other machine":
            shutil.copytree(stored, copy)
            return copy
        kept = self.place / f"{way}-kept"
        if not kept.exists():
            shutil.copytree(stored, kept)
        # In place: its directory's path is a part of JAX's key.
        shutil.rmtree(stored)
        shutil.copytree(kept, stored)
        return stored

    def _run(self, source: Path, way: str, directory: Path, order: str = "forward") -> dict[str, Any]:
        command = [
            sys.executable,
            "-P",
            str(HERE / "jax_runs" / "process.py"),
            str(source),
            self.case,
            way,
            str(directory),
            order,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}:\n{done.stderr[-3000:]}")
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return told


def _carry(stored: Path, copy: Path, file: Path) -> None:
    with guardcache.open(stored) as here, guardcache.open(copy) as there:
        here.export(file)
        there.import_(file)


def each_row(repeats: int, cases: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="guardcache-bench-") as place:
            yield from Bench(case, Path(place), repeats).rows()


def rows() -> list[dict[str, Any]]:
    """For bench/frameworks/run.py."""
    return list(each_row(5, CASES))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--case", choices=CASES, action="append")
    wanted = parser.parse_args()
    for row in each_row(wanted.repeats, tuple(wanted.case or CASES)):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
