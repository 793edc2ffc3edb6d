"""Mistakes are told in words, where they are made, and cost no compile."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from descriptions import matmul

import guardcache
from guardcache import Cache, Compiled, Fresh, Graph, Guards, Hit, Module
from guardcache.adapter import Adapter, Task

Mistake = Callable[[Cache], object]


def build() -> Compiled:
    return Compiled(b"code")


def ended(cache: Cache, compiled: Any) -> object:
    _, begun = cache.begin(matmul(), lease_timeout=1)
    assert begun is not None
    return begun.end(compiled)


def adapted(cache: Cache, made: Any) -> object:
    return Adapter("test", cache).compile(Task(matmul), lambda: made, lambda hit: b"")


NOTHING: Any = None
BYTES: Any = lambda: b"code"  # noqa: E731 # what nobody may give
MISTAKES: list[tuple[str, Mistake]] = [
    ("gives a guardcache.Compiled, not None", lambda cache: cache.get_or_compile(matmul(), lambda: NOTHING)),
    ("not a value of type bytes", lambda cache: cache.get_or_compile(matmul(), BYTES)),
    ("not a value of type tuple", lambda cache: ended(cache, (b"code", []))),
    ("a guardcache.Graph is needed, not None", lambda cache: cache.get_or_compile(NOTHING, build)),
    ("a guardcache.Graph is needed, not None", lambda cache: cache.begin(NOTHING)),
    ("a guardcache.Graph is needed, not None", lambda cache: cache.lookup(NOTHING)),
    ("a guardcache.Graph is needed, not None", lambda cache: cache.insert(NOTHING, b"code")),
    ("a guardcache.Graph is needed, not None", lambda cache: cache.explain(NOTHING)),
    ("a guardcache.Graph is needed, not None", lambda cache: cache.compile_many([Module(NOTHING, build)])),
    ("a compile function is needed, not None", lambda cache: cache.get_or_compile(matmul(), NOTHING)),
    (r"a mapping is needed, not \[1\]", lambda cache: cache.lookup(matmul(), [1])),  # type: ignore[arg-type]
    ("a text is needed, not 1", lambda cache: cache.lookup(matmul(), {1: 1})),  # type: ignore[dict-item]
    (r"a list of texts, not one of them: \['n == 1'\]", lambda cache: cache.insert(matmul(), b"x", guards="n == 1")),
    (r"a list of texts, not one of them", lambda cache: Guards("n == 1")),
    ("a text is needed, not 1", lambda cache: Guards([1])),  # type: ignore[list-item]
    (r"a pair, .* not \(NoneType\)", lambda cache: adapted(cache, None)),
    (r"a pair, .* not \(Compiled, bytes\)", lambda cache: adapted(cache, (build(), b"code"))),
]


@pytest.mark.parametrize(("told", "mistake"), MISTAKES)
def test_mistakes_are_told(cache: Cache, told: str, mistake: Mistake) -> None:
    with pytest.raises(TypeError, match=told):
        mistake(cache)
    assert isinstance(cache.get_or_compile(matmul(), build, lease_timeout=1), Fresh)


@pytest.mark.parametrize(
    ("told", "wrong"),
    [
        (r"a list of texts, not one of them", Compiled(b"code", guards="n == 1")),
        ("a text is needed, not 1", Compiled(b"code", guards=[1])),  # type: ignore[list-item]
        ("a text is needed, not True", Compiled(b"code", do_not_store=True)),  # type: ignore[arg-type]
    ],
)
def test_a_compile_is_not_lost(cache: Cache, told: str, wrong: Compiled) -> None:
    with pytest.warns(guardcache.NotStoredWarning, match=told):
        found = cache.get_or_compile(matmul(), lambda: wrong)
    assert found.payload == b"code"
    assert isinstance(found, Fresh)
    with pytest.warns(guardcache.NotStoredWarning, match=told):
        ended(cache, wrong)
    with pytest.warns(guardcache.NotStoredWarning, match=told):
        assert isinstance(cache.compile_many([Module(matmul(), lambda: wrong)]).outcomes[0], Fresh)


@pytest.mark.parametrize("call", ["get_or_compile", "adapter", "memoize", "end"])
def test_warnings_are_where_the_call_is(cache: Cache, call: str) -> None:
    wrong = Compiled(b"code", guards=["n %% 2"])
    calls: dict[str, Callable[[], object]] = {
        "get_or_compile": lambda: cache.get_or_compile(matmul(), lambda: wrong),
        "adapter": lambda: adapted(cache, (b"code", wrong)),
        "memoize": cache.memoize(name="wrong")(lambda: wrong),
        "end": lambda: ended(cache, wrong),
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        calls[call]()
    assert [warning.filename for warning in caught] == [__file__]


def test_importing_everything_replaces_no_builtin() -> None:
    import builtins

    assert not set(guardcache.__all__) & set(dir(builtins))
    assert callable(guardcache.open)


def test_scalars_of_numpy_are_what_they_hold() -> None:
    def key(value: Any) -> str:
        graph = Graph()
        graph.component("value", value)
        return graph.key

    pairs: list[tuple[Any, Any]] = [
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.int8(3), 3),
        (np.float16(-0.0), -0.0),
    ]
    pairs.append((np.array(2.5), 2.5))
    for scalar, value in pairs:
        assert key(scalar) == key(value)
        assert key([scalar]) == key([value])
    with pytest.raises(TypeError):
        key(np.array([0.5]))
    for other in (np.complex64(1), object(), np.datetime64("2026-01-01")):
        with pytest.raises(TypeError, match="a description can't hold"):
            key(other)


def test_right_is_as_ever(cache: Cache) -> None:
    assert isinstance(cache.get_or_compile(matmul(), build), Fresh)
    assert isinstance(cache.get_or_compile(matmul(), build), Hit)
