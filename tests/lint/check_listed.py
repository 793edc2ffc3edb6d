"""Every test on disk is listed in its folder's meson.build: a test that isn't run protects nothing."""

from __future__ import annotations

import re
from pathlib import Path

import tree


def quoted(path: Path) -> set[str]:
    """The quoted words of a build file; none if there is no such file."""
    return set(re.findall(r"'([^'\n]+)'", path.read_text())) if path.is_file() else set()


def unlisted(top: Path, pattern: str, prefix: str, suffix: str) -> list[str]:
    """Tests whose name, without prefix and suffix, their build file doesn't mention."""
    problems = []
    for path in sorted((top / "tests").glob(pattern)):
        words = quoted(path.parent / "meson.build")
        stem = path.name.removeprefix(prefix).removesuffix(suffix)
        if stem not in words and path.name not in words:
            problems.append(f"{path.relative_to(top)}: not listed in {path.parent.relative_to(top)}/meson.build")
    return problems


def main() -> None:
    top = tree.root()
    problems = unlisted(top, "unit/*/test_*.c", "test_", ".c")
    problems += unlisted(top, "fault/test_*.c", "test_", ".c")
    problems += unlisted(top, "fuzz/fuzz_*.c", "fuzz_", ".c")
    problems += unlisted(top, "cli/*.sh", "", ".sh")
    problems += unlisted(top, "lint/check_*.py", "check_", ".py")
    tree.finish(problems, "every test on disk is listed")


main()
