"""Which stored key is nearest to one that isn't stored, found without sketches: by comparing it with every one of its kind.

What counts is read from canonical forms (`guardcache canon`), which tests/forms checks; all from there on is this file's own:
a form is a bag of nodes (without what they refer to), inputs, lines of texts and other values with their paths, and the
distance of two forms is how many of them differ, one that was changed once.
"""

from __future__ import annotations

import collections
import json
import random
import re
import struct
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from check import Corpus, Event, Tally

SYMBOL = re.compile(r"(?<![\w.])([a-z])\d+")
REFERENCE, EXPRESSION = 35603, 35604
# Of what is named, so many in a hundred have to be the nearest.
WANTED = 0.99
# Variants of one made-up graph among which the nearest differs in a single node.
VARIANTS, MADE_NODES = 60, 300

Bag = dict[str, collections.Counter[str]]


class Tagged:
    def __init__(self, tag: int, value: Any) -> None:
        self.tag, self.value = tag, value


def decode(form: bytes, at: int = 0) -> tuple[Any, int]:
    """One item of deterministic CBOR and where the next begins."""
    major, low = form[at] >> 5, form[at] & 31
    width = {24: 1, 25: 2, 26: 4, 27: 8}.get(low, 0)
    number = int.from_bytes(form[at + 1 : at + 1 + width], "big") if width else low
    at += 1 + width
    if major == 7:
        floats = {25: ">e", 26: ">f", 27: ">d"}
        value = struct.unpack(floats[low], form[at - width : at])[0] if low in floats else {20: False, 21: True}.get(low)
        return value, at
    if major in (0, 1):
        return (number if major == 0 else -1 - number), at
    if major in (2, 3):
        raw = form[at : at + number]
        return (raw if major == 2 else raw.decode()), at + number
    if major == 6:
        value, at = decode(form, at)
        return Tagged(number, value), at
    items = []
    for _ in range(number * (major - 3)):
        item, at = decode(form, at)
        items.append(item)
    return (items if major == 4 else dict(zip(items[::2], items[1::2], strict=True))), at


def text_of(value: Any) -> str:
    """A value as text, the same for equal ones; a reference is only that, and of a symbol the letter counts."""
    if isinstance(value, Tagged):
        if value.tag == REFERENCE:
            return "&"
        if value.tag == EXPRESSION:
            return "$" + SYMBOL.sub(r"\1", str(value.value))
        return f"#{value.tag}{text_of(value.value)}"
    if isinstance(value, list):
        return f"[{','.join(map(text_of, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{name}:{text_of(item)}' for name, item in value.items())}}}"
    return f"{type(value).__name__} {value!r}"


def add_leaves(path: str, value: Any, bag: Bag) -> None:
    if isinstance(value, Tagged) and isinstance(value.value, list) and value.tag != REFERENCE:
        value = value.value
    if isinstance(value, dict) and value:
        for name, item in value.items():
            add_leaves(f"{path}.{name}", item, bag)
    elif isinstance(value, list) and value:
        for item in value:
            add_leaves(f"{path}[]", item, bag)
    elif isinstance(value, str) and "\n" in value:
        bag["lines"].update(f"{path} {line}" for line in value.removesuffix("\n").split("\n"))
    else:
        bag["values"][f"{path} {text_of(value)}"] += 1


def add_graph(graph: dict[str, Any], bag: Bag) -> None:
    for name, value in graph.items():
        if name == "nodes":
            bag["nodes"].update(text_of(node) for node in value if node["op"] != "placeholder")
        elif name == "subgraphs":
            for inner in value.values():
                add_graph(inner, bag)
        else:
            add_leaves(name, value, bag)


def bag_of(form: bytes) -> tuple[str, Bag]:
    """The kind of a form and what it consists of."""
    tree, _ = decode(form)
    bag: Bag = collections.defaultdict(collections.Counter)
    for name, value in tree["components"].items():
        if name == "graph":
            add_graph(value, bag)
        elif name == "inputs":
            bag["inputs"].update(map(text_of, value))
        else:
            add_leaves(name, value, bag)
    return tree["kind"], bag


def distance(one: Bag, other: Bag) -> int:
    total = 0
    for sort in {*one, *other}:
        a, b = one.get(sort, collections.Counter()), other.get(sort, collections.Counter())
        total += max(a.total(), b.total()) - (a & b).total()
    return total


