#!/usr/bin/env python3
"""One description, written down 1,000 times in other ways, has one key: shuffled.py COMMAND FILE...

Each time maps and sets are shuffled, nodes, inputs and symbols renamed, expressions' operands turned around, meta and
volatile parts replaced. The keys are made in several processes with other environments.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from typing import Any

TIMES = 1000
ENVIRONMENTS: tuple[dict[str, str], ...] = (
    {}, {"LC_ALL": "C"}, {"LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kolkata"}, {"LANG": "de_DE.UTF-8", "HOME": "/"}
)
SYMBOL = re.compile(r"\b([suz])(\d+)\b")


def names_of(graph: dict, found: set) -> set:
    found.update(node["name"] for node in graph["nodes"])
    for inner in graph.get("subgraphs", {}).values():
        names_of(inner, found)
    return found


class Shuffle:
    """One way of writing a description down."""

    def __init__(self, seed: int, description: dict) -> None:
        self.random = random.Random(seed)
        names = sorted(names_of(description["graph"], set()))
        numbers = self.random.sample(range(10 * len(names) + 10), len(names))
        self.nodes = dict(zip(names, (f"n{number}" for number in numbers)))
        self.symbols: dict = {}
        self.taken = list(range(1000))
        self.random.shuffle(self.taken)

    def symbol(self, match: re.Match) -> str:
        if match[0] not in self.symbols:
            self.symbols[match[0]] = f"{match[1]}{self.taken.pop()}"
        return self.symbols[match[0]]

    def expression(self, text: str) -> str:
        text = SYMBOL.sub(self.symbol, text)
        plain = re.fullmatch(r"[\w]+(\*[\w]+)+", text)
        if plain:
            factors = text.split("*")
            self.random.shuffle(factors)
            text = "*".join(factors)
        return text

    def mapping(self, value: dict) -> dict:
        items = list(value.items())
        self.random.shuffle(items)
        return dict(items)

    def value(self, value: Any, size: bool = False) -> Any:
        if isinstance(value, list):
            return [self.value(item, size) for item in value]
        if isinstance(value, str):
            return self.expression(value) if size else value
        if not isinstance(value, dict):
            return value
        if set(value) == {"$node"}:
            return {"$node": self.nodes.get(value["$node"], value["$node"])}
        if set(value) == {"$sym"}:
            return {"$sym": self.expression(value["$sym"])}
        if set(value) == {"$set"}:
            items = [self.value(item) for item in value["$set"]]
            self.random.shuffle(items)
            return {"$set": items}
        if set(value) == {"$tensor"}:
            tensor = {name: self.value(item, name in ("shape", "stride")) for name, item in value["$tensor"].items()}
            tensor["storage_offset"] = self.random.randrange(100)
            return {"$tensor": self.mapping(tensor)}
        return self.mapping({name: self.value(item) for name, item in value.items()})

    def node(self, node: dict) -> dict:
        shuffled = {name: self.value(item) for name, item in node.items() if name not in ("name", "meta")}
        shuffled["name"] = self.nodes[node["name"]]
        shuffled["meta"] = {"trace": self.random.random()}
        if node["op"] == "placeholder":
            shuffled["target"] = shuffled["name"]
        return self.mapping(shuffled)

    def graph(self, graph: dict) -> dict:
        shuffled = {name: self.value(item) for name, item in graph.items() if name not in ("nodes", "subgraphs")}
        shuffled["nodes"] = [self.node(node) for node in graph["nodes"]]
        if "subgraphs" in graph:
            shuffled["subgraphs"] = self.mapping({name: self.graph(item) for name, item in graph["subgraphs"].items()})
        return self.mapping(shuffled)

    def description(self, description: dict) -> dict:
        shuffled: dict[str, Any] = {}
        for name, item in description.items():
            if name == "graph":
                shuffled[name] = self.graph(item)
            elif name == "inputs":
                shuffled[name] = [self.mapping({"name": self.nodes.get(entry["name"], entry["name"]),
                                                "value": self.value(entry["value"])}) for entry in item]
            else:
                shuffled[name] = self.value(item)
        shuffled["volatile"] = {"time_ns": self.random.random(), "pid": self.random.randrange(10**6)}
        return self.mapping(shuffled)


def keys_of(command: str, paths: list) -> set:
    keys: set[str] = set()
    share = (len(paths) + len(ENVIRONMENTS) - 1) // len(ENVIRONMENTS)
    for number, environment in enumerate(ENVIRONMENTS):
        batch = "\n".join(paths[number * share:(number + 1) * share]) + "\n"
        out = subprocess.run([command, "key", "--batch"], input=batch, capture_output=True, check=True, text=True,
                             env=os.environ | environment).stdout
        keys.update(line.split()[0] for line in out.splitlines())
    return keys


def main() -> int:
    command, *files = sys.argv[1:]
    failed = 0
    for file in files:
        with open(file, encoding="utf-8") as stream:
            description = json.load(stream)
        with tempfile.TemporaryDirectory() as folder:
            paths = [file]
            for seed in range(TIMES):
                paths.append(os.path.join(folder, f"{seed}.json"))
                with open(paths[-1], "w", encoding="utf-8") as stream:
                    json.dump(Shuffle(seed, description).description(description), stream)
            keys = keys_of(command, paths)
        print(f"{os.path.basename(file)}: {TIMES} ways, {len(keys)} key(s)")
        failed += len(keys) != 1
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
