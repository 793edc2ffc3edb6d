"""Whether the rows that say how two descriptions differ are true, found without the command.

The rows themselves say which nodes and inputs only one side has. What is left must pair up in order, each placeholder with the
one of the same input, and under this renumbering whatever a row names must be there and differ. Of descriptions that are edited
here, with an input more or a node less, the one edit must be the one row that doesn't follow from others.
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

import truth

if TYPE_CHECKING:
    from check import Corpus, Tally

Answer = dict[str, Any]

# A symbol of PyTorch or JAX in a description's text.
SYMBOL = r"\b[a-z]\d+\b"
# Every so many descriptions are edited: several hundred comparisons.
STEP = 3
# Edits for which the one row is the edit. Some nodes are so much alike that another of them may be named.
WANTED = 0.95


def is_placeholder(node: Answer) -> bool:
    return bool(node.get("op") == "placeholder")


# ---- what the rows say ----


def stored_path(row: Answer) -> str:
    """Where a row's path leads on the stored side."""
    return str(row.get("stored_path", row["path"]))


def alone(rows: list[Answer], where: str) -> tuple[set[int], set[int]]:
    """Places in a list that only the stored, only the asked side has."""
    sides: tuple[set[int], set[int]] = (set(), set())
    for row in rows:
        found = re.fullmatch(re.escape(where) + r"\[(\d+)\]", row["path"])
        if found and row["asked"] is None:
            sides[0].add(int(found[1]))
        elif found and row["stored"] is None:
            sides[1].add(int(found[1]))
    return sides


def pairs_up(rows: list[Answer], where: str, stored: list[Any], asked: list[Any]) -> dict[int, int] | None:
    """asked place -> stored place of what both have; None: they don't pair up."""
    only_stored, only_asked = alone(rows, where)
    left = [place for place in range(len(stored)) if place not in only_stored]
    right = [place for place in range(len(asked)) if place not in only_asked]
    return dict(zip(right, left, strict=True)) if len(left) == len(right) else None


class Pair:
    def __init__(self, stored: Answer, asked: Answer, rows: list[Answer]) -> None:
        self.stored, self.asked, self.rows = stored, asked, rows
        self.sides = [side.get("graph", {}).get("nodes", []) for side in (stored, asked)]
        self.places = [{node["name"]: place for place, node in enumerate(nodes)} for nodes in self.sides]
        self.nodes = pairs_up(rows, "graph.nodes", *self.sides)
        self.inputs = pairs_up(rows, "inputs", stored.get("inputs", []), asked.get("inputs", []))
        self.symbols = self.matched_symbols() if self.inputs is not None else None

    def wrong(self) -> str:
        if self.nodes is None or self.inputs is None:
            return "what is left doesn't pair up"
        return self.wrong_placeholders() or next(filter(None, map(self.wrong_row, self.rows)), "")

    def wrong_placeholders(self) -> str:
        """The placeholder of an input that is on both sides is on both sides, and stands for the same one."""
        assert self.nodes is not None and self.inputs is not None
        ports = [[place for place, node in enumerate(nodes) if is_placeholder(node)] for nodes in self.sides]
        if [len(side) for side in ports] != [len(side.get("inputs", [])) for side in (self.stored, self.asked)]:
            return ""
        for asked, stored in self.inputs.items():
            if self.nodes.get(ports[1][asked]) != ports[0][stored]:
                return f"the placeholder of inputs[{asked}] is still there"
        return ""

    def value(self, steps: list[str | int], of_asked: bool) -> Any:
        """Raises KeyError, IndexError or TypeError where the path leads nowhere."""
        place: Any = self.asked if of_asked else self.stored
        for step in steps:
            place = truth.inside(place, step)
        return place

    def in_stored(self, steps: list[str | int]) -> list[str | int]:
        """The path of what was asked, as it is on the stored side."""
        assert self.nodes is not None and self.inputs is not None
        if steps[0] == "inputs" and len(steps) > 1:
            return [steps[0], self.inputs[int(steps[1])], *steps[2:]]
        if steps[:2] == ["graph", "nodes"] and len(steps) > 2:
            return [*steps[:2], self.nodes[int(steps[2])], *steps[3:]]
        return steps

    def same(self, stored: Any, asked: Any) -> bool:
        assert self.nodes is not None
        if isinstance(stored, dict) and isinstance(asked, dict) and set(stored) == set(asked) == {"$node"}:
            places = [names.get(side["$node"]) for names, side in zip(self.places, (stored, asked), strict=True)]
            return None not in places and self.nodes.get(places[1] or 0) == places[0]
        if isinstance(stored, dict) and isinstance(asked, dict) and set(stored) == set(asked):
            return all(self.same(stored[name], asked[name]) for name in stored)
        if isinstance(stored, list) and isinstance(asked, list) and len(stored) == len(asked):
            return all(map(self.same, stored, asked))
        return type(stored) is type(asked) and bool(stored == asked)

    def wrong_row(self, row: Answer) -> str:
        steps = truth.path_steps(row["path"])
        if "subgraphs" in steps or steps[0] in ("kind", "rules"):
            return ""
        try:
            asked = self.value(steps, True) if row["asked"] is not None else None
            stored = self.value(truth.path_steps(stored_path(row)), False) if row["asked"] is None else None
        except (KeyError, IndexError, TypeError):
            return f"{row['path']} isn't there"
        if row["asked"] is None or row["stored"] is None:
            return ""
        try:
            stored = self.value(self.in_stored(steps), False)
        except (KeyError, IndexError, TypeError):
            return ""  # behind an item of a list that only one side has
        is_size = {"shape", "stride"} & set(map(str, steps)) or "$sym" in json.dumps(asked)
        same = self.same(stored, asked) if not is_size else self.same(self.in_asked_symbols(stored), asked)
        return f"{row['path']} is the same" if same else ""

    def in_asked_symbols(self, value: Any) -> Any:
        """Symbols have names of their own on each side. Where inputs don't say which is which, nothing is the same."""
        if self.symbols is None:
            return None
        symbols = self.symbols
        text = re.sub(SYMBOL, lambda found: symbols.get(found[0], found[0]), json.dumps(value))
        return json.loads(text)

    def matched_symbols(self) -> dict[str, str] | None:
        """What each symbol of the stored inputs is called among those asked for; None: one is two."""
        assert self.inputs is not None
        found: dict[str, str] = {}
        for asked, stored in self.inputs.items():
            texts = [json.dumps(side["inputs"][place]["value"]) for side, place in ((self.stored, stored), (self.asked, asked))]
            names = [re.findall(SYMBOL, text) for text in texts]
            for one, other in zip(*names, strict=False):
                if len(names[0]) != len(names[1]) or found.setdefault(one, other) != other:
                    return None
        return found if len(set(found.values())) == len(found) else None


