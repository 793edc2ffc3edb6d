"""Enforces the table in src/README.md: which folder includes which, and where third-party headers may appear."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from pathlib import Path

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)

# Headers of the C library and the Linux kernel that any folder may use.
SYSTEM_TEXT = """
    assert.h complex.h ctype.h dirent.h endian.h errno.h fcntl.h fenv.h float.h fnmatch.h ftw.h getopt.h glob.h
    inttypes.h limits.h locale.h malloc.h math.h poll.h pthread.h pwd.h sched.h setjmp.h signal.h spawn.h stdalign.h
    stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h strings.h threads.h time.h unistd.h
    linux/falloc.h linux/fs.h linux/magic.h linux/openat2.h
    sys/file.h sys/ioctl.h sys/mman.h sys/mount.h sys/prctl.h sys/random.h sys/resource.h
    sys/sendfile.h sys/stat.h sys/statfs.h sys/statvfs.h sys/syscall.h sys/time.h sys/types.h sys/uio.h sys/vfs.h
    sys/wait.h
"""
SYSTEM = frozenset(SYSTEM_TEXT.split())


@dataclass(frozen=True)
class Layer:
    folder: str
    may_use: frozenset[str]  # folders; "all" is every one
    third_party: tuple[str, ...]  # patterns of headers


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def read_table(readme: Path) -> list[Layer]:
    layers = []
    for row in readme.read_text().splitlines():
        if row.startswith("| `") or row.startswith("| tests"):
            folder, _room, may_use, third_party = cells(row)
            words = re.findall(r"`([^`]+)`", may_use)
            uses = frozenset(words) if words else frozenset({may_use})
            layers.append(Layer(folder.strip("`"), uses, tuple(re.findall(r"`([^`]+)`", third_party))))
    return layers


def against_the_order(layers: list[Layer]) -> list[str]:
    """Rows stand in the order in which they build on each other."""
    problems = []
    order = {layer.folder: number for number, layer in enumerate(layers)}
    for layer in layers:
        for used in sorted(layer.may_use - {"all", "-", "include"}):
            if used not in order:
                problems.append(f"src/README.md: {layer.folder} may use {used}, which has no row")
            elif order[used] >= order[layer.folder]:
                problems.append(f"src/README.md: {layer.folder} uses {used}, which stands below it")
    return problems


def layer_of(path: Path, layers: list[Layer]) -> Layer | None:
    fitting = [layer for layer in layers if path.as_posix().startswith(layer.folder + "/")]
    return max(fitting, key=lambda layer: len(layer.folder), default=None)


def target(kind: str, header: str, path: Path, top: Path) -> Path | None:
    """The file within the project that an include means; None for a header from elsewhere."""
    if header.startswith("guardcache/"):
        return Path("include") / header
    if kind == "<":
        return None
    for base in (path.parent, Path("src"), Path()):
        if (top / base / header).is_file():
            return base / header
    return Path("src") / header


def check_include(kind: str, header: str, path: Path, layer: Layer, layers: list[Layer], top: Path) -> str | None:
    inside = target(kind, header, path, top)
    if inside is None:
        if header in SYSTEM or any(fnmatch.fnmatch(header, pattern) for pattern in layer.third_party):
            return None
        return f"{layer.folder} may not use <{header}>"
    other = layer_of(inside, layers)
    if other is None:
        return f'"{header}" is in no folder of the table'
    if other == layer or "all" in layer.may_use or other.folder in layer.may_use:
        return None
    if other.folder == "include/guardcache" and "include" in layer.may_use:
        return None
    # The ground is one for all above it; within it a row counts as elsewhere.
    if other.folder.startswith("src/base/") and "src/base" in layer.may_use and not layer.folder.startswith("src/base"):
        return None
    return f"{layer.folder} may not use {other.folder} ({header})"


def main() -> None:
    top = tree.root()
    layers = read_table(top / "src/README.md")
    problems = [] if len(layers) >= 8 else ["src/README.md: the table of layers is not there"]
    problems += against_the_order(layers)
    checked = 0
    for found in tree.files(top, ".c", ".h", ".cc", ".inc", ".def"):
        path = found.relative_to(top)
        layer = layer_of(path, layers)
        if layer is None:
            problems.append(f"{path}: its folder is not in the table of src/README.md")
            continue
        for match in INCLUDE.finditer(found.read_text()):
            problem = check_include(match[1], match[2], path, layer, layers, top)
            checked += 1
            if problem is not None:
                line = found.read_text()[: match.start()].count("\n") + 1
                problems.append(f"{path}:{line}: {problem}")
    tree.finish(problems, f"{checked} includes keep to the {len(layers)} rows of the table")


main()
