"""numba's own cache and guardcache's adapter on the same 31 functions, each in a process of its own.

    python bench/frameworks/numba_libraries.py [--json]

Each row is a change between the first process and the second: nothing; every function renamed; called in reverse order;
moved to another file, with comments; on another machine, which got the cache as a file. A hit is a function that wasn't
compiled in the second process. Times are of the processor, for everything behind numba's import: the adapter's import,
the program's, and the first call of each function. `equal` says that every result has the same bits as the first
process had without any cache.
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

HERE = Path(__file__).parent
REPEATS = 5

# A process that took longer than this compiled: once will do.
LONG_S = 4.0

Change = Callable[[Path, Path], tuple[Path, str, str]]
"""Given the first program's folder and a new one: the folder of the second's, its module, its order."""


def same(first: Path, new: Path) -> tuple[Path, str, str]:
    return first, "program", ""


def reordered(first: Path, new: Path) -> tuple[Path, str, str]:
    return first, "program", "reversed"


def renamed(first: Path, new: Path) -> tuple[Path, str, str]:
    shutil.copytree(first, new)
    text = (new / "program.py").read_text()
    (new / "program.py").write_text(text.replace("kernel_", "core_"))
    return new, "program", ""


def moved(first: Path, new: Path) -> tuple[Path, str, str]:
    shutil.copytree(first, new)
    text = (new / "program.py").read_text()
    (new / "elsewhere.py").write_text("# Moved.\n\n" + text.replace("\n    return", "\n    # Returns.\n    return"))
    return new, "elsewhere", ""


def other_machine(first: Path, new: Path) -> tuple[Path, str, str]:
    shutil.copytree(first, new)
    os.utime(new / "program.py")
    return new, "program", "reversed"


CHANGES: dict[str, Change] = {
    "same": same,
    "renamed": renamed,
    "reordered": reordered,
    "moved": moved,
    "other machine": other_machine,
}


def run(side: str, cache: Path, folder: Path, module: str, order: str) -> dict[str, Any]:
    command = [sys.executable, str(HERE / "numba_process.py"), side, str(cache), str(folder), module, order]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "GUARDCACHE_"))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def program(folder: Path) -> Path:
    folder.mkdir(parents=True)
    shutil.copy(HERE / "numba_programs.py", folder / "program.py")
    return folder


def changed(side: str, cache: Path, first: Path, name: str, base: Path) -> dict[str, Any]:
    """The second process, several times: the quickest counts."""
    found = []
    for repeat in range(REPEATS):
        folder, module, order = CHANGES[name](first, base / f"{side} {name} {repeat}")
        used = base / f"{side} {name} {repeat} cache"
        shutil.copytree(cache, used)
        if name == "other machine" and side == "ours":
            used = carried(cache, used)
        found.append(run(side, used, folder, module, order))
        if found[-1]["cpu"] > LONG_S:
            break
    return min(found, key=lambda told: told["cpu"])


def carried(cache: Path, used: Path) -> Path:
    """The cache, exported to a file and imported elsewhere."""
    file, there = used.with_suffix(".export"), used.with_suffix(".imported")
    with guardcache.Cache(cache) as here:
        here.export(file)
    with guardcache.Cache(there) as other:
        other.import_(file)
    return there


def rows() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        first = {side: program(base / side / "program") for side in ("own", "ours")}
        cache = {side: base / side / "cache" for side in first}
        cache["own"].mkdir()
        cold = {side: run(side, cache[side], first[side], "program", "") for side in first}
        found = []
        for change in CHANGES:
            warm = {side: changed(side, cache[side], first[side], change, base) for side in first}
            found.append(
                {
                    "framework": "numba",
                    "case": "31 functions",
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
            )
        return found


def main() -> None:
    found = rows()
    if "--json" in sys.argv:
        print(json.dumps(found, indent=2))
        return
    for row in found:
        print(
            f"{row['framework']:8} {row['case']:14} {row['change']:14} hits {row['own_hits']:2} -> {row['our_hits']:2}"
            f" of {row['total']}   cold {row['cold_s']:.2f} s, ours {row['our_cold_s']:.2f} s"
            f"   warm {row['own_warm_s']:.3f} s, ours {row['our_warm_s']:.3f} s"
            f"   {'equal' if row['equal'] else 'DIFFERENT'}"
        )


if __name__ == "__main__":
    main()
