"""Descriptions."""

from __future__ import annotations

import json
import os
import random
import threading
from collections import OrderedDict, deque
from pathlib import Path
from types import MappingProxyType

import pytest
from descriptions import matmul

import guardcache
from guardcache import Enum, Fingerprint, Graph, Symbolic, Tensor, Value


def key_of(value: Value) -> str:
    graph = Graph()
    graph.component("value", value)
    return graph.key


def test_equal_descriptions_share_a_key() -> None:
    assert matmul().key == matmul().key
    assert len(matmul().key) == 64


def test_a_change_anywhere_changes_the_key() -> None:
    keys = {matmul().key, matmul(columns=5).key, matmul(fast=True).key, matmul(fast=False).key}
    assert len(keys) == 4


def test_names_of_nodes_and_symbols_do_not_count() -> None:
    def build(x: str, symbol: str) -> Graph:
        graph = Graph("fx")
        node = graph.input(x, Tensor("float32", [symbol, 3], [3, 1], "cpu"))
        graph.output((graph.call("aten.relu.default", node),))
        return graph

    assert build("x", "s0").key == build("arg0_1", "s77").key
    assert build("x", "s0").key != build("x", "u0").key


def test_kinds_of_values_are_told_apart() -> None:
    values: list[Value] = [
        None, True, 1, 1.0, "1", b"1", [1], (1,), {1}, {"1": 1}, Symbolic("s0"), "s0", Enum("s0"),
        2**63, 2**63 + 1, -(2**200), float("inf"), -0.0, 0.0, [], (), {},
    ]  # fmt: skip
    assert len({key_of(value) for value in values}) == len(values)


def test_the_order_of_members_and_of_sets_does_not_count() -> None:
    names = [f"option{i}" for i in range(20)]
    keys = set()
    for seed in range(5):
        random.Random(seed).shuffle(names)
        keys.add(key_of({name: len(name) + int(name[6:]) for name in names}))
        keys.add(key_of({"set": set(names)}))
    assert len(keys) == 2


def test_expressions_count_by_value() -> None:
    assert key_of(Symbolic("s0*16 + 2")) == key_of(Symbolic("2 + 16*s0"))


def test_components_and_symbols() -> None:
    graph = matmul(fast=True)
    assert set(graph.components) == {"graph", "inputs", "options"}
    assert list(graph.symbols) == ["s0"]
    other = matmul(fast=False)
    changed = {name for name in graph.components if graph.components[name] != other.components[name]}
    assert changed == {"options"}


def test_subgraphs_and_node_kinds() -> None:
    def build(inner: str) -> Graph:
        graph = Graph("fx")
        x = graph.input("x", Tensor("float32", [4]))
        with graph.subgraph("true_graph_0"):
            y = graph.node("placeholder", "arg0")
            graph.output(graph.call(inner, y))
        branch = graph.node("get_attr", "true_graph_0")
        graph.output(graph.call("cond", True, branch, branch, [x]))
        return graph

    assert build("aten.sin.default").key == build("aten.sin.default").key
    assert build("aten.sin.default").key != build("aten.cos.default").key


def test_a_description_file_and_the_builder_agree(tmp_path: Path) -> None:
    text = {
        "format": "guardcache-graph/1",
        "kind": "mycompiler/1",
        "inputs": [
            {"name": "x", "value": {"$tensor": {"dtype": "float32", "shape": ["s0", 16]}}},
            {"name": "w", "value": {"$tensor": {"dtype": "float32", "shape": [16, 4]}}},
        ],
        "graph": {
            "nodes": [
                {"name": "x", "op": "placeholder", "target": "x", "args": [], "kwargs": {}},
                {"name": "w", "op": "placeholder", "target": "w", "args": [], "kwargs": {}},
                {
                    "name": "mm",
                    "op": "call_function",
                    "target": "matmul",
                    "args": [{"$node": "x"}, {"$node": "w"}],
                    "kwargs": {"allow_tf32": False},
                },
                {"name": "output", "op": "output", "target": "output", "args": [{"$node": "mm"}], "kwargs": {}},
            ]
        },
        "options": {"fast": True},
    }
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(text))
    assert Graph.load(path).key == matmul(fast=True).key
    assert Graph.load(path).canonical == matmul(fast=True).canonical


def test_what_is_not_json_is_placed() -> None:
    with pytest.raises(guardcache.ParseError) as caught:
        Graph.read('{"format": "guardcache-graph/1",\n "kind" "fx"}', "broken.json")
    assert caught.value.line == 2
    assert caught.value.column > 1
    assert "broken.json" in str(caught.value)
    assert caught.value.status == "ERROR_SYNTAX"


def test_what_is_no_description_is_placed() -> None:
    with pytest.raises(guardcache.DescriptionError):
        Graph.read('{"format": "something else"}')


def test_a_finished_description_takes_nothing_more() -> None:
    graph = matmul()
    assert graph.key
    with pytest.raises(ValueError, match="finished"):
        graph.component("config", {})


def test_what_a_description_cannot_hold() -> None:
    with pytest.raises(TypeError, match="object"):
        key_of(object())  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        key_of({1: 2})  # type: ignore[dict-item]
    nested: list[Value] = []
    nested.append(nested)
    with pytest.raises(RecursionError):
        key_of(nested)


