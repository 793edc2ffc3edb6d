"""Prints how long functions and files are, and fails where they outgrow STYLE's figures.

A function is as long as its lines from the one with its name to its closing brace. Both are found by the project's
layout: the name begins a line, below its return type, and so does the last brace.
"""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass
from pathlib import Path

import tree

FILE_LIMIT = 1000
FUNCTION_LIMIT = 70
MEDIAN_LIMIT = 15
NINE_TENTHS_LIMIT = 45

# Functions that may be longer: each is one table or one loop that reads best whole.
LONG_FUNCTIONS: dict[tuple[str, str], str] = {
    ("guards/program/fast.c", "gci_fast_run"): "the dispatch loop: a line or two an instruction",
}

FUNCTION = re.compile(r"^(\w+)\([^;{}]*\)[^;{}]*\n\{\n.*?^\}", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Function:
    file: str
    name: str
    lines: int


def functions_of(path: Path, name: str) -> list[Function]:
    code = tree.bare_code(path.read_text())
    return [Function(name, match[1], match[0].count("\n") + 1) for match in FUNCTION.finditer(code)]


def tenths(values: list[int]) -> tuple[float, int, int]:
    ordered = sorted(values)
    return statistics.median(ordered), ordered[len(ordered) * 9 // 10], ordered[-1]


def main() -> None:
    top = tree.root()
    lengths: dict[str, int] = {}
    functions: list[Function] = []
    for path in tree.files(top, ".c", ".h", rooms=("include", "src", "guards", "tests", "bench")):
        name = path.relative_to(top).as_posix()
        lengths[name] = len(path.read_text().splitlines())
        if not name.startswith("tests/"):
            functions += functions_of(path, name)
    long_files = [(name, lines) for name, lines in lengths.items() if lines > FILE_LIMIT]
    problems = [f"{name}: {lines} lines, more than {FILE_LIMIT}" for name, lines in long_files]
    for function in sorted(functions, key=lambda one: -one.lines):
        allowed = (function.file, function.name) in LONG_FUNCTIONS
        if function.lines > FUNCTION_LIMIT and not allowed:
            problems.append(f"{function.file}: {function.name} has {function.lines} lines, more than {FUNCTION_LIMIT}")
    if not functions:
        tree.finish(["no functions found"], "")
    median, most, longest = tenths([function.lines for function in functions])
    print(f"{len(functions)} functions: median {median:g} lines, nine of ten up to {most}, longest {longest}")
    median_file, most_files, longest_file = tenths(list(lengths.values()))
    print(f"{len(lengths)} files: median {median_file:g} lines, nine of ten up to {most_files}, longest {longest_file}")
    if median > MEDIAN_LIMIT:
        problems.append(f"the median function has {median:g} lines, more than {MEDIAN_LIMIT}")
    if most > NINE_TENTHS_LIMIT:
        problems.append(f"one function in ten has more than {most} lines; {NINE_TENTHS_LIMIT} is the figure")
    tree.finish(problems, f"{sum(lengths.values())} lines of C within the limits")


main()
