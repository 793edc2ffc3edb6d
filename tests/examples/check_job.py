"""Runs the job twice and its export on another machine: what one process finds out the others use.

Argument: the example.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

WORKERS = ("worker 0: profile hot, tuned BLOCK=128", "worker 1: profile hot", "worker 2: profile hot")


def run(program: str, *arguments: str) -> list[str]:
    result = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"exit status {result.returncode}\n{result.stdout}{result.stderr}")
    return sorted(result.stdout.splitlines())


def expect(found: list[str], *lines: str) -> None:
    if found != sorted(lines):
        sys.exit(f"expected {sorted(lines)}, found {found}")


def main() -> int:
    program = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        cache, file = f"{folder}/cache", f"{folder}/export"
        expect(run(program, cache, "run 1", file), *WORKERS, "lookup: hit", "exported: 1 entry")
        again = tuple(line.replace("tuned", "known") for line in WORKERS)
        expect(run(program, cache, "run 2", file), *again, "lookup: hit", "exported: 1 entry")
        expect(run(program, "--warm", f"{folder}/elsewhere", file), "lookup: hit")
    return 0


if __name__ == "__main__":
    sys.exit(main())
