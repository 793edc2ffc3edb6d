"""The rooms of the tree: how much lies where, and that it is in order.

Prints the lines of code of each folder, and fails where a folder holds too many files, calls go in a circle, a name has
two meanings, a file doesn't say what it is for, or the same lines stand twice.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import tree

ROOMS = ("include", "src", "guards")
SOURCE = (".c", ".h", ".def")
FILES_MAX = 22  # "about twenty": a folder that a reader takes in at a glance
RUN_LENGTH = 6  # lines of code that stand twice

# Names at the left margin, as the layout has it: the return type stands on the line above.
DEFINED = re.compile(r"^((?:gci|gcache)_\w+)\([^;{}]*\)[^;{}]*\n\{", re.MULTILINE)
WORD = re.compile(r"\b(?:gci|gcache)_\w+")
BODY = re.compile(r"^(?:typedef\s+)?(?:struct|union|enum)\s+(g\w+)\s*\{", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# Lines that say nothing about what the code does.
THIN = re.compile(
    r"^(?:[{}();,]*|#.*|\}? ?else \{?|break;|return \w+;|goto \w+;|free\(.*\);|\w+: ?|case \w+:|default:)$"
)


@dataclass
class Source:
    name: str  # from the top of the tree
    text: str
    code: str = field(init=False)  # without comments and the insides of literals

    def __post_init__(self) -> None:
        self.code = tree.bare_code(self.text)

    @property
    def folder(self) -> str:
        return self.name.rpartition("/")[0]

    @property
    def stem(self) -> str:
        return Path(self.name).stem

    @property
    def unit(self) -> str:
        """A .c file and its header are one."""
        return f"{self.folder}/{self.stem}"

    def lines_of_code(self) -> int:
        return sum(1 for line in self.code.splitlines() if line.strip())


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Tarjan's strongly connected components with more than one member, without recursion's limits."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def close(node: str) -> None:
        members: list[str] = []
        while not members or members[-1] != node:
            members.append(stack.pop())
        if len(members) > 1:
            found.append(sorted(members))

    for start in sorted(graph):
        work = [(start, iter(sorted(graph[start])))] if start not in order else []
        if work:
            order[start] = low[start] = len(order)
            stack.append(start)
        while work:
            node, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    close(node)
            elif following not in order:
                order[following] = low[following] = len(order)
                stack.append(following)
                work.append((following, iter(sorted(graph[following]))))
            elif following in stack:
                low[node] = min(low[node], order[following])
    return found


def calls(sources: list[Source]) -> dict[str, set[str]]:
    """Which file uses functions that another one defines; a header counts only with what it defines itself."""
    home = {
        match[1]: source.unit
        for source in sources
        for match in DEFINED.finditer(source.code)
    }
    graph: dict[str, set[str]] = {source.unit: set() for source in sources}
    for source in sources:
        if source.name.endswith(".c") or DEFINED.search(source.code):
            graph[source.unit] |= {
                home[word] for word in WORD.findall(source.code) if word in home
            } - {source.unit}
    return graph


def of_folders(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    folders: dict[str, set[str]] = defaultdict(set)
    for name, used in graph.items():
        folder = name.rpartition("/")[0]
        folders[folder] |= {other.rpartition("/")[0] for other in used} - {folder}
    return folders


def crowded(sources: list[Source]) -> list[str]:
    folders: dict[str, int] = defaultdict(int)
    for source in sources:
        folders[source.folder] += 1
    return [
        f"{folder}: {count} files, more than {FILES_MAX}"
        for folder, count in folders.items()
        if count > FILES_MAX
    ]


def doubled_names(sources: list[Source]) -> list[str]:
    """Two folders of the library with a file of the same name."""
    folders: dict[str, set[str]] = defaultdict(set)
    for source in sources:
        if not source.name.startswith(("include/", "src/cli/")):
            folders[source.stem].add(source.folder)
    return [
        f"{stem}: a file of {' and of '.join(sorted(where))}"
        for stem, where in folders.items()
        if len(where) > 1
    ]


def doubled_types(sources: list[Source]) -> list[str]:
    bodies: dict[str, list[str]] = defaultdict(list)
    for source in sources:
        for match in BODY.finditer(source.code):
            bodies[match[1]].append(source.name)
    return [
        f"{name}: a type of {' and of '.join(where)}"
        for name, where in sorted(bodies.items())
        if len(where) > 1
    ]


def silent(sources: list[Source]) -> list[str]:
    return [
        f"{source.name}: no opening comment"
        for source in sources
        if not source.text.startswith("/*")
    ]


def doubled_runs(sources: list[Source]) -> list[str]:
    """Runs of lines that stand in two places to the letter, each named once, at its beginning."""
    places: dict[tuple[str, ...], list[tuple[str, int, int]]] = defaultdict(list)
    for source in sources:
        kept = COMMENT.sub(
            lambda match: re.sub(r"[^\n]", "", match[0]), source.text
        ).splitlines()
        lines = [(number, line.strip()) for number, line in enumerate(kept, 1)]
        lines = [
            (number, line) for number, line in lines if line and not THIN.match(line)
        ]
        for at in range(len(lines) - RUN_LENGTH + 1):
            run = tuple(line for _, line in lines[at : at + RUN_LENGTH])
            places[run].append((source.name, at, lines[at][0]))
    found, covered = [], set()
    for where in places.values():
        for one, other in itertools.pairwise(where):
            pair = (one[0], other[0])
            if (*pair, one[1] - 1, other[1] - 1) not in covered:
                found.append(f"{one[0]}:{one[2]} stands again at {other[0]}:{other[2]}")
            covered.add((*pair, one[1], other[1]))
    return found


def print_folders(sources: Iterable[Source]) -> None:
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for source in sources:
        sums[source.folder][0] += 1
        sums[source.folder][1] += source.lines_of_code()
    for folder, (count, lines) in sorted(sums.items()):
        print(f"{folder:28} {count:3} files {lines:6} lines of code")
    print(
        f"{'all':28} {sum(count for count, _ in sums.values()):3} files {sum(n for _, n in sums.values()):6} lines of code"
    )


def main() -> None:
    top = tree.root()
    sources = [
        Source(path.relative_to(top).as_posix(), path.read_text())
        for path in tree.files(top, *SOURCE, rooms=ROOMS)
    ]
    print_folders(sources)
    graph = calls(sources)
    findings = {
        "folders with too many files": crowded(sources),
        "circles of files": [" ".join(one) for one in circles(graph)],
        "circles of folders": [" ".join(one) for one in circles(of_folders(graph))],
        "file names with two meanings": doubled_names(sources),
        "type names with two meanings": doubled_types(sources),
        "files without an opening comment": silent(sources),
        "doubled runs of code": doubled_runs(sources),
    }
    problems = []
    for what, found in findings.items():
        print(f"{len(found):4} {what}")
        problems += [f"{what}: {one}" for one in found]
    tree.finish(problems, "")


main()
