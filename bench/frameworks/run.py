"""All frameworks but PyTorch under their adapters, beside their own caches, as one table.

    python bench/frameworks/run.py [--json FILE] [--only MODULE]

Each row is what a second process finds after a change of the program, of its place or of the machine, and how long all
first calls took together; whether by the clock or of the processor, each framework's file says. Prints a Markdown table, then
what is worse than without the adapter: fewer hits, other numbers, or slower by more than 3 % and more than 5 ms. The exit status
is 1 if anything is. What isn't installed is said.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# A file with rows(), and the distributions it needs. It runs in a process of its own: some have a framework's name.
MODULES = {
    "jax": ("jax", "flax", "equinox"),
    "numba_libraries": ("numba", "llvmlite"),
    "compilers": (
        "iree-base-compiler",
        "iree-base-runtime",
        "openvino",
        "onnxruntime",
        "onnx",
    ),
}

LOAD = "import json, runpy, sys; [print(json.dumps(row)) for row in runpy.run_path(sys.argv[1])['rows']()]"

HEAD = (
    "framework",
    "case",
    "change",
    "own hits",
    "our hits",
    "of",
    "cold s",
    "our cold s",
    "own warm s",
    "our warm s",
    "equal",
)
# Slower by both of these is worse.
PART, SECONDS = 0.03, 0.005

Row = dict[str, Any]


def each_row(module: str) -> Iterator[Row]:
    command = [sys.executable, "-P", "-c", LOAD, str(HERE / f"{module}.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("{"):
                yield json.loads(line)
    if process.returncode != 0:
        raise RuntimeError(f"{module} ended with status {process.returncode}")


def is_slower(ours: float | None, own: float | None) -> bool:
    return ours is not None and own is not None and ours - own > max(PART * own, SECONDS)


def worse(row: Row) -> list[str]:
    """What is worse in a second process than without the adapter, in words."""
    found = []
    if (row["own_hits"] or 0) > row["our_hits"]:
        found.append(f"{row['our_hits']} hits, {row['own_hits']} of its own")
    if not row["equal"]:
        found.append("other numbers")
    if is_slower(row["our_warm_s"], row["own_warm_s"]):
        found.append(f"{row['our_warm_s']:.3f} s, {row['own_warm_s']:.3f} s of its own")
    return found


def told(rows: list[Row]) -> Iterator[str]:
    """A line each. The cold process is the same for all changes of a case."""
    cases = {(row["framework"], row["case"]): row for row in rows}
    for (framework, case), row in cases.items():
        if is_slower(row.get("our_cold_s"), row["cold_s"]):
            yield f"worse: {framework}, {case}, cold: {row['our_cold_s']:.3f} s, {row['cold_s']:.3f} s of its own"
    for row in rows:
        yield from (f"worse: {row['framework']}, {row['case']}, {row['change']}: {what}" for what in worse(row))


def cells(row: Row) -> list[str]:
    own_hits = "none" if row["own_hits"] is None else str(row["own_hits"])
    times = [row["cold_s"], row.get("our_cold_s"), row["own_warm_s"], row["our_warm_s"]]
    seconds = ["" if value is None else f"{value:.3f}" for value in times]
    named = [row["framework"], row["case"], row["change"]]
    return [
        *named,
        own_hits,
        str(row["our_hits"]),
        str(row["total"]),
        *seconds,
        "yes" if row["equal"] else "NO",
    ]


def table(rows: list[Row]) -> str:
    lines = [HEAD, tuple("---" for _ in HEAD), *map(cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def is_installed(distribution: str) -> bool:
    try:
        return bool(importlib.metadata.version(distribution))
    except importlib.metadata.PackageNotFoundError:
        return False


def measured(only: list[str]) -> Iterator[Row]:
    for module, needs in MODULES.items():
        if only and module not in only:
            continue
        missing = [name for name in needs if not is_installed(name)]
        if missing:
            print(
                f"{module}: not run, since {', '.join(missing)} isn't installed",
                file=sys.stderr,
            )
            continue
        print(f"{module} ...", file=sys.stderr, flush=True)
        yield from each_row(module)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the rows there, too")
    parser.add_argument("--only", choices=MODULES, action="append", default=[])
    wanted = parser.parse_args()
    rows = list(measured(wanted.only))
    print(table(rows))
    if wanted.json is not None:
        wanted.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    found = list(told(rows))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
