"""Nothing in the tree is left over: no marks of unfinished work, no paths of somebody's machine, no stray bytes."""

from __future__ import annotations

import re
from pathlib import Path

import tree

# The pieces are joined here so that this file doesn't contain what it looks for.
MARKS = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b")
PATHS = re.compile(r"(?<![\w.$}])/(?:wor" + r"k|hom" + r"e/\w+|Use" + r"rs/\w+|far" + r"m|roo" + r"t)/")
CODE = (".c", ".h", ".py", ".sh", ".build", ".inc", ".def", ".md", ".1", ".rules")


def check(path: Path, name: str) -> list[str]:
    text = path.read_text(encoding="utf-8", errors="strict")
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        if MARKS.search(line):
            problems.append(f"{name}:{number}: a left-over mark")
        if PATHS.search(line):
            problems.append(f"{name}:{number}: a path of one machine")
        if line != line.rstrip() and not name.endswith(".md"):
            problems.append(f"{name}:{number}: white space at the end")
        if "\t" in line and name.endswith((".c", ".h", ".py")):
            problems.append(f"{name}:{number}: a tab")
        if len(line) > tree.LINE_LIMIT and name.endswith((".c", ".h", ".py")):
            problems.append(f"{name}:{number}: {len(line)} columns, more than {tree.LINE_LIMIT}")
    if text and not text.endswith("\n"):
        problems.append(f"{name}: no line end at its end")
    return problems


def main() -> None:
    top = tree.root()
    problems, count = [], 0
    scripts = [path for path in tree.files(top, rooms=("scripts", ".ci")) if not path.suffix]
    named = [path for path in tree.files(top, *CODE) if "fixtures" not in path.relative_to(top).parts[:1]]
    tops = [path for path in sorted(top.iterdir()) if path.is_file() and path.suffix in (".md", ".build")]
    for path in [*tops, *named, *scripts]:
        problems += check(path, path.relative_to(top).as_posix())
        count += 1
    tree.finish(problems, f"{count} files have nothing left over")


main()
