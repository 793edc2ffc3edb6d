"""Runs the LLVM build driver cold and warm on modules that clang makes from C, and on numba's naming.

Argument: the example. Exit status 77: there is no clang. With GUARDCACHE_LLVM_CORPUS, a folder of captured descriptions, their
modules are built too, all of them: CLANG must name one that reads LLVM 20's IR. A hit must give the bytes of the compile.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
MODULES = 12
LINE = re.compile(r"^([\d,]+) modules?, ([\d,]+) hits? \(([\d.]+) %\), compiled in .+, saved [^,]+(?:, (\d+) failed)?$")

SOURCE = """
int helper_{n}(int x);
int sum_{n}(int const *p, int count) {{
    int s = {n};
    for (int i = 0; i < count; i++) s += p[i] * {n};
    return s + helper_{n}(s);
}}
"""

# Two modules of one function, compiled as the second and as the tenth of their processes.
NUMBA_NAME = "_ZN8__main__4add2B{number}v{version}B38cE"
NUMBA = """
define i32 @{name}(i32 %a, i32 %b) {{
  %c = add i32 %a, %b
  ret i32 %c
}}
"""


def build(program: str, cache: Path, output: Path, modules: list[Path]) -> tuple[int, int, int]:
    """Modules, hits, failures."""
    result = subprocess.run(
        [program, str(cache), str(output), "-j", "2", *map(str, modules)], capture_output=True, text=True, check=False
    )
    found = LINE.match(result.stdout.strip())
    if found is None or (result.returncode != 0) != (found[4] is not None):
        sys.exit(f"exit status {result.returncode}\n{result.stdout}{result.stderr}")
    return int(found[1].replace(",", "")), int(found[2].replace(",", "")), int(found[4] or 0)


def objects(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.o")}


def cold_and_warm(program: str, folder: Path, modules: list[Path], *, all_different: bool) -> None:
    count, hits, failed = build(program, folder / "cache", folder / "cold", modules)
    if failed != 0 or (all_different and hits != 0):
        sys.exit(f"cold: {hits} hits, {failed} failures of {count}")
    again, warm, failed = build(program, folder / "cache", folder / "warm", modules)
    if (again, warm, failed) != (count, count, 0):
        sys.exit(f"warm: {warm} hits and {failed} failures of {again}")
    if objects(folder / "cold") != objects(folder / "warm"):
        sys.exit("a hit gave other bytes than the compile")
    print(f"{count} modules, {hits} hits when cold, {warm} when warm")


def from_c(clang: str, folder: Path) -> list[Path]:
    modules = []
    for n in range(MODULES):
        source, module = folder / f"m{n}.c", folder / f"m{n}.ll"
        source.write_text(SOURCE.format(n=n))
        subprocess.run([clang, "-O1", "-S", "-emit-llvm", str(source), "-o", str(module)], check=True)
        modules.append(module)
    return modules


def renamed_twins(program: str, folder: Path) -> None:
    """The second process's module hits, and the link step is told what the object calls things."""
    paths = []
    for name, number, version in (("first", 2, 2), ("second", 3, 10)):
        path = folder / f"{name}.ll"
        path.write_text(NUMBA.format(name=NUMBA_NAME.format(number=number, version=version)))
        paths.append(path)
    build(program, folder / "twins", folder / "one", paths[:1])
    _, hits, _ = build(program, folder / "twins", folder / "two", paths[1:])
    names = (folder / "two/second.names").read_text().split() if hits else []
    if names != [NUMBA_NAME.format(number=2, version=2), NUMBA_NAME.format(number=3, version=10)]:
        sys.exit(f"twins: {hits} hits, renames {names}")
    if shutil.which("objcopy") is None or shutil.which("nm") is None:
        print("a module under other names hits, with its renames")
        return
    linked = folder / "two/second.o"
    subprocess.run(["objcopy", f"--redefine-syms={folder / 'two/second.names'}", str(linked)], check=True)
    symbols = subprocess.run(["nm", str(linked)], capture_output=True, text=True, check=True).stdout.split()
    if names[1] not in symbols or names[0] in symbols:
        sys.exit(f"after renaming the object has {symbols}")
    print("a module under other names hits, and the link step's renames give it its own")


def from_corpus(corpus: Path, folder: Path) -> list[Path]:
    modules = []
    for path in sorted(corpus.glob("*.json")):
        module = folder / (path.stem + ".ll")
        module.write_text(json.loads(path.read_text())["module"])
        modules.append(module)
    return modules


def main() -> int:
    clang = os.environ.get("CLANG") or "clang"
    if shutil.which(clang) is None:
        print("no clang")
        return SKIPPED
    program = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cold_and_warm(program, folder, from_c(clang, folder), all_different=True)
        renamed_twins(program, folder)
    corpus = os.environ.get("GUARDCACHE_LLVM_CORPUS")
    if corpus:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            cold_and_warm(program, folder, from_corpus(Path(corpus), folder), all_different=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
