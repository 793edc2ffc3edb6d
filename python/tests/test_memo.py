"""Compile functions that are memoized: whose code a call gets, and what they can be."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import guardcache
from guardcache import Cache, Compiled, Fingerprint, Fresh, Graph, Hit, Reason, Tensor


def test_memoized_arguments_are_the_description(cache: Cache, directory: Path) -> None:
    compiles: list[str] = []

    @cache.memoize(name="compile", version="1.0")
    def compile(source: str, *, fast: bool = False) -> Compiled:
        """Compiles."""
        compiles.append(source)
        return Compiled(source.encode())

    assert compile.__doc__ == "Compiles."
    assert bytes(compile("x + 1").payload) == b"x + 1"
    assert isinstance(compile(source="x + 1", fast=False), Hit)
    assert isinstance(compile("x + 1", fast=True), Fresh)
    assert compiles == ["x + 1", "x + 1"]
    with pytest.raises(TypeError):
        compile()  # type: ignore[call-arg]

    def anew(version: guardcache.Value) -> Hit | Fresh:
        again = cache.memoize(name="compile", version=version)(compile.compile)
        return again("x + 1")

    assert isinstance(anew("1.0"), Hit)
    assert isinstance(anew("1.1"), Fresh)
    made_by = Fingerprint()
    made_by.fact("version", "2")
    assert isinstance(anew(made_by), Fresh)
    assert isinstance(anew(made_by), Hit)


def test_memoized_by_a_description(cache: Cache) -> None:
    def describe(sizes: list[int]) -> Graph:
        graph = Graph("mycompiler/1")
        graph.input("x", Tensor("float32", [f"s{i}" for i in range(len(sizes))]))
        return graph

    @cache.memoize(describe=describe, hints=lambda sizes: {f"s{i}": size for i, size in enumerate(sizes)}, label="mine")
    def compile(sizes: list[int]) -> Compiled:
        return Compiled(b"code", guards=[f"s0 % {sizes[0]} == 0"])

    assert isinstance(compile([8]), Fresh)
    assert isinstance(compile([16]), Hit)
    assert isinstance(compile([12]), Fresh)
    assert {entry.label for entry in cache.entries()} == {"mine"}


def twice(source: str) -> Compiled:
    """Its name is that of all of `NAMESAKES`."""
    return Compiled((source * 2).encode())


def namesake(text: str) -> Callable[[str], Compiled]:
    """A function with the module and name of `twice`."""
    space: dict[str, Any] = {"__name__": __name__, "Compiled": Compiled}
    exec(f"def twice(source):\n    {text}", space)
    made: Callable[[str], Compiled] = space["twice"]
    return made


# Differ from `twice` in an operation, a constant, a name, what is in a function within.
NAMESAKES = [
    "return Compiled((source + 2 * 'b').encode())",
    "return Compiled((source * 3).encode())",
    "return Compiled((source * 2).swapcase().encode())",
    "return Compiled((lambda: source * 4)().encode())",
    "return Compiled((source * 2).encode() if source in {'a', 'b'} else b'')",
]


@pytest.mark.parametrize("text", NAMESAKES)
def test_a_name_alone_says_nothing(cache: Cache, text: str) -> None:
    assert isinstance(cache.memoize(twice)("x"), Fresh)
    assert isinstance(cache.memoize(twice)("x"), Hit)
    other = namesake(text)
    assert (other.__module__, other.__qualname__) == (twice.__module__, twice.__qualname__)
    assert isinstance(cache.memoize(other)("x"), Fresh)
    assert isinstance(cache.memoize(namesake(text))("x"), Hit)


def test_lambdas_of_one_scope(cache: Cache) -> None:
    one = cache.memoize(lambda source: Compiled(b"one"))
    two = cache.memoize(lambda source: Compiled(b"two"))
    assert [bytes(one("x").payload), bytes(two("x").payload)] == [b"one", b"two"]


def test_scripts_of_one_text(directory: Path, tmp_path: Path) -> None:
    text = """
