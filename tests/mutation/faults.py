"""The faults: each a small change of a line of C that a programmer could have made by mistake."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# A line that only checks, logs or declares something: a fault in it changes no behaviour, or doesn't compile.
SILENT = re.compile(r"GCI_ASSERT|GCI_REQUIRE|static_assert|gci_store_log|^\s*#|^\s*/?\*|^\s*(?:GCI|GCACHE)_\w+ = ")
# Leaks show under a sanitizer only.
FREES = re.compile(r"\b\w*(?:free|clear|release|close|unmap|destroy)\w*\(")
STATEMENT = re.compile(r"^\s+(?:[\w>.\[\]*-]+ (?:[-+*/|&^]?=) .+|[\w.>-]+\(.*\)|[\w>.\[\]-]+(?:\+\+|--)|(?:\+\+|--).+);$")
DECLARES = re.compile(
    r"^\s+(?:static |const |unsigned |struct |enum |bool |int |char |size_t |u?int\d+_t |double |"
    r"g(?:ci|cache)_\w+ (?:const )?\*?\w+ )"
)
LEAVES = re.compile(r"\breturn\b|\bgoto\b")

# name, what is looked for in a line, what takes its place. A place is one match.
SWAPS = [
    ("relation", r"(?<![<>=!-])<(?![<=])(?= )", "<="),
    ("relation", r"(?<=[ \w\])])<=", "<"),
    ("relation", r"(?<= )>(?![>=])", ">="),
    ("relation", r"(?<= )>=", ">"),
    ("relation", r" == ", " != "),
    ("relation", r" != ", " == "),
    ("logic", r" && ", " || "),
    ("logic", r" \|\| ", " && "),
    ("sign", r"(?<=[\w\])]) \+ (?=[\w(])", " - "),
    ("sign", r"(?<=[\w\])]) - (?=[\w(])", " + "),
    ("sign", r"return -1;", "return 1;"),
    ("constant", r"(?<=[ (\[,])0(?=[;,)\]])", "1"),
    ("constant", r"(?<=[ (\[,])1(?=[;,)\] ])", "0"),
    ("constant", r"(?<=[ (\[,])([2-9]|[1-9]\d+)(?=[;,)\] ])", None),  # one more
    ("constant", r"\btrue\b", "false"),
    ("constant", r"\bfalse\b", "true"),
]


class Fault(NamedTuple):
    file: str
    line: int  # from 1
    kind: str
    before: str
    after: str

    @property
    def name(self) -> str:
        """What it is known by from one run to the next, while the line stays as it is."""
        return f"{self.file}:{self.line}: {self.before.strip()} => {self.after.strip()}"


def swaps(line: str, bare: str) -> Iterator[tuple[str, str]]:
    """bare is the line with its literals blanked out: what is found there is put into the line."""
    for kind, pattern, replacement in SWAPS:
        for found in re.finditer(pattern, bare):
            new = str(int(found[0]) + 1) if replacement is None else replacement
            yield kind, line[: found.start()] + new + line[found.end() :]


def conditions(line: str, bare: str) -> Iterator[tuple[str, str]]:
    """if (..) to if (!(..)), where the condition ends on its line."""
    found = re.match(r"^(\s*(?:\} else )?(?:if|while) \()(.+)(\)(?: \{)?)$", bare)
    if found and found[2].count("(") == found[2].count(")"):
        start, end = found.end(1), found.end(2)
        yield "condition", line[:start] + "!(" + line[start:end] + ")" + line[end:]


def removals(line: str, bare: str) -> Iterator[tuple[str, str]]:
    if STATEMENT.match(bare) and not any(other.search(bare) for other in (DECLARES, FREES, LEAVES)):
        indent = line[: len(line) - len(line.lstrip())]
        yield "removed", f"{indent};"


def of_file(file: str, text: str, bare: str) -> list[Fault]:
    """Every fault that could be put into a file; bare is the text without comments and literals."""
    found = []
    for number, (line, code) in enumerate(zip(text.splitlines(), bare.splitlines()), 1):
        if SILENT.search(line) or not code.strip():
            continue
        # Outside of functions there are tables and types.
        if not line.startswith((" ", "\t")):
            continue
        for make in (swaps, conditions, removals):
            found += [Fault(file, number, kind, line, after) for kind, after in make(line, code) if after != line]
    return found
