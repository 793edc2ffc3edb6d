"""`guardcache.adapter.Adapter`: the part that all adapters have in common, under a compiler that is made up."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import guardcache
from guardcache import Cache, Graph, Hit
from guardcache.adapter import Adapter, Compiled, Lookup, Task


def describe(source: str = "x + 1") -> Callable[[], Graph]:
    def made() -> Graph:
        graph = Graph()
        graph.component("source", source)
        return graph

    return made


def load(hit: Hit) -> str:
    return bytes(hit.payload).decode()


class Compiler:
    def __init__(self, **compiled: Any) -> None:
        self.compiles = 0
        self.compiled = compiled

    def __call__(self) -> tuple[str, Compiled]:
        self.compiles += 1
        return "code", Compiled(b"code", **self.compiled)


@pytest.fixture
def adapter(tmp_path: Path) -> Any:
    adapter = Adapter("test", tmp_path / "cache")
    yield adapter
    adapter.close()


def outcomes(adapter: Adapter) -> list[tuple[str, str]]:
    return [(lookup.outcome, lookup.reason) for lookup in adapter.lookups]


def test_compiles_once(adapter: Adapter) -> None:
    compiler = Compiler()
    for _ in range(3):
        assert adapter.compile(Task(describe=describe(), label="a.py:1 f"), compiler, load) == "code"
    assert compiler.compiles == 1
    assert outcomes(adapter) == [("miss", "no_key"), ("hit", ""), ("hit", "")]
    told = adapter.statistics()
    assert (told.lookups, told.hits, told.misses, told.not_stored) == (3, 2, {"no_key": 1}, {})
    assert {lookup.label for lookup in adapter.lookups} == {"a.py:1 f"}
    assert len({lookup.key for lookup in adapter.lookups}) == 1


def test_another_process_finds_it(adapter: Adapter, tmp_path: Path) -> None:
    compiler = Compiler()
    adapter.compile(Task(describe=describe()), compiler, load)
    with guardcache.Cache(tmp_path / "cache") as cache:
        other = Adapter("test", cache)
        assert other.compile(Task(describe=describe()), compiler, load) == "code"
        other.close()
        assert not cache.closed, "it was the caller's"
    assert compiler.compiles == 1


def test_a_miss_is_explained(adapter: Adapter) -> None:
    adapter.compile(Task(describe=describe("x + 1"), label="a.py:1 f"), Compiler(), load)
    adapter.compile(Task(describe=describe("x + 2"), label="a.py:2 g"), Compiler(), load)
    told = adapter.explain()
    assert "a.py:2 g" in told
    assert "x + 2" in told
    assert "x + 1" in told
    assert "a.py:1 f" in adapter.explain(2, label="a.py:1")


def test_guards_choose(adapter: Adapter) -> None:
    compiler = Compiler(guards=["b <= 8"])
    for size in (4, 8, 4):
        adapter.compile(Task(describe=describe(), hints={"b": size}), compiler, load)
    assert compiler.compiles == 1
    adapter.compile(Task(describe=describe(), hints={"b": 9}), Compiler(guards=["b > 8"]), load)
    assert outcomes(adapter)[-1] == ("miss", "guard_false")


def test_what_cannot_be_described_is_compiled(adapter: Adapter) -> None:
    def broken() -> Graph:
        raise ValueError("a closure over an open file")

    compiler = Compiler()
    for _ in range(2):
        assert adapter.compile(Task(describe=broken, label="a.py:1 f"), compiler, load) == "code"
    assert compiler.compiles == 2
    assert outcomes(adapter) == [("bypass", "a closure over an open file")] * 2
    assert adapter.statistics().bypasses == {"a closure over an open file": 2}
    assert "a closure over an open file" in adapter.explain()


def test_a_bypass_by_the_caller(adapter: Adapter) -> None:
    compiler = Compiler()
    for _ in range(2):
        adapter.compile(Task(describe=describe(), bypass="it calls back"), compiler, load)
    assert compiler.compiles == 2
    assert outcomes(adapter) == [("bypass", "it calls back")] * 2


def test_what_must_not_be_stored(adapter: Adapter) -> None:
    compiler = Compiler(do_not_store="it holds an address")
    for _ in range(2):
        adapter.compile(Task(describe=describe()), compiler, load)
    assert compiler.compiles == 2
    assert [lookup.outcome for lookup in adapter.lookups] == ["miss", "miss"]
    (told,) = adapter.statistics().not_stored
    assert "it holds an address" in told


def test_what_compiles_fast_is_not_stored(adapter: Adapter) -> None:
    compiler = Compiler()
    for _ in range(2):
        adapter.compile(Task(describe=describe(), min_compile_time=60), compiler, load)
    assert compiler.compiles == 2
    assert adapter.lookups[-1].note


def test_reasons_that_differ_in_figures_are_one(adapter: Adapter) -> None:
    for seconds in (0.1, 0.02, 3e-05):
        compiler = Compiler(do_not_store=f"it compiled in {seconds:.3g} s, less than the 1 s of a_setting")
        adapter.compile(Task(describe=describe()), compiler, load)
    assert adapter.statistics().not_stored == {
        "not stored: it compiled in … s, less than the … s of a_setting": 3,
    }


def test_a_guard_that_is_none_costs_no_compile(adapter: Adapter) -> None:
    compiler = Compiler(guards=["b <="])
    with pytest.warns(guardcache.NotStoredWarning):
        assert adapter.compile(Task(describe=describe(), hints={"b": 1}), compiler, load) == "code"
    assert compiler.compiles == 1
    assert "column 5" in adapter.lookups[-1].note


def test_an_entry_that_cannot_be_loaded_is_compiled_again(adapter: Adapter, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(hit: Hit) -> str:
        raise RuntimeError("made for another machine")

    compiler = Compiler()
    adapter.compile(Task(describe=describe()), compiler, load)
    with caplog.at_level("WARNING", logger="guardcache.adapter"):
        assert adapter.compile(Task(describe=describe(), label="a.py:1 f"), compiler, refuse) == "code"
    assert compiler.compiles == 2
    assert adapter.lookups[-1].outcome == "miss"
    assert "RuntimeError: made for another machine" in adapter.lookups[-1].note
    (line,) = [record.getMessage() for record in caplog.records]
    assert "a.py:1 f" in line
    assert "made for another machine" in line


class CompileError(Exception):
    pass


@pytest.mark.parametrize("error", [CompileError("line 3"), guardcache.BusyError("the compiler's"), KeyboardInterrupt()])
def test_the_compilers_errors_are_the_callers(adapter: Adapter, error: BaseException) -> None:
    calls = []

    def failing() -> tuple[str, Compiled]:
        calls.append(1)
        raise error

    with pytest.raises(type(error)) as told:
        adapter.compile(Task(describe=describe()), failing, load)
    assert told.value is error
    assert calls == [1]
    assert adapter.compile(Task(describe=describe()), Compiler(), load) == "code"


def test_a_compile_within_itself(adapter: Adapter) -> None:
    """The same is asked for while it is being compiled, by the same thread: nobody can be waited for."""
    inner = Compiler()

    def outer() -> tuple[str, Compiled]:
        assert adapter.compile(Task(describe=describe()), inner, load) == "code"
        return "outer", Compiled(b"code")

    assert adapter.compile(Task(describe=describe()), outer, load) == "outer"
    assert inner.compiles == 1


def test_a_closed_cache_costs_the_caching(tmp_path: Path) -> None:
    cache = guardcache.Cache(tmp_path / "cache")
    adapter = Adapter("test", cache)
    cache.close()
    assert adapter.compile(Task(describe=describe()), Compiler(), load) == "code"


def test_trouble_raises_where_the_cache_is_strict(tmp_path: Path) -> None:
    with guardcache.Cache(tmp_path / "cache", strict=True) as cache, pytest.raises(guardcache.ParseError):
        Adapter("test", cache).compile(Task(describe=describe()), Compiler(guards=["b <="]), load)


def test_listeners_hear_and_break_nothing(adapter: Adapter, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Lookup] = []

    def broken(lookup: Lookup) -> None:
        raise ValueError("no room")

    adapter.listen(broken)
    adapter.listen(heard.append)
    adapter.compile(Task(describe=describe()), Compiler(), load)
    assert heard == list(adapter.lookups)
    assert "a listener failed" in caplog.text


def test_threads_compile_once(adapter: Adapter) -> None:
    compiler = Compiler()

    def slow() -> tuple[str, Compiled]:
        time.sleep(0.1)
        return compiler()

    threads = [threading.Thread(target=adapter.compile, args=(Task(describe=describe()), slow, load)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert compiler.compiles == 1
    assert adapter.statistics().lookups == 8


def one_of_two(directory: str, log: str, start: Any) -> None:
    def slow() -> tuple[str, Compiled]:
        time.sleep(0.3)
        with open(log, "a") as file:
            file.write(f"{os.getpid()}\n")
        return "code", Compiled(b"code")

    adapter = Adapter("test", directory)
    start.wait()
    assert adapter.compile(Task(describe=describe()), slow, load) == "code"
    adapter.close()


def test_processes_compile_once(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    start = spawn.Barrier(2)
    log = tmp_path / "log"
    processes = [spawn.Process(target=one_of_two, args=(str(tmp_path / "cache"), str(log), start)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert len(log.read_text().split()) == 1


def test_an_open_cache_has_its_options(cache: Cache) -> None:
    with pytest.raises(TypeError, match="has its options already: namespace"):
        Adapter("test", cache, namespace="mine")


def test_a_directory_that_cannot_be_opened_is_told() -> None:
    with pytest.raises(guardcache.Error, match="guardcache"):
        Adapter("test", "/proc/guardcache")
