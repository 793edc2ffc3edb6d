"""Many modules at once."""

from __future__ import annotations

import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from descriptions import matmul

import guardcache
from guardcache import Cache, Compiled, Fresh, Hit, Module, Reason, SoFar


def module(columns: int, content: bytes = b"code", **more: Any) -> Module:
    return Module(matmul(columns), lambda: Compiled(content, value=columns), **more)


# ---- many modules ----


def test_many_modules(cache: Cache) -> None:
    cache.insert(matmul(3), b"stored", compile_ns=5)
    so_far: list[SoFar] = []
    threads: set[int] = set()

    def slow() -> Compiled:
        threads.add(threading.get_ident())
        time.sleep(0.05)
        return Compiled(b"slow")

    modules = [module(1), module(2), module(3), Module(matmul(4), slow), Module(matmul(5), slow), module(1)]
    many = cache.compile_many(modules, workers=2, progress=so_far.append, label="all of it")
    kinds = [type(outcome) for outcome in many.outcomes]
    assert kinds[1:5] == [Fresh, Hit, Fresh, Fresh]
    assert sorted([kinds[0].__name__, kinds[5].__name__]) == ["Fresh", "Hit"]
    assert [bytes(found.payload) for found in many.results()][1:5] == [b"code", b"stored", b"slow", b"slow"]
    first = many.outcomes[1]
    assert isinstance(first, Fresh)
    assert (first.value, first.stored, first.reason) == (2, True, Reason.NO_KEY)
    summary = many.summary
    assert (summary.modules, summary.hits, summary.compiled, summary.failed, summary.stored) == (6, 2, 4, 0, 4)
    assert summary.line.startswith("6 modules, 2 hits")
    assert len(so_far) == 6
    assert so_far[-1][:3] == (6, 2, 4)
    assert len(threads) == 2
    assert len(list(cache.entries())) == 5
    assert {entry.label for entry in cache.entries()} == {"", "all of it"}


def test_one_modules_failure_is_its_own(cache: Cache) -> None:
    def fail() -> Compiled:
        raise ArithmeticError("no such instruction")

    broken = Module(matmul(7), lambda: Compiled(b"code", guards=["s0 %% 2"], value="kept"))
    with pytest.warns(guardcache.NotStoredWarning):
        many = cache.compile_many([module(1), Module(matmul(2), fail), broken, module(3, bypass="textual")])
    failed, kept, bypassed = many.outcomes[1:]
    assert isinstance(failed, ArithmeticError)
    assert isinstance(kept, Fresh)
    assert isinstance(bypassed, Fresh)
    assert (kept.value, kept.stored) == ("kept", False)
    assert (bypassed.reason, bypassed.payload) == (Reason.BYPASS, b"code")
    assert many.summary.failed == 1
    with pytest.raises(ArithmeticError):
        many.results()


def test_many_modules_can_be_cancelled(cache: Cache) -> None:
    def slow() -> Compiled:
        time.sleep(0.05)
        return Compiled(b"code")

    modules = [Module(matmul(n), slow) for n in range(1, 10)]
    many = cache.compile_many(modules, workers=1, progress=lambda so_far: False)
    begun = [outcome is not None for outcome in many.outcomes]
    assert begun[0]
    assert not begun[-1]
    assert begun == sorted(begun, reverse=True)
    assert many.summary.cancelled == begun.count(False)
    assert len(many.results()) == begun.count(True)

    def fail(so_far: SoFar) -> None:
        raise LookupError("progress")

    with pytest.raises(LookupError, match="progress"):
        cache.compile_many([module(n) for n in range(10, 20)], workers=2, progress=fail)
    assert cache.compile_many([]).outcomes == ()


def test_options_of_many(cache: Cache) -> None:
    cache.insert(matmul(1), b"old")
    (found,) = cache.compile_many([module(1, b"new")], refresh=True).results()
    assert bytes(found.payload) == b"new"
    (found,) = cache.compile_many([module(2)], min_compile_time=60).results()
    assert isinstance(found, Fresh)
    assert not found.stored
    (found,) = cache.compile_many([module(3)], compile_as="tuned").results()
    assert {entry.variant for entry in cache.entries(matmul(3).key)} == {"tuned"}
    wrong: Any = {"guard_test": None}
    with pytest.raises(TypeError, match="guard_test"):
        cache.compile_many([], **wrong)


# ---- what isn't closed ----


def test_what_is_not_closed_is_a_warning(directory: Path) -> None:
    cache = guardcache.open(directory)
    with pytest.warns(ResourceWarning, match=r"unclosed <guardcache\.Cache"):
        del cache
    with guardcache.open(directory) as cache:
        _, begun = cache.begin(matmul())
        with pytest.warns(ResourceWarning, match="never ended"):
            del begun
        assert isinstance(cache.get_or_compile(matmul(), lambda: Compiled(b"code"), lease_timeout=1), Fresh)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del cache