def test_keyed_descriptions() -> None:
    key = "9c" * 32
    assert Graph.keyed("fx", key).key == key
    assert Graph.keyed("fx", key, [("config", "ab" * 32, "max_autotune: False")]).key == key
    with pytest.raises(guardcache.ParseError):
        Graph.keyed("fx", "nonsense")


def test_a_finished_description_is_shared_by_threads() -> None:
    graph = matmul()
    keys = []
    threads = [threading.Thread(target=lambda: keys.append(graph.key)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(keys)) == 1


# ---- values of other types ----


class Sized:
    """As a NumPy scalar or a symbolic size says what number it is."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


def described(value: guardcache.Value) -> str:
    graph = Graph()
    graph.component("options", {"value": value})
    return graph.key


def test_other_mappings_sequences_and_numbers() -> None:
    assert described(MappingProxyType({"a": 1})) == described({"a": 1})
    assert described(OrderedDict(a=1)) == described({"a": 1})
    assert described(range(3)) == described([0, 1, 2])
    assert described(deque([1, 2])) == described([1, 2])
    assert described(Sized(7)) == described(7)
    assert described(Sized(2**70)) == described(2**70)
    assert described((1, 2)) != described([1, 2])
    for wrong in (object(), 1j, iter([1])):
        with pytest.raises(TypeError, match="can't hold"):
            described(wrong)  # type: ignore[arg-type]


def test_values_as_description_files_have_them() -> None:
    direct, written = Graph(), Graph()
    direct.component("options", {"size": guardcache.Symbolic("4*s0"), "names": ["a", None]})
    written.component("options", guardcache.Json('{"size": {"$sym": "4*s0"}, "names": ["a", null]}'))
    assert direct.key == written.key


# ---- what comes out ----


def test_a_description_is_written_and_read_again() -> None:
    graph = matmul(fast=True)
    again = Graph.read(graph.write())
    assert again.key == graph.key
    assert [line.name for line in graph.lines()] == [line.name for line in again.lines()]
    assert any(line.name == "options[fast]" for line in graph.lines())


def test_what_rules_did_is_traced() -> None:
    graph = Graph("llvm-ir")
    graph.component("module", "define i32 @_ZN8__main__3addB2v1B38cE(i32 %a) {\n  ret i32 %a\n}\n")
    assert list(graph.text_names) == ["_ZN8__main__3addB2v1B38cE"]
    text = graph.text("module")
    assert graph.text_names["_ZN8__main__3addB2v1B38cE"] in text
    steps = graph.trace()
    assert any(step.path == "module" and step.rule for step in steps)
    with pytest.raises(guardcache.NotFoundError):
        graph.text("options")


def test_names_and_nodes_take_any_sequence_and_mapping() -> None:
    graph = Graph("mycompiler/1")
    x = graph.input("x", Tensor("float32", ["s0"]))
    graph.output(graph.node("call_function", "f", [x], MappingProxyType({"dim": Sized(1)})))
    other = Graph("mycompiler/1")
    y = other.input("y", Tensor("float32", ("s0",)))
    other.output(other.call("f", y, dim=1))
    assert graph.key == other.key


# ---- fingerprints ----


def test_a_fingerprint_is_a_component(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one")
    (tmp_path / "b.so").write_bytes(b"two")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "c.py").write_text("three")

    def made_by() -> Fingerprint:
        fingerprint = Fingerprint()
        fingerprint.fact("version", "1.0")
        fingerprint.tree("compiler", tmp_path, suffixes=[".py"], skip=["tests"], threads=2)
        fingerprint.file("library", tmp_path / "b.so")
        fingerprint.preset("base", "ab" * 32)
        return fingerprint

    first = made_by()
    key = described_with(first)
    assert key == described_with(made_by())
    assert first.hash == made_by().hash
    lines = {(line.part, line.path): line for line in first.lines()}
    assert lines["version", ""].value == "1.0"
    assert lines["compiler", "a.py"].read
    assert ("compiler", "tests/c.py") not in lines
    (tmp_path / "tests" / "c.py").write_text("does not count")
    assert described_with(made_by()) == key
    (tmp_path / "a.py").write_text("changed")
    written, later = first.write(), made_by()
    assert described_with(later) != key
    assert [(change.part, change.path) for change in later.compare(written)] == [("compiler", "a.py")]
    with pytest.raises(guardcache.ArgumentError):
        later.fact("version", "twice")
    with pytest.raises(guardcache.NotFoundError):
        later.file("missing", tmp_path / "missing")
    later.clear()
    assert later.lines() == []


def test_a_fingerprint_remembers_files(tmp_path: Path) -> None:
    file = tmp_path / "compiler.so"
    file.write_bytes(b"code")
    os.utime(file, (1_000_000_000, 1_000_000_000))
    first = Fingerprint()
    first.file("compiler", file)
    first.save_index(tmp_path / "index")
    second = Fingerprint()
    second.open_index(tmp_path / "index")
    second.file("compiler", file)
    assert second.hash == first.hash


def described_with(fingerprint: Fingerprint) -> str:
    graph = Graph()
    graph.component("environment", fingerprint)
    return graph.key
