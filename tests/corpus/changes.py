"""Whether every row about a few changed targets and constants says what really stands there, found without the command.

Nodes of captured graphs are changed where they are, one to three at a time, and every row is looked up in the two descriptions
themselves: what it says was stored stands at its path in the one, what it says was asked for in the other. Changes in place are
as many rows as there were changes, or fewer: nothing moves, nothing is new or gone. With a node less as well, nothing may be said
that isn't so, and nearly always the changes and the node are all.
"""

from __future__ import annotations

import copy
import json
import random
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rows
import truth

if TYPE_CHECKING:
    from check import Corpus, Tally

Answer = dict[str, Any]

# Larger descriptions take long to compare, and are no other.
SIZE_MOST = 60_000
DESCRIPTIONS = 60
# Of descriptions with a node less, so many need no more rows than there were edits. Some nodes are much alike.
WANTED = 0.95


# ---- edits ----


def constants(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, place) of a number or text in arguments; what is written with a type is none."""
    if isinstance(value, dict) and any(name.startswith("$") for name in value):
        return
    for place, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, (dict, list)):
            yield from constants(item)
        elif isinstance(item, (int, float, str)):
            yield value, place


def other_constant(value: Any, chance: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    return value + "x" if isinstance(value, str) else value + chance.choice([1, 2, 7])


def change(node: Answer, targets: list[str], chance: random.Random) -> None:
    """Its target, or one of its constants. Targets of others too, so that it becomes like one beside it."""
    places = [found for part in ("args", "kwargs") for found in constants(node.get(part) or [])]
    if places and chance.random() < 0.5:
        container, place = chance.choice(places)
        container[place] = other_constant(container[place], chance)
    else:
        node["target"] = chance.choice([target for target in (*targets, node["target"] + "x") if target != node["target"]])


def changed(description: Answer, count: int, chance: random.Random) -> tuple[Answer, int] | None:
    """The description with some nodes changed, most of them close to each other, and how many."""
    result = copy.deepcopy(description)
    nodes = [node for node in result["graph"]["nodes"] if node["op"] == "call_function"]
    if not nodes:
        return None
    start = chance.randrange(len(nodes))
    near = nodes[start : start + 6] if chance.random() < 0.7 else nodes
    picked = chance.sample(near, min(count, len(near)))
    targets = sorted({node["target"] for node in near})
    for node in picked:
        change(node, targets, chance)
    return result, len(picked)


# ---- what stands where ----


class Side:
    def __init__(self, description: Answer) -> None:
        self.description, self.names = description, truth.Names(description)

    def at(self, path: str) -> Any:
        place: Any = self.description
        for step in truth.path_steps(path):
            place = truth.inside(place, step)
        return place

    def references(self, value: Any) -> list[str]:
        if isinstance(value, dict) and set(value) == {"$node"}:
            return [f"nodes[{self.names.nodes.index(value['$node'])}]"]
        items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
        return [text for item in items for text in self.references(item)]

    def wrong(self, path: str, text: str) -> str:
        """What is wrong with saying that `text` stands at the path; "" if it does."""
        try:
            value = self.at(path)
        except (KeyError, IndexError, TypeError):
            return f"{path} isn't there"
        if isinstance(value, dict) and "op" in value:
            said = re.findall(r"nodes\[\d+\]", text)
            short = "..." in text or ".." in text
            same = value["target"] in text and (short or said == self.references([value.get("args"), value.get("kwargs")]))
            return "" if same or value["op"] in ("placeholder", "output") else f"{path} isn't {text}"
        if self.references(value):
            return "" if self.references(value) == re.findall(r"nodes\[\d+\]", text) else f"{path} isn't {text}"
        try:
            said_value = self.names.value(text, is_size=False)
        except truth.Unclear:
            return ""
        return "" if type(said_value) is type(value) and said_value == value else f"{path} is {value!r}, not {text}"


def wrong_row(row: Answer, stored: Side, asked: Side) -> str:
    """What is wrong with a row, whichever nodes stand for which; "" if each side has what it says."""
    problem = ""
    if row["stored"] is not None:
        problem = stored.wrong(rows.stored_path(row), row["stored"])
    if row["asked"] is not None:
        problem = problem or asked.wrong(row["path"], row["asked"])
    if row["stored"] == row["asked"] and row["stored"] in (row.get("stored_now", row["asked"]), row.get("asked_was", row["asked"])):
        problem = problem or f"{row['path']} is {row['asked']} on both sides"
    return problem


def own(found: list[Answer]) -> int:
    return sum("follows" not in row for row in found)


# ---- the check ----


def edited(corpus: Corpus) -> Iterator[tuple[str, Answer, Answer, int, bool]]:
    files = [file for file in sorted(corpus.folder.glob("*/*/graphs/*.json")) if not file.stem.endswith("-twin")]
    files = [file for file in files if file.stat().st_size < SIZE_MOST]
    for file in files[:: max(1, len(files) // DESCRIPTIONS)]:
        description, chance = json.loads(file.read_text()), random.Random(file.stem)
        for count in (1, 2, 3) if "graph" in description else ():
            found = changed(description, count, chance)
            less = rows.drop_node(found[0], chance) if found is not None and count > 1 else None
            if found is not None:
                yield f"{file.parent.parent.name}/{file.name}", description, found[0], found[1], True
            if found is not None and less is not None:
                yield f"{file.parent.parent.name}/{file.name}, a node less", description, less, found[1] + 1, False


def check_changes(corpus: Corpus, tally: Tally) -> None:
    few = moved = 0
    with tempfile.TemporaryDirectory() as name:
        files = Path(name) / "stored.json", Path(name) / "asked.json"
        for what, stored, asked, edits, in_place in edited(corpus):
            for file, description in zip(files, (stored, asked), strict=True):
                file.write_text(json.dumps(description))
            found = rows.rows_of(corpus, *files)
            problem = next(filter(None, (wrong_row(row, Side(stored), Side(asked)) for row in found)), "")
            problem = problem or rows.Pair(stored, asked, found).wrong()
            if in_place and not problem and own(found) > edits:
                problem = f"{own(found)} rows for {edits} changes: {[row['path'] for row in found]}"
            tally.add(not problem, f"{what}: {problem}")
            moved += not in_place
            few += not in_place and own(found) <= edits
    print(f"  of {moved} descriptions with changes and a node less, {few} have no more rows than that")
    tally.add(few >= WANTED * moved, f"{few} of {moved} have as few rows")