class Forms:
    """Canonical forms of description files as bags, read once."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.known: dict[Path, tuple[str, Bag]] = {}

    def of(self, file: Path) -> tuple[str, Bag]:
        if file not in self.known:
            text = self.corpus.run("canon", "--hex", file).stdout
            self.known[file] = bag_of(bytes.fromhex(text.replace("\n", "")))
        return self.known[file]

    def nearest(self, asked: Path, stored: dict[str, Path]) -> tuple[int, str]:
        """The least distance to any stored key of its kind, and a key that has it; -1: there is none of its kind."""
        kind, bag = self.of(asked)
        least, best = -1, ""
        for key, file in stored.items():
            other_kind, other = self.of(file)
            if other_kind != kind:
                continue
            found = distance(bag, other)
            if least < 0 or found < least:
                least, best = found, key
        return least, best


def wrong_nearest(forms: Forms, asked: Path, answer: Event, stored: dict[str, Path]) -> str:
    """What is wrong with the first of the nearest keys; "" if nothing is nearer."""
    least, best = forms.nearest(asked, stored)
    if least < 0 or not answer["nearest"]:
        return "" if least < 0 and not answer["nearest"] else f"{len(answer['nearest'])} keys named, the least distance is {least}"
    first = answer["nearest"][0]
    if first["key"] not in stored:
        return f"{first['key'][:8]} isn't stored"
    named = distance(forms.of(asked)[1], forms.of(stored[first["key"]])[1])
    if named != least:
        return f"{first['key'][:8]} differs in {named}, {best[:8]} in {least}"
    if first["distance"] != named:
        return f"the distance is {named}, not {first['distance']}"
    if not first["alike"] and first["differs"]:
        return "what isn't like it has rows"
    return ""


# ---- what is stored, and what is asked for ----


def made_graphs(folder: Path) -> tuple[list[Path], list[Path]]:
    """Variants of one graph in which a single node differs, and for every third of them one that differs from it once more."""
    chance = random.Random(17)
    targets = ["aten.add.Tensor", "aten.mul.Tensor", "aten.relu.default", "aten.mm.default", "aten.exp.default"]
    nodes: list[dict[str, Any]] = [{"name": "x", "op": "placeholder", "target": "x"}]
    for number in range(1, MADE_NODES):
        arguments = [{"$node": nodes[chance.randrange(number)]["name"]}, chance.randrange(50)]
        nodes.append({"name": f"n{number}", "op": "call_function", "target": chance.choice(targets), "args": arguments})
    base = {"format": "guardcache-graph/1", "kind": "fx", "options": {"level": 1}}
    stored, asked = [], []
    for variant in range(VARIANTS):
        changed = [dict(node) for node in nodes]
        changed[5 + variant]["args"] = [changed[5 + variant]["args"][0], 1000 + variant]
        stored.append(folder / f"made-{variant}.json")
        stored[-1].write_text(json.dumps(base | {"graph": {"nodes": changed}}))
        if variant % 3 == 0:
            changed[200]["target"] = "aten.sin.default"
            asked.append(folder / f"asked-{variant}.json")
            asked[-1].write_text(json.dumps(base | {"graph": {"nodes": changed}}))
    return stored, asked


def labelled(corpus: Corpus) -> tuple[list[Path], list[Path]]:
    """One side of every pair and every other description is stored; the other sides and the rest are asked for."""
    stored: list[Path] = []
    asked: list[Path] = []
    for path in sorted(corpus.folder.glob("*/pairs.jsonl")):
        for line in path.read_text().splitlines():
            pair = json.loads(line)
            stored.append(path.parent / pair["a"])
            asked.append(path.parent / pair["b"])
    graphs = sorted([*corpus.folder.glob("*/*/graphs/*.json"), *corpus.folder.glob("*/graphs/*.json")])
    stored.extend(graphs[::2])
    asked.extend(graphs[1::2])
    return stored, asked


def fill(corpus: Corpus, folder: Path, cache: Path, files: list[Path]) -> None:
    """Inserts every description by one replay."""
    (folder / "graphs").mkdir()
    events = []
    for number, file in enumerate(files):
        (folder / "graphs" / f"{number}.json").symlink_to(file.resolve())
        events.append({"seq": number, "op": "insert", "graph": f"graphs/{number}.json", "guards": [], "payload": {"size": 10}})
    (folder / "trace.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    corpus.run("replay", "--cache", cache, folder)


def check_nearest(corpus: Corpus, tally: Tally) -> None:
    forms = Forms(corpus)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cache = folder / "cache"
        stored_files, asked_files = labelled(corpus)
        made, asked_made = made_graphs(folder)
        keys = corpus.keys(dict.fromkeys([*stored_files, *made, *asked_files, *asked_made]))
        stored = {keys[file]: file for file in [*stored_files, *made]}
        fill(corpus, folder, cache, list(stored.values()))
        asked = {keys[file]: file for file in [*asked_files, *asked_made] if keys[file] not in stored}
        wrong = []
        for file in asked.values():
            answer = json.loads(corpus.run("explain", "--json", "--cache", cache, "--graph", file).stdout)
            problem = answer["reason"] if answer["reason"] != "no_key" else wrong_nearest(forms, file, answer, stored)
            if problem:
                wrong.append(f"{file.parent.parent.name}/{file.name}: {problem}")
        for problem in wrong[:10]:
            print(f"  not the nearest: {problem}")
        right = len(asked) - len(wrong)
        print(f"  of {len(stored)} stored keys the nearest to {len(asked)} others: {right} right")
        tally.add(len(stored) >= 500, f"{len(stored)} keys are stored")
        tally.add(right >= WANTED * len(asked), f"{right} of {len(asked)}")
