"""Texts for people: what UTF-8 or C can't hold is escaped, and costs nobody the caching."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from descriptions import matmul

from guardcache import Cache, Compiled, Fresh, Graph, Hit, Module, Reason
from guardcache.adapter import Adapter, Task

ODD = os.fsdecode(b"caf\xe9.py") + "\0:1"
SHOWN = r"caf\udce9.py\x00:1"


def build() -> Compiled:
    return Compiled(b"code")


def journal(cache: Cache) -> str:
    return "\n".join(str(entry) for entry in cache.journal()).replace("\\\\", "\\")


# What has a text for people in it, and where to find it again.
CALLS: dict[str, Callable[[Cache], object]] = {
    "label": lambda cache: cache.lookup(matmul(), label=ODD),
    "sources": lambda cache: cache.lookup(matmul(), {"s0": 3}, sources={"s0": ODD}),
    "why_asked": lambda cache: cache.lookup(matmul(), why_asked=ODD),
    "bypass": lambda cache: cache.lookup(matmul(), bypass=ODD),
    "compile's label": lambda cache: cache.get_or_compile(matmul(), build, label=ODD),
    "insert's label": lambda cache: cache.insert(matmul(), b"code", label=ODD),
    "do_not_store": lambda cache: cache.get_or_compile(matmul(), lambda: Compiled(b"code", do_not_store=ODD)),
    "begin's do_not_store": lambda cache: begun(cache, Compiled(b"code", do_not_store=ODD)),
    "a module's bypass": lambda cache: cache.compile_many([Module(matmul(), build, bypass=ODD)]),
    "a module's do_not_store": lambda cache: cache.compile_many(
        [Module(matmul(), lambda: Compiled(b"code", do_not_store=ODD))]
    ),
}


def begun(cache: Cache, compiled: Compiled) -> object:
    _, compile = cache.begin(matmul())
    assert compile is not None
    return compile.end(compiled)


@pytest.mark.parametrize("call", CALLS)
def test_odd_texts_are_escaped(cache: Cache, call: str) -> None:
    CALLS[call](cache)
    assert SHOWN in journal(cache)


def test_odd_exceptions_are_told(directory: Any) -> None:
    told: list[str] = []

    def fail() -> Compiled:
        raise ArithmeticError(ODD)

    with Cache(directory, listener=lambda event: told.append(event.text)) as cache:
        with pytest.raises(ArithmeticError):
            cache.get_or_compile(matmul(), fail)
        assert isinstance(cache.compile_many([Module(matmul(), fail)]).outcomes[0], ArithmeticError)
    assert sum(SHOWN in text for text in told) == 2


def test_an_adapter_caches_what_has_an_odd_label(cache: Cache) -> None:
    adapter = Adapter("test", cache)
    for _ in range(2):
        adapter.compile(Task(matmul, label=ODD), lambda: (b"code", build()), lambda hit: bytes(hit.payload))
    assert [lookup.outcome for lookup in adapter.lookups] == ["miss", "hit"]

    def describe() -> Graph:
        raise TypeError(ODD)

    adapter.compile(Task(describe), lambda: (b"code", build()), lambda hit: b"")
    assert (adapter.lookups[-1].outcome, adapter.lookups[-1].reason) == ("bypass", ODD)
    assert SHOWN in journal(cache)


def test_other_texts_are_refused_as_ever(cache: Cache) -> None:
    with pytest.raises(ValueError, match=r"surrogates"):
        cache.get_or_compile(matmul(), build, variant=ODD)
    with pytest.raises(ValueError, match=r"null"):
        cache.get_or_compile(matmul(), build, flight="\0")
    with pytest.raises(TypeError, match="a text is needed, not 5"):
        cache.lookup(matmul(), label=5)  # type: ignore[arg-type]
    found = cache.get_or_compile(matmul(), build)
    assert isinstance(found, Fresh)
    assert isinstance(cache.get_or_compile(matmul(), build), Hit)
    assert found.reason != Reason.BYPASS
