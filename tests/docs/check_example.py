"""Compiles the C example of README.md against the public headers and the library, and runs it.

Arguments: the top of the tree, the C compiler, the library.
The example is the first ```c block; it must print what the block after it (```text) shows.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MOST_LINES = 27


def blocks(readme: str) -> tuple[str, str]:
    found = re.search(r"```c\n(.*?)```.*?```text\n(.*?)```", readme, re.DOTALL)
    if found is None:
        sys.exit("README.md has no C example with its output")
    return found[1], found[2]


def main() -> int:
    top, compiler, library = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    source, expected = blocks((top / "README.md").read_text())
    if source.count("\n") > MOST_LINES:
        sys.exit(f"the example has {source.count(chr(10))} lines, more than {MOST_LINES}")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "example"
        build = [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", str(top / "include"), "-x", "c", "-"]
        link = ["-x", "none", str(library), f"-Wl,-rpath,{library.parent}", "-o", str(program)]
        # A library built with sanitizers wants their run-time library first.
        flags = os.environ.get("EXAMPLE_FLAGS", "").split()
        subprocess.run([*build, *flags, *link], input=source, text=True, check=True)
        result = subprocess.run([str(program)], cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode == 0 and result.stdout == expected:
        return 0
    print(f"exit status {result.returncode}\n{result.stderr}\nexpected:\n{expected}\nfound:\n{result.stdout}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
