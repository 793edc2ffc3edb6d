"""Kinds of one's own: a folder with rules and advice counts as one that is compiled in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import guardcache
from guardcache.adapter import open_cache


def write_kind(folder: Path, name: str, pattern: str = r"tmp_\d+") -> Path:
    """Kinds stay loaded, so each test has names of its own."""
    kind = folder / name
    kind.mkdir(parents=True)
    rule = {"path": "module", "kind": "const", "pattern": pattern, "with": "tmp"}
    rules = {"format": "guardcache-rules/1", "name": name, "text": [rule]}
    (kind / "rules.json").write_text(json.dumps(rules))
    advice = [{"path": "options.arch", "text": "build with -arch={stored}."}]
    (kind / "advice.json").write_text(json.dumps({"advice": advice}))
    return folder


def describe(kind: str, module: str, arch: str = "a") -> guardcache.Graph:
    graph = guardcache.Graph(kind)
    graph.component("module", module)
    graph.component("options", {"arch": arch})
    return graph


def test_rules_and_advice_count(tmp_path: Path) -> None:
    guardcache.load_kinds(write_kind(tmp_path / "kinds", "py_alpha"))
    assert describe("py_alpha", "tmp_1").key == describe("py_alpha", "tmp_2").key
    with guardcache.Cache(tmp_path / "cache") as cache:
        cache.insert(describe("py_alpha", "tmp_1"), b"code")
        assert cache.lookup(describe("py_alpha", "tmp_9"))
        assert 'build with -arch="a".' in cache.explain(describe("py_alpha", "tmp_1", arch="b"))


@pytest.mark.parametrize(("name", "opens"), [("py_beta", guardcache.open), ("py_gamma", open_cache)])
def test_opening_loads_what_the_environment_names(
    name: str, opens: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GUARDCACHE_KINDS", str(write_kind(tmp_path / "kinds", name)))
    assert describe(name, "tmp_1").key != describe(name, "tmp_2").key
    assert callable(opens)
    with opens(tmp_path / "cache"):
        assert describe(name, "tmp_1").key == describe(name, "tmp_2").key


def test_what_cannot_be_used_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_kind(tmp_path / "kinds", "py_delta", pattern="(")
    write_kind(folder, "py_eta")
    with pytest.raises(guardcache.DescriptionError, match=r"py_delta/rules.json:1:\d+: the pattern"):
        guardcache.load_kinds(folder)
    assert describe("py_eta", "tmp_1").key == describe("py_eta", "tmp_2").key
    monkeypatch.setenv("GUARDCACHE_KINDS", str(folder))
    with pytest.warns(UserWarning, match="py_delta"):
        guardcache.load_kinds()
    with (
        guardcache.Cache(tmp_path / "cache") as cache,
        pytest.raises(guardcache.DescriptionError, match="kind py_delta can't be used"),
    ):
        cache.lookup(describe("py_delta", "tmp_1"))
