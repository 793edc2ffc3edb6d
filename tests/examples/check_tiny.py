"""Runs the tiny compiler cold and warm: what is compiled, what hits, what is explained.

Argument: the example. Exit status 77: there is no C compiler.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
LENGTHS = ("64", "256", "37", "41", "4096")


def run(program: str, cache: Path, environment: dict[str, str] | None = None) -> str:
    result = subprocess.run(
        [program, str(cache), *LENGTHS], env=environment, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        sys.exit(f"exit status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def expect(text: str, what: str, count: int) -> None:
    if text.count(what) != count:
        sys.exit(f"{what!r} is there {text.count(what)} times, expected {count}, in:\n{text}")


def main() -> int:
    if shutil.which("cc") is None:
        print("no C compiler")
        return SKIPPED
    program = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        cold = run(program, Path(folder) / "cache")
        expect(cold, "tuning: measured", 1)
        expect(cold, "  compiled, right", 2)
        expect(cold, "  from the cache, right", 3)
        expect(cold, "miss: guard_false", 1)
        expect(cold, "x.size(0)=37", 1)
        expect(cold, "would hit:", 1)
        # Without any program on PATH: nothing is compiled.
        warm = run(program, Path(folder) / "cache", {"PATH": "/nowhere"})
        expect(warm, "tuning: known", 1)
        expect(warm, "  from the cache, right", len(LENGTHS))
        expect(warm, "compiled", 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
