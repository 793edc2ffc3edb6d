"""The shared library exports the functions that the public headers declare, all of them and nothing else.

Arguments: the top of the tree, the shared library.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import tree

DECLARATION = re.compile(r"GCACHE_API\b[^;{]*?\b(gcache_\w+)\s*\(")


def declared(top: Path) -> set[str]:
    names: set[str] = set()
    for header in tree.files(top, ".h", rooms=("include",)):
        names.update(DECLARATION.findall(tree.bare_code(header.read_text())))
    return names


def exported(library: str) -> set[str]:
    lines = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def main() -> None:
    wanted, found = declared(tree.root()), exported(sys.argv[2])
    problems = [f"declared in a header but not exported: {name}" for name in sorted(wanted - found)]
    problems += [f"exported but declared in no header: {name}" for name in sorted(found - wanted)]
    tree.finish(problems, f"{len(found)} functions exported, all declared")


main()
