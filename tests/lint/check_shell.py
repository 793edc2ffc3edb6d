"""Runs shellcheck over every shell script of the project."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import tree

# SC2016: JSON names begin with a dollar, within single quotes on purpose.
RULES = ["--exclude=SC2016"]
SHELL = re.compile(rb"^#!.*\b(bash|sh)\b")


def is_shell(path: Path) -> bool:
    """A script by its first line, or one that is sourced or handed to bash."""
    return path.suffix in (".sh", ".bash") or (path.is_file() and SHELL.match(path.read_bytes()[:80]) is not None)


def main() -> None:
    if shutil.which("shellcheck") is None:
        print("skipped: shellcheck is not installed")
        sys.exit(tree.SKIPPED)
    top = tree.root()
    scripts = [path for path in tree.files(top) if is_shell(path)]
    result = subprocess.run(
        ["shellcheck", "--shell=bash", *RULES, "--external-sources", "--source-path=SCRIPTDIR", "--format=gcc", *map(str, scripts)],
        capture_output=True,
        text=True,
        check=False,
        cwd=top,  # what `source=` lines are relative to
    )
    problems = (result.stdout + result.stderr).splitlines()
    if not scripts:
        problems.append("no shell scripts found")
    tree.finish(problems, f"{len(scripts)} shell scripts are clean")


main()
