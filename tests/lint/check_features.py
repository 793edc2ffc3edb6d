"""Every clause of every row of docs/features.md names a test that is run, or stands as open with the reason.

    check_features.py TREE [BUILD [LIBRARY]]

A row is a line with an id, and lines without one that go on with it: the behaviour is cut into clauses, and each has its own
proof. Joined again they are the words of the list of what must work; where that list lies beside the tree, they are compared.

What is run is asked of the build: which tests it has, with which arguments, and of a program which cases it would run (LIBRARY
is list_cases.c, preloaded). A name in a comment, a case that was taken out of the table and a file that nobody runs prove nothing.
"""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import tree

COUNTS = {"I": 23, "A": 10, "J": 14, "N": 7, "X": 14, "E": 8, "C": 10, "F": 8, "Y": 7}
ROW = re.compile(r"^\|([^|]*)\|([^|]+)\|[^|]*\|([^|]+)\|$", re.MULTILINE)
ID = re.compile(r"[A-Z]\d+")
LISTED = re.compile(r"^\| ([A-Z]\d+) \| (.+) \|$", re.MULTILINE)
ITEM = re.compile(r"([a-z]+)(?:/([\w./]+))?(?:: ([\w, -]+))?$")

# cmocka programs, by the first word of a proof; the others' files are arguments of a test. {} is the part behind the slash.
ROOMS = ("base", "guards", "graph", "store", "cache")
FILES = {
    "cli": "tests/cli/{}.sh",
    "story": "fixtures/stories/{}.sh",
    "examples": "tests/examples/{}.py",
    "fleet": "tests/fleet/check_{}.py",
    "forms": "tests/forms/{}.py",
    "outside": "tests/guards/{}.py",
    "traces": "fixtures/traces/{}",
}
# What a person would have to guess from less.
LEAST_REASON = len("open: why it is")


class Tests:
    """What the build runs."""

    def __init__(self, top: Path, build: Path, library: Path | None) -> None:
        self.top, self.build, self.library = top, build, library
        listed = build / "meson-info/intro-tests.json"
        self.commands = [test["cmd"] for test in json.loads(listed.read_text())] if listed.is_file() else []

    def is_argument(self, path: Path) -> bool:
        return path in self.arguments()

    @functools.lru_cache(maxsize=None)  # noqa: B019 - one object, until the end
    def arguments(self) -> frozenset[Path]:
        """Files that tests are given."""
        words = [word for command in self.commands for word in command[1:]]
        return frozenset(Path(os.path.normpath(self.build / word)) for word in words)

    def program(self, name: str) -> list[str] | None:
        return next((command for command in self.commands if Path(command[0]).name == name), None)

    @functools.lru_cache(maxsize=None)  # noqa: B019
    def cases(self, name: str) -> frozenset[str]:
        """The cases that a program would run."""
        command = self.program(name)
        if command is None:
            return frozenset()
        environment = dict(os.environ) | ({"LD_PRELOAD": str(self.library)} if self.library else {})
        run = subprocess.run(command[:1], cwd=self.build, env=environment, capture_output=True, timeout=60, check=False)
        return frozenset(re.findall(r"^case (\w+)$", run.stdout.decode(errors="replace"), re.MULTILINE))

    @functools.lru_cache(maxsize=None)  # noqa: B019
    def pairs(self) -> frozenset[str]:
        path = self.top / "fixtures/canon/pairs.jsonl"
        return frozenset(json.loads(line)["name"] for line in path.read_text().splitlines()) if path.is_file() else frozenset()


def python_cases(path: Path) -> frozenset[str]:
    """Test functions that pytest would collect and run."""
    nodes: list[Any] = ast.parse(path.read_text()).body if path.is_file() else []
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    return frozenset(node.name for node in functions if not any("skip" in ast.unparse(mark) for mark in node.decorator_list))


def problems_of(tests: Tests, proof: str) -> list[str]:
    """What is wrong with one item of a proof."""
    found = ITEM.match(proof)
    if found is None:
        return [f"{proof!r} names no test"]
    place, name, cases = found[1], found[2] or "", [case.strip() for case in (found[3] or "").split(",") if case.strip()]
    if place == "canon":
        known = tests.pairs() if "test_pairs" in tests.cases("test_graph_canon") else frozenset()
    elif place == "python":
        known = python_cases(tests.top / f"python/tests/{name}.py")
    elif place in ROOMS:
        program = f"test_{place}_{name.removeprefix('test_')}"
        if tests.program(program) is None:
            return [f"no test runs {program}"]
        known = tests.cases(program)
    elif place in FILES and name and tests.is_argument(tests.top / FILES[place].format(name)):
        return [f"{place}/{name} has no cases"] if cases else []
    else:
        return [f"no test runs {place}/{name}"]
    if not cases:
        return [f"{proof!r} names no case"]
    return [f"{place}/{name} runs no case {case}" for case in cases if case not in known]


def read_rows(text: str) -> dict[str, list[tuple[str, str]]]:
    """Of each row its clauses, with their proofs."""
    rows: dict[str, list[tuple[str, str]]] = {}
    for cells in ROW.findall(text):
        row, clause, proof = (cell.strip() for cell in cells)
        if ID.fullmatch(row):
            rows[row] = []
        elif row or not rows:
            continue
        rows[row or list(rows)[-1]].append((clause, proof))
    return rows


def wrong_words(rows: dict[str, list[tuple[str, str]]], listed: Path) -> list[str]:
    """Rows whose clauses, joined, aren't what the list says."""
    words = dict(LISTED.findall(listed.read_text())) if listed.is_file() else {}
    return [
        f"{row} says {joined!r} where the list says {words[row]!r}"
        for row, clauses in rows.items()
        if (joined := " ".join(clause for clause, _ in clauses)) != words.get(row, joined)
    ]


def main() -> None:
    top = tree.root().absolute()
    build = Path(sys.argv[2]).absolute() if len(sys.argv) > 2 else top / "build"
    library = Path(sys.argv[3]).resolve(strict=True) if len(sys.argv) > 3 else None
    tests = Tests(top, build, library)
    rows = read_rows((top / "docs/features.md").read_text())
    wanted = [f"{letter}{number}" for letter, count in COUNTS.items() for number in range(1, count + 1)]
    problems = [f"docs/features.md has no row {name}" for name in wanted if name not in rows]
    problems += wrong_words(rows, top.parent / "shared/FEATURES.md")
    opened = proved = 0
    for row, clauses in rows.items():
        for clause, proof in clauses:
            is_open = proof.startswith("open")
            opened, proved = opened + is_open, proved + (not is_open)
            if is_open and len(proof) < LEAST_REASON:
                problems.append(f"{row}, {clause}: open without a reason")
            for item in [] if is_open else proof.split(";"):
                problems += [f"{row}, {clause}: {problem}" for problem in problems_of(tests, item.strip())]
    tree.finish(problems, f"{proved} clauses of {len(rows)} rows are proved, {opened} are open")


main()
