"""numba's own cache and guardcache's adapter on the same 31 functions, and llvmlite on 20 modules, each in a process of
its own.

    python bench/frameworks/numba_libraries.py [--json]

Each row is a change between the first process and the second: nothing; every function renamed; called in reverse order;
moved to another file, with comments; on another machine, which got the cache as a file. A hit is a function that wasn't
compiled in the second process. Times are of the processor, for everything behind the import of numba or llvmlite: the
adapter's import, the program's, and the first call of each function; of several processes the quickest counts. `equal`
says that every result has the same bits in all processes. llvmlite has no cache of its own: beside ours is what
compiling takes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import guardcache

HERE = Path(__file__).resolve().parent
SIDES = ("own", "ours")
REPEATS = 3

# A process that took longer than this compiled: twice will do.
LONG_S = 4.0

Row = dict[str, Any]
Change = Callable[[Path, Path], tuple[str, ...]]
"""Given the first program's folder and a new one: what the second process is told."""


def same(first: Path, new: Path) -> tuple[str, ...]:
    return str(first), "program"


def reordered(first: Path, new: Path) -> tuple[str, ...]:
    return str(first), "program", "reversed"


def renamed(first: Path, new: Path) -> tuple[str, ...]:
    shutil.copytree(first, new)
    text = (new / "program.py").read_text()
    (new / "program.py").write_text(text.replace("kernel_", "core_"))
    return str(new), "program"


def moved(first: Path, new: Path) -> tuple[str, ...]:
    shutil.copytree(first, new)
    text = (new / "program.py").read_text()
    (new / "elsewhere.py").write_text("# Moved.\n\n" + text.replace("\n    return", "\n    # Returns.\n    return"))
    return str(new), "elsewhere"


def other_machine(first: Path, new: Path) -> tuple[str, ...]:
    shutil.copytree(first, new)
    os.utime(new / "program.py")
    return str(new), "program", "reversed"


NUMBA: dict[str, Change] = {
    "same": same,
    "renamed": renamed,
    "reordered": reordered,
    "moved": moved,
    "other machine": other_machine,
}

# The first function's number in its name, and the order.
LLVM: dict[str, Change] = {
    "same": lambda first, new: ("7",),
    "renamed": lambda first, new: ("1007",),
    "reordered": lambda first, new: ("7", "reversed"),
    "other machine": lambda first, new: ("207", "reversed"),
}


def run(script: str, side: str, cache: Path, *told: str) -> Row:
    command = [sys.executable, str(HERE / script), side, str(cache), *told]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "GUARDCACHE_"))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return found


class Case:
    """A script, and what it is told in the first process."""

    def __init__(
        self,
        framework: str,
        case: str,
        script: str,
        changes: dict[str, Change],
        base: Path,
    ) -> None:
        self.framework, self.case, self.script, self.changes, self.base = (
            framework,
            case,
            script,
            changes,
            base,
        )
        self.first = {side: base / side / "program" for side in SIDES}
        self.cache = {side: base / side / "cache" for side in SIDES}
        for side in SIDES:
            self.first[side].mkdir(parents=True)
            self.cache[side].mkdir()
            shutil.copy(HERE / "numba_programs.py", self.first[side] / "program.py")

    def rows(self) -> list[Row]:
        cold = {side: self.cold(side) for side in SIDES}
        return [self.row(name, cold, {side: self.warm(side, name) for side in SIDES}) for name in self.changes]

    def cold(self, side: str) -> Row:
        """Twice from nothing; the second leaves what the others find."""
        change = self.changes["same"]
        aside = self.base / f"{side} aside"
        shutil.copytree(self.first[side], aside)
        found = [
            run(
                self.script,
                side,
                self.base / f"{side} aside cache",
                *change(aside, aside),
            )
        ]
        found.append(run(self.script, side, self.cache[side], *change(self.first[side], aside)))
        return min(found, key=lambda told: told["cpu"])

    def warm(self, side: str, name: str) -> Row:
        found: list[Row] = []
        for repeat in range(REPEATS):
            new = self.base / f"{side} {name} {repeat}"
            told = self.changes[name](self.first[side], new)
            cache = self.base / f"{side} {name} {repeat} cache"
            if name == "other machine" and side == "ours":
                carry(self.cache[side], cache)
            else:
                shutil.copytree(self.cache[side], cache)
            found.append(run(self.script, side, cache, *told))
            if repeat and found[-1]["cpu"] > LONG_S:
                break
        return min(found, key=lambda told: told["cpu"])

    def row(self, change: str, cold: dict[str, Row], warm: dict[str, Row]) -> Row:
        return {
            "framework": self.framework,
            "case": self.case,
            "change": change,
            "own_hits": warm["own"]["hits"],
            "our_hits": warm["ours"]["hits"],
            "total": warm["ours"]["total"],
            "cold_s": cold["own"]["cpu"],
            "our_cold_s": cold["ours"]["cpu"],
            "own_warm_s": warm["own"]["cpu"],
            "our_warm_s": warm["ours"]["cpu"],
            "equal": len({told["results"] for told in (*cold.values(), *warm.values())}) == 1,
        }


def carry(cache: Path, there: Path) -> None:
    """The cache, exported to a file and imported elsewhere."""
    file = there.with_suffix(".export")
    with guardcache.Cache(cache) as here:
        here.export(file)
    with guardcache.Cache(there) as other:
        other.import_(file)


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        numba = Case("numba", "31 functions", "numba_process.py", NUMBA, Path(name) / "numba")
        llvm = Case("llvmlite", "20 modules", "llvm_process.py", LLVM, Path(name) / "llvmlite")
        return llvm.rows() + numba.rows()


def main() -> None:
    found = rows()
    if "--json" in sys.argv:
        print(json.dumps(found, indent=2))
        return
    for row in found:
        own_hits = "no" if row["own_hits"] is None else row["own_hits"]
        print(
            f"{row['framework']:8} {row['case']:12} {row['change']:13} hits {own_hits:>2} -> {row['our_hits']:2}"
            f" of {row['total']}   cold {row['cold_s']:.3f} s, ours {row['our_cold_s']:.3f} s"
            f"   warm {row['own_warm_s']:.3f} s, ours {row['our_warm_s']:.3f} s"
            f"   {'equal' if row['equal'] else 'DIFFERENT'}"
        )


if __name__ == "__main__":
    main()
