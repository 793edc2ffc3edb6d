"""What the checks of the tree share: which files there are, C without comments and strings, and how a check ends."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

# Exit status by which a test says that it could not be run here; meson shows it as SKIP.
SKIPPED = 77

# Lines are wrapped at 120 columns; a word that would hang over by a few may.
LINE_LIMIT = 132

ROOMS = ("include", "src", "guards", "tests", "fixtures", "python", "bench", "docs", "scripts", ".ci")


def root() -> Path:
    """The top of the tree: the first argument, else where this file lies."""
    return Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]


def files(top: Path, *suffixes: str, rooms: tuple[str, ...] = ROOMS) -> Iterator[Path]:
    """Files of the project with one of the suffixes (all without), sorted; build directories lie outside the rooms."""
    for room in rooms:
        for folder, folders, names in os.walk(top / room):
            folders[:] = sorted(name for name in folders if name != "__pycache__" and not name.startswith("."))
            for name in sorted(names):
                if not suffixes or name.endswith(suffixes):
                    yield Path(folder) / name


COMMENT_OR_TEXT = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
    re.DOTALL,
)


def bare_code(text: str) -> str:
    """C source whose comments and literals are blanked out; lines and columns stay."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        filler = re.sub(r"[^\n]", " ", found)
        return filler if found[0] == "/" else found[0] + filler[1:-1] + found[-1]

    return COMMENT_OR_TEXT.sub(blank, text)


def finish(problems: list[str], summary: str) -> None:
    """Prints the problems, or the summary if there are none, and exits."""
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems" if problems else summary)
    sys.exit(1 if problems else 0)
