"""Arguments that make no sense are refused, and say which they are; for ever is a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from descriptions import matmul

import guardcache
from guardcache import Best, Cache, Compiled, Fresh, Kernel, Module, Tier


def build() -> Compiled:
    return Compiled(b"code")


# By the option's name, what gets it.
SECONDS: dict[str, Callable[[Cache, Any], object]] = {
    "lease_timeout": lambda cache, given: cache.get_or_compile(matmul(), build, lease_timeout=given),
    "min_compile_time": lambda cache, given: cache.get_or_compile(matmul(), build, min_compile_time=given),
    "lease_timeout of begin": lambda cache, given: cache.begin(matmul(), lease_timeout=given),
    "lease_timeout of many": lambda cache, given: cache.compile_many([Module(matmul(), build)], lease_timeout=given),
    "age": lambda cache, given: cache.expire_blobs(given),
    "max_age": lambda cache, given: cache.gc(max_age=given),
    "max_age of Cache": lambda cache, given: Cache(cache.directory, max_age=given),
    "flush_timeout": lambda cache, given: Cache(cache.directory, flush_timeout=given),
    "ttl": lambda cache, given: Cache(cache.directory, tiers=[timed(ttl=given)]),
    "timeout": lambda cache, given: Cache(cache.directory, tiers=[timed(timeout=given)]),
}
NUMBERS: dict[str, Callable[[Cache, Any], object]] = {
    "max_size": lambda cache, given: Cache(cache.directory, max_size=given),
    "max_candidates": lambda cache, given: Cache(cache.directory, max_candidates=given),
    "memory_bytes": lambda cache, given: Cache(cache.directory, memory_bytes=given),
    "columns": lambda cache, given: Cache(cache.directory, columns=given),
    "compile_ns": lambda cache, given: cache.insert(matmul(), b"code", compile_ns=given),
    "target_bytes": lambda cache, given: cache.gc(target_bytes=given),
    "workers": lambda cache, given: cache.compile_many([Module(matmul(), build)], workers=given),
    "threads": lambda cache, given: cache.verify(threads=given),
    "count": lambda cache, given: cache.top(count=given),
    "last": lambda cache, given: cache.explain_past(given),
    "since_ns": lambda cache, given: list(cache.journal(since_ns=given)),
    "until_ns": lambda cache, given: cache.export(f"{cache.directory}/x.gcx", until_ns=given),
    "max_items": lambda cache, given: cache.compare(matmul(), matmul(), max_items=given),
    "tuning_ns": lambda cache, given: cache.put_best(Kernel("a" * 64), Best(tuning_ns=given)),
}
FLAGS = ["read_only", "strict", "disabled", "unsafe_skip_guards", "refresh", "require_signature", "color", "journal"]


def timed(**given: float) -> Tier:
    tier = Nowhere()
    for name, seconds in given.items():
        setattr(tier, name, seconds)
    return tier


class Nowhere(Tier):
    def list(self, call: object, key: object) -> list[Any]:
        return []

    fetch = publish = remove = list  # type: ignore[assignment]


@pytest.mark.parametrize("option", SECONDS)
@pytest.mark.parametrize("seconds", [-1, -1e-12, -math.inf, math.nan])
def test_times_that_make_no_sense_are_refused(cache: Cache, option: str, seconds: float) -> None:
    with pytest.raises(ValueError, match=f"^{option.split()[0]} is a number of seconds from 0, not"):
        SECONDS[option](cache, seconds)
    with pytest.raises(TypeError, match=f"^{option.split()[0]} is a number of seconds, not 'x'"):
        SECONDS[option](cache, "x")


@pytest.mark.parametrize("option", SECONDS)
@pytest.mark.parametrize("seconds", [math.inf, 2**64 / 1e9, 1e300, 10**400])
def test_long_times_are_for_ever(cache: Cache, option: str, seconds: float) -> None:
    blob = cache.put_blob(b"kept")
    cache.insert(matmul(5), b"kept")
    SECONDS[option](cache, seconds)
    assert blob is not None
    assert cache.get_blob(blob.name) == b"kept"
    assert cache.lookup(matmul(5))


def test_a_short_time_is_no_default(cache: Cache) -> None:
    cache.put_blob(b"old")
    assert cache.expire_blobs(1e-12) == 1


@pytest.mark.parametrize("option", NUMBERS)
@pytest.mark.parametrize("number", [-1, 2**64 + 1])
def test_numbers_that_make_no_sense_are_refused(cache: Cache, option: str, number: int) -> None:
    cache.insert(matmul(5), b"kept")
    with pytest.raises(ValueError, match=rf"^{option} is a whole number from 0 to \d+, not {number}"):
        NUMBERS[option](cache, number)
    with pytest.raises(TypeError, match=f"^{option} is a whole number, not 1.5"):
        NUMBERS[option](cache, 1.5)
    assert cache.lookup(matmul(5))


def test_a_compile_is_not_lost_for_its_time(cache: Cache) -> None:
    with pytest.warns(guardcache.NotStoredWarning, match="compile_ns is a whole number"):
        found = cache.get_or_compile(matmul(), lambda: Compiled(b"code", compile_ns=-1))
    assert isinstance(found, Fresh)
    assert found.payload == b"code"


@pytest.mark.parametrize("option", FLAGS)
def test_flags_are_flags(directory: Path, option: str) -> None:
    options: dict[str, Any] = {option: "no"}
    with pytest.raises(TypeError, match=f"^{option} is True or False, not 'no'"):
        Cache(directory, **options)
    assert not directory.exists()


@pytest.mark.parametrize("option", ["log", "listener"])
def test_what_is_called_can_be(directory: Path, option: str) -> None:
    options: dict[str, Any] = {option: 5}
    with pytest.raises(TypeError, match=f"^{option} is called: 5 can't be"):
        Cache(directory, **options)


@pytest.mark.parametrize("option", ["durability", "trust"])
def test_words_are_known(directory: Path, option: str) -> None:
    options: dict[str, Any] = {option: 7}
    with pytest.raises(ValueError, match="7 is not a valid"):
        Cache(directory, **options)
