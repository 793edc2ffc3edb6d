"""Runs ruff and mypy over the project's Python, as far as they are installed.

Argument: the top of the tree. Whatever is missing is named; with neither the test counts as skipped.
"""

from __future__ import annotations

import shutil
import subprocess
import sys

import tree


def command(name: str) -> list[str] | None:
    """How to run a tool: the program, or its module of this interpreter."""
    if shutil.which(name):
        return [name]
    module = [sys.executable, "-m", name]
    return module if subprocess.run([*module, "--version"], capture_output=True, check=False).returncode == 0 else None


def run(tool: list[str], arguments: list[str], top: tree.Path) -> list[str]:
    result = subprocess.run([*tool, *arguments], cwd=top, capture_output=True, text=True, check=False)
    return (result.stdout + result.stderr).splitlines() if result.returncode != 0 else []


def main() -> None:
    top = tree.root()
    scripts = [str(path.relative_to(top)) for path in tree.files(top, ".py")]
    wanted = {
        "ruff": ["check", "--line-length", "120", "--select", "E,F,I,B,UP,SIM", *scripts],
        "mypy": ["--strict", "--explicit-package-bases", "--scripts-are-modules", "--cache-dir=/dev/null"],
    }
    problems, ran = [], []
    for name, arguments in wanted.items():
        tool = command(name)
        if tool is None:
            print(f"skipped: {name} is not installed")
            continue
        ran.append(name)
        if name == "ruff":
            problems += run(tool, arguments, top)
        else:
            # Scripts of different folders may share a name, which one run of mypy can't hold.
            for script in scripts:
                problems += run(tool, [*arguments, script], top)
    if not ran:
        sys.exit(tree.SKIPPED)
    tree.finish(problems, f"{len(scripts)} files are clean under {' and '.join(ran)}")


main()
