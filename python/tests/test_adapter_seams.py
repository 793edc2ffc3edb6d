"""Seams: places in somebody else's code, compared with what an adapter expects of them."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from guardcache.adapter import Part, Patches, Seam, check, find


class Store:
    value = 1

    def method(self, key: str, *, deep: bool = False) -> str:
        return key

    @staticmethod
    def static(key: str, *more: str, **named: str) -> str:
        return key

    @classmethod
    def of_class(cls, key: str) -> str:
        return key


class Heir(Store):
    pass


@functools.lru_cache
def cached(key: str) -> str:
    return key


def uses() -> Any:
    def inner() -> str:
        return Store.static("x")

    return inner


@functools.wraps(uses)
def wrapped() -> Any:
    return uses()


@pytest.fixture(autouse=True)
def theirs(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("theirs")
    module.__dict__.update(Store=Store, Heir=Heir, cached=cached, uses=uses, wrapped=wrapped, number=3)
    monkeypatch.setitem(sys.modules, "theirs", module)
    return module


@pytest.mark.parametrize(
    "seam",
    [
        Seam("theirs:number"),
        Seam("theirs:Store.value"),
        Seam("theirs:Store.method", "function", "self, key, *, deep"),
        Seam("theirs:Store.method", "function", "self, key, ..."),
        Seam("theirs:Store.method", "function", "..."),
        Seam("theirs:Store.static", "static", "key, *more, **named", used_in="theirs:uses"),
        Seam("theirs:Heir.of_class", "class", "cls, key"),
        Seam("theirs:cached", "cached", "key"),
        Seam("theirs:Store", "callable"),
        Seam("theirs:gone|theirs:Store.static", "static", used_in="theirs:gone|theirs:wrapped"),
    ],
)
def test_what_is_in_its_place(seam: Seam) -> None:
    assert seam.moved() is None


@pytest.mark.parametrize(
    ("seam", "told"),
    [
        (Seam("theirs:gone"), "theirs:gone isn't there"),
        (Seam("nobody_has_this:thing"), "nobody_has_this:thing isn't there"),
        (Seam("theirs:Store.static", "class"), "theirs:Store.static is a staticmethod, not a class"),
        (Seam("theirs:Store.of_class", "function"), "theirs:Store.of_class is a classmethod, not a function"),
        (Seam("theirs:uses", "cached"), "theirs:uses is a function, not a cached"),
        (Seam("theirs:number", "callable"), "theirs:number is a int, not a callable"),
        (Seam("theirs:cached", "cached", "name"), "theirs:cached takes (key), not (name)"),
        (Seam("theirs:cached", "cached", "ke, ..."), "theirs:cached takes (key), not (ke, ...)"),
        (
            Seam("theirs:Store.method", "function", "self, key"),
            "theirs:Store.method takes (self, key, *, deep), not (self, key)",
        ),
        (
            Seam("theirs:Store.method", "function", used_in="theirs:uses"),
            "theirs:Store.method isn't used in theirs:uses any more",
        ),
        (
            Seam("theirs:Store.method", "function", used_in="theirs:gone"),
            "theirs:Store.method isn't used in theirs:gone any more",
        ),
    ],
)
def test_what_has_moved_is_named(seam: Seam, told: str) -> None:
    assert seam.moved() == told


def test_parts_are_checked_each_for_itself() -> None:
    here = Part("here", "what is here", (Seam("theirs:number"), Seam("theirs:cached", "cached")))
    gone = Part("gone", "what is gone", (Seam("theirs:a"), Seam("theirs:number"), Seam("theirs:b")))
    assert check([here, gone]) == {"here": [], "gone": ["theirs:a isn't there", "theirs:b isn't there"]}


def test_the_first_place_that_is_there_is_found() -> None:
    assert find("theirs:gone|theirs:number|theirs:Store") == 3
    with pytest.raises(LookupError, match=r"theirs:gone\|theirs:lost isn.t there"):
        find("theirs:gone|theirs:lost")


def test_patches_are_all_or_nothing() -> None:
    patches = Patches()
    patches.set(Heir, "value", 2)
    patches.set(Store, "value", 3)
    patches.set(Store, "new", 4, new=True)
    patches.apply()
    assert (Heir.value, Store.value, Store.new) == (2, 3, 4)  # type: ignore[attr-defined]
    patches.undo()
    assert (Heir.value, Store.value, hasattr(Store, "new")) == (1, 1, False)
    assert "value" not in vars(Heir)
    broken = Patches()
    broken.set(Store, "value", 2)
    broken.set(int, "impossible", 1, new=True)
    with pytest.raises(TypeError):
        broken.apply()
    assert Store.value == 1


def test_what_is_not_there_is_not_replaced() -> None:
    with pytest.raises(AttributeError, match="Store has no mispelt to replace"):
        Patches().set(Store, "mispelt", 1)
    assert not hasattr(Store, "mispelt")


def test_what_others_replaced_since_is_left(caplog: pytest.LogCaptureFixture) -> None:
    class Theirs:
        value, other = 1, 2

    patches = Patches()
    patches.set(Theirs, "value", 3)
    patches.set(Theirs, "other", 4)
    patches.apply()
    Theirs.value = 5
    patches.undo()
    assert (Theirs.value, Theirs.other) == (5, 2)
    assert [record.getMessage() for record in caplog.records] == [
        "value of Theirs isn't put back: somebody else has replaced it since"
    ]


@pytest.mark.parametrize("raised", ["RuntimeError", "ImportError", "ValueError", "KeyError"])
def test_a_module_that_fails_is_not_there(raised: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / f"fails_{raised}.py").write_text(f"raise {raised}")
    monkeypatch.syspath_prepend(tmp_path)
    assert Seam(f"fails_{raised}:compile").moved() == f"fails_{raised}:compile isn't there"


@pytest.mark.parametrize(
    ("seam", "told"),
    [
        (Seam("os.path:join", "typo"), "what is held is function, .* not 'typo'"),
        (Seam(""), "a place is module:name, not ''"),
        (Seam("os.path"), "a place is module:name, not 'os.path'"),
    ],
)
def test_seams_that_are_written_wrongly(seam: Seam, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        seam.moved()