import helper, sys
from guardcache import Cache, Compiled

with Cache(sys.argv[1]) as cache:
    @cache.memoize
    def compile(source):
        return Compiled(helper.compile(source) if source not in {"y", "z", "w"} else b"")

    print(type(compile("x")).__name__, bytes(compile("x").payload).decode())
"""
    told = []
    for content in (b"one", b"two"):
        folder = tmp_path / content.decode()
        folder.mkdir()
        (folder / "script.py").write_text(text)
        (folder / "helper.py").write_text(f"def compile(source): return {content!r}")
        for _ in range(2):
            run = [sys.executable, str(folder / "script.py"), str(directory)]
            told.append(subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip())
    assert told == ["Fresh one", "Hit one", "Fresh two", "Hit two"]


def closed_over(factor: int) -> Callable[[str], Compiled]:
    return lambda source: Compiled(source.encode() * factor)


async def compile_async(source: str) -> Compiled:
    return Compiled(b"code")


REFUSED: list[tuple[Any, str]] = [
    (closed_over(2), r"what closed_over.<locals>.<lambda> takes from around it \(factor\)"),
    (functools.partial(twice, "x"), r"can't tell functools.partial"),
    (compile_async, "get_or_compile_async"),
    ("twice", "decorates a function, not a str"),
    (
        classmethod(twice),  # type: ignore[arg-type]
        "decorates a function, not a classmethod",
    ),
]


@pytest.mark.parametrize(("function", "told"), REFUSED)
def test_what_cannot_be_told_apart_is_refused_at_once(cache: Cache, function: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        cache.memoize(function)


def test_with_a_name_they_are_told_apart(cache: Cache) -> None:
    two, three = (cache.memoize(name=f"times {factor}")(closed_over(factor)) for factor in (2, 3))
    assert [bytes(two("x").payload), bytes(three("x").payload)] == [b"xx", b"xxx"]
    assert isinstance(two("x"), Hit)
    bound = cache.memoize(name="x")(functools.partial(twice, "x"))
    assert [type(bound()), type(bound())] == [Fresh, Hit]


def test_a_misspelt_option_is_told_at_once(cache: Cache) -> None:
    with pytest.raises(TypeError, match=r"memoize\(\) got .* did you mean 'label'"):
        cache.memoize(lable="mine")  # type: ignore[call-overload]


def test_methods(cache: Cache) -> None:
    class Compiler:
        @cache.memoize(describe=lambda self, source: Graph.keyed("mine", source * 64))
        def compile(self, source: str) -> Compiled:
            return Compiled(type(self).__name__.encode() + source.encode())

        @staticmethod
        @cache.memoize
        def plain(source: str) -> Compiled:
            return Compiled(source.encode())

        @cache.memoize
        def bare(self, source: str) -> Compiled:
            return Compiled(source.encode())

    compiler = Compiler()
    assert bytes(compiler.compile("a").payload) == b"Compilera"
    assert isinstance(compiler.compile("a"), Hit)
    assert isinstance(Compiler.compile(compiler, "a"), Hit)
    assert [type(compiler.plain("x")), type(compiler.plain("x"))] == [Fresh, Hit]
    bare = compiler.bare("x")
    assert isinstance(bare, Fresh)
    assert (bytes(bare.payload), bare.reason) == (b"x", Reason.BYPASS)


def test_what_cannot_be_described_is_compiled_without_the_cache(cache: Cache, directory: Path) -> None:
    @cache.memoize
    def compile(source: object) -> Compiled:
        return Compiled(b"code")

    found = compile(object())
    assert isinstance(found, Fresh)
    assert (found.payload, found.reason) == (b"code", Reason.BYPASS)
    assert "a description can't hold" in found.note
    with guardcache.Cache(directory, strict=True) as strict, pytest.raises(TypeError, match="description can't hold"):
        strict.memoize(compile.compile)(object())
