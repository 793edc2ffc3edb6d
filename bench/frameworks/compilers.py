"""Compilers under the adapters of examples/adapters, beside what they have of their own: what a second process finds
after a change, and how long it takes.

    python bench/frameworks/compilers.py [--repeats N] [--framework NAME]

Each way begins with an empty directory and a cold process; then, for each change, processes that find what it stored.
Where a compiler has no cache of its own, its own warm time is that of compiling again, and its hits are null. Rows
are JSON, a line each. Times are of the processor, children's included, for all first calls together, each with its
run: what else a machine does doesn't count. Of several processes the fastest time counts, the fewest hits, and all
results. "Other machine" is another directory on the same processor: for the compiler's own cache with its files, here
with what an export carries.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import guardcache

PROCESS = Path(__file__).resolve().parent / "compilers_process.py"
CASES = {"iree": "6 modules", "openvino": "6 models", "onnxruntime": "4 models"}
CHANGES = ("same", "renamed", "reordered", "moved", "other machine")
WAYS = ("own", "ours")


class Bench:
    """One framework in a directory of its own."""

    def __init__(self, framework: str, place: Path, repeats: int) -> None:
        self.framework, self.place, self.repeats = framework, place, repeats

    def rows(self) -> Iterator[dict[str, Any]]:
        cold = self.cold()
        for change in CHANGES:
            warm = self.warm(change)
            yield {
                "framework": self.framework,
                "case": CASES[self.framework],
                "change": change,
                "own_hits": warm["own"]["hits"],
                "our_hits": warm["ours"]["hits"],
                "total": warm["ours"]["total"],
                "cold_s": cold["own"]["seconds"],
                "our_cold_s": cold["ours"]["seconds"],
                "own_warm_s": warm["own"]["seconds"],
                "our_warm_s": warm["ours"]["seconds"],
                "equal": len(set().union(*(run["digests"] for run in (*cold.values(), *warm.values())))) == 1,
            }

    def cold(self) -> dict[str, dict[str, Any]]:
        """What the last of them stored is kept for the warm ones."""

        def run(way: str, turn: int) -> dict[str, Any]:
            shutil.rmtree(self.place / way, ignore_errors=True)
            return self.run(way, self.place / way, "same")

        return self.fastest(run)

    def warm(self, change: str) -> dict[str, dict[str, Any]]:
        return self.fastest(lambda way, turn: self.run(way, self.copy(way, change, turn), change))

    def fastest(self, run: Any) -> dict[str, dict[str, Any]]:
        """The two ways take turns, so that both meet the same machine."""
        found: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
        for turn in range(self.repeats):
            for way in WAYS:
                found[way].append(run(way, turn))
        return {way: together(runs) for way, runs in found.items()}

    def copy(self, way: str, change: str, turn: int) -> Path:
        """What the cold process stored, and nothing that a later one did. To another machine goes a file of exports."""
        copy = self.place / f"{way}-{change.replace(' ', '-')}-{turn}"
        if way == "ours" and change == "other machine":
            file = self.place / "carried"
            with guardcache.open(self.place / way) as here, guardcache.open(copy) as there:
                here.export(file)
                there.import_(file)
        elif (self.place / way).exists():
            shutil.copytree(self.place / way, copy)
        return copy

    def run(self, way: str, directory: Path, change: str) -> dict[str, Any]:
        command = [sys.executable, str(PROCESS), self.framework, way, str(directory), change]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}:\n{done.stderr[-3000:]}")
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return told


def together(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The least seconds, but also the fewest hits and all results: a run that found less is a slower one."""
    return {
        "seconds": min(run["seconds"] for run in runs),
        "hits": min((run["hits"] for run in runs if run["hits"] is not None), default=None),
        "total": runs[0]["total"],
        "digests": {run["digest"] for run in runs},
    }


def each_row(repeats: int, frameworks: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for framework in frameworks:
        with tempfile.TemporaryDirectory(prefix="guardcache-bench-") as place:
            yield from Bench(framework, Path(place), repeats).rows()


def rows() -> list[dict[str, Any]]:
    """For bench/frameworks/run.py."""
    return list(each_row(5, tuple(CASES)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--framework", choices=CASES, action="append")
    wanted = parser.parse_args()
    for row in each_row(wanted.repeats, tuple(wanted.framework or CASES)):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
