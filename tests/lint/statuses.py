"""What the public headers say about statuses: the functions of each comment with the statuses that it lists."""

from __future__ import annotations

import re
from pathlib import Path

import tree

COMMENTED = re.compile(
    r"/\*((?:(?!\*/).)*)\*/\s*((?:GCACHE_API [^;]*;\s*)+)", re.DOTALL
)
FUNCTION = re.compile(r"GCACHE_API gcache_status\s+(gcache_\w+)\(")
STATUS = re.compile(r"\bGCACHE_(OK|HIT|MISS|REFUSED)\b|\b(?:GCACHE_)?(ERROR_[A-Z_]+)\b")


def groups(top: Path) -> list[tuple[list[str], set[str]]]:
    found = []
    for header in tree.files(top, ".h", rooms=("include",)):
        for comment, declarations in COMMENTED.findall(header.read_text()):
            functions = FUNCTION.findall(declarations)
            if functions:
                found.append(
                    (
                        functions,
                        {plain or error for plain, error in STATUS.findall(comment)},
                    )
                )
    return found


def functions(top: Path) -> set[str]:
    """Every public function that returns a status, with a comment or without."""
    return {
        function
        for header in tree.files(top, ".h", rooms=("include",))
        for function in FUNCTION.findall(header.read_text())
    }
