"""Runs ruff and mypy over the project's Python scripts, as far as they are installed.

The package in python/ is not among them: it has rules of its own, and its tests check it.
Argument: the top of the tree. Whatever is missing is named; with neither the test counts as skipped.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import tree

# Every function has types; what isn't installed here (PyTorch) has any.
TYPES = ["--disallow-untyped-defs", "--check-untyped-defs", "--ignore-missing-imports", "--cache-dir=/dev/null"]


def command(name: str) -> list[str] | None:
    """How to run a tool: the program, or its module of this interpreter."""
    if shutil.which(name):
        return [name]
    module = [sys.executable, "-m", name]
    return module if subprocess.run([*module, "--version"], capture_output=True, check=False).returncode == 0 else None


def run(tool: list[str], arguments: list[str], folder: Path) -> list[str]:
    result = subprocess.run([*tool, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    return (result.stdout + result.stderr).splitlines() if result.returncode != 0 else []


def ruff(tool: list[str], scripts: list[Path], top: Path) -> list[str]:
    rules = ["--line-length", str(tree.LINE_LIMIT), "--select", "E,F,I,B", "--ignore", "B010,B905"]
    return run(tool, ["check", "--no-cache", *rules, *map(str, scripts)], top)


def mypy(tool: list[str], scripts: list[Path], top: Path) -> list[str]:
    """Folder by folder, since scripts of different ones may share a name."""
    problems = []
    for folder in sorted({script.parent for script in scripts}):
        names = [script.name for script in scripts if script.parent == folder]
        problems += run(tool, [*TYPES, *names], top / folder)
    return problems


def main() -> None:
    top = tree.root()
    python_room = top / "python"
    scripts = [path.relative_to(top) for path in tree.files(top, ".py") if python_room not in path.parents]
    problems, ran = [], []
    for name, check in {"ruff": ruff, "mypy": mypy}.items():
        tool = command(name)
        if tool is None:
            print(f"skipped: {name} is not installed")
            continue
        ran.append(name)
        problems += check(tool, scripts, top)
    if not ran:
        sys.exit(tree.SKIPPED)
    tree.finish(problems, f"{len(scripts)} files are clean under {' and '.join(ran)}")


main()