# ---- edits ----


def new_input(description: Answer, chance: random.Random) -> Answer | None:
    """An input more, like the one beside it, that nothing uses yet."""
    nodes, inputs = description["graph"]["nodes"], description.get("inputs", [])
    ports = [place for place, node in enumerate(nodes) if is_placeholder(node)]
    tensors = [place for place, one in enumerate(inputs) if "$tensor" in (one.get("value") or {})]
    if len(ports) != len(inputs) or not tensors:
        return None
    changed = copy.deepcopy(description)
    place = chance.choice(tensors)
    changed["inputs"].insert(place, copy.deepcopy(inputs[place]) | {"name": "new_input"})
    changed["graph"]["nodes"].insert(ports[place], {"name": "new_input", "op": "placeholder", "target": "new_input"})
    sources = changed.get("aot_config", {}).get("aot_autograd_arg_pos_to_source")
    if sources and len(sources) == len(inputs):
        sources.insert(place, {"$enum": "LocalSource(local_name='new_input')"})
    return changed


def renamed(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        return {"$node": new} if value == {"$node": old} else {name: renamed(item, old, new) for name, item in value.items()}
    return [renamed(item, old, new) for item in value] if isinstance(value, list) else value


def drop_node(description: Answer, chance: random.Random) -> Answer | None:
    """A node less: what used it uses its first argument."""
    nodes = description["graph"]["nodes"]
    picked = [node for node in nodes if node["op"] == "call_function" and node["args"] and "$node" in str(node["args"][0])]
    picked = [node for node in picked if isinstance(node["args"][0], dict) and "$node" in node["args"][0]]
    if not picked:
        return None
    node = chance.choice(picked)
    changed = copy.deepcopy(description)
    left = [one for one in changed["graph"]["nodes"] if one["name"] != node["name"]]
    changed["graph"]["nodes"] = renamed(left, node["name"], node["args"][0]["$node"])
    return changed


# ---- the check ----


def rows_of(corpus: Corpus, stored: Path, asked: Path) -> list[Answer]:
    answer = json.loads(corpus.run("diff", "--json", "--max", 100000, stored, asked).stdout)
    rows: list[Answer] = answer["differs"]
    return rows


def edited(corpus: Corpus, folder: Path) -> Iterator[tuple[str, Path, Path]]:
    files = sorted(file for file in corpus.folder.glob("*/*/graphs/*.json") if not file.stem.endswith("-twin"))
    for file in files[::STEP]:
        description = json.loads(file.read_text())
        for edit in (new_input, drop_node):
            changed = edit(description, random.Random(file.stem)) if "graph" in description else None
            if changed is not None:
                other = folder / "edited.json"
                other.write_text(json.dumps(changed))
                yield edit.__name__, file, other


def check_rows(corpus: Corpus, tally: Tally) -> None:
    single = edits = 0
    for path in sorted(corpus.folder.glob("*/pairs.jsonl")):
        for line in path.read_text().splitlines():
            pair = json.loads(line)
            if pair["label"] == "different":
                files = path.parent / pair["a"], path.parent / pair["b"]
                problem = Pair(*(json.loads(file.read_text()) for file in files), rows_of(corpus, *files)).wrong()
                tally.add(not problem, f"{pair['a']}, {pair['b']}: {problem}")
    with tempfile.TemporaryDirectory() as name:
        for edit, file, other in edited(corpus, Path(name)):
            rows = rows_of(corpus, file, other)
            problem = Pair(json.loads(file.read_text()), json.loads(other.read_text()), rows).wrong()
            tally.add(not problem, f"{file.parent.parent.name}/{file.name}: {edit}: {problem}")
            edits += 1
            single += sum("like" not in row and "follows" not in row for row in rows) == 1
    print(f"  of {edits} descriptions with one edit, {single} have one row that follows from no other")
    tally.add(single >= WANTED * edits, f"{single} of {edits} edits are one row")
