"""Look up or compile: in one call, in two halves, once among all."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from descriptions import matmul

import guardcache
from guardcache import Attachment, Cache, Compiled, Fresh, Graph, Hit, Miss, Reason, Variant

MULTIPLE_OF_8 = "s0 % 8 == 0"


def fresh(found: Hit | Fresh | None) -> Fresh:
    assert isinstance(found, Fresh)
    return found


def unkeyed() -> Graph:
    """A description that a rule says can't be keyed safely."""
    graph = Graph("llvm-ir")
    graph.component("module", "  %1 = inttoptr i64 94210245423104 to ptr\n")
    return graph


def test_get_or_compile(cache: Cache) -> None:
    graph = matmul()
    made = Compiled(b"code", [MULTIPLE_OF_8], deltas={"generated": 2}, value=object())
    compiled = fresh(cache.get_or_compile(graph, lambda: made, {"s0": 8}))
    assert (compiled.payload, compiled.value) == (made.payload, made.value)
    assert (compiled.stored, compiled.note, compiled.reason, compiled.key) == (True, "", Reason.NO_KEY, graph.key)
    assert compiled.compile_ns > 0
    found = cache.get_or_compile(graph, lambda: pytest.fail("compiled again"), {"s0": 16})
    assert isinstance(found, Hit)
    assert bytes(found.payload) == b"code"
    assert found.deltas == {"generated": 2}
    assert found.compile_ns == compiled.compile_ns


@pytest.mark.parametrize("switch", [{"read_only": True}, {"disabled": True}, {"refresh": True}, {"bypass": "why"}])
def test_get_or_compile_where_nothing_may_be_cached(directory: Path, switch: dict[str, Any]) -> None:
    with guardcache.open(directory) as cache:
        cache.insert(matmul(), b"stored")
    with guardcache.open(directory, **switch) as cache:
        found = cache.get_or_compile(matmul(), lambda: Compiled(b"compiled"))
    assert bytes(found.payload) == (b"stored" if switch == {"read_only": True} else b"compiled")
    with guardcache.open(directory, **switch) as cache:
        found = cache.get_or_compile(matmul(10), lambda: Compiled(b"compiled"))
    assert bytes(found.payload) == b"compiled"


def test_a_compile_that_fails_stores_nothing_and_frees_the_others(cache: Cache) -> None:
    def fail() -> Compiled:
        raise ArithmeticError("no such instruction")

    with pytest.raises(ArithmeticError):
        cache.get_or_compile(matmul(), fail)
    assert isinstance(cache.get_or_compile(matmul(), lambda: Compiled(b"code")), Compiled)


def test_threads_compile_once(cache: Cache) -> None:
    compiles = []

    def compile() -> Compiled:
        compiles.append(threading.get_ident())
        time.sleep(0.2)
        return Compiled(b"code")

    threads = [threading.Thread(target=lambda: cache.get_or_compile(matmul(), compile)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiles) == 1


def test_waiting_lets_other_threads_run(cache: Cache) -> None:
    """The interpreter lock is let go while the library waits."""
    graph = matmul()
    _, begun = cache.begin(graph)
    assert begun is not None

    def wait() -> None:
        found, other = cache.begin(graph, lease_timeout=1)
        assert isinstance(found, Miss)
        assert found.reason == Reason.LEASE_TIMEOUT
        assert other is not None
        other.end()

    waiter = threading.Thread(target=wait)
    waiter.start()
    steps = 0
    while waiter.is_alive():
        time.sleep(0.01)
        steps += 1
    assert steps > 20
    begun.end()


def test_the_halves_of_a_compile(cache: Cache) -> None:
    graph = matmul()
    found, begun = cache.begin(graph)
    assert isinstance(found, Miss)
    assert found.reason == Reason.NO_KEY
    assert begun is not None
    with pytest.raises(guardcache.ArgumentError):
        cache.begin(graph)
    cache.insert(graph, b"x")
    begun.end()
    begun.end()
    found, begun = cache.begin(graph)
    assert isinstance(found, Hit)
    assert bytes(found.payload) == b"x"
    assert begun is None


def test_processes_compile_once(directory: Path) -> None:
    script = f"""
import guardcache, sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
from descriptions import matmul
def compile():
    print("compiled", flush=True)
    time.sleep(0.5)
    return guardcache.Compiled(b"code")
with guardcache.open({str(directory)!r}) as cache:
    cache.get_or_compile(matmul(), compile)
"""
    processes = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) for _ in range(4)]
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    assert b"".join(outputs).count(b"compiled") == 1


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "a guard that can't be parsed": ({"guards": ["s0 %% 8 =="]}, "syntax|expected|unexpected|guard"),
    "a guard that is false": ({"guards": ["s0 == 9"]}, "its guard is false for the hints it was compiled for: s0 == 9"),
    "a guard that raises": ({"guards": ["1 // (s0 - 8) == 0"]}, "its guard raises ZeroDivisionError"),
    "a guard that is no text": ({"guards": [8]}, "not stored"),
    "guards that are no list": ({"guards": 8}, "not stored"),
    "a payload without bytes": ({"payload": 3}, "not stored"),
    "metadata that is no bytes": ({"metadata": "text"}, "not stored"),
    "a requirement that is no text": ({"requirements": {"driver": 5}}, "not stored"),
    "an attachment that leads out": ({"attachments": [Attachment("../x", b"")]}, "not stored"),
    "an attachment that is none": ({"attachments": [b"x"]}, "not stored"),
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("flaw", "message"), BROKEN.values(), ids=BROKEN)
def test_what_was_compiled_is_never_lost(directory: Path, flaw: dict[str, Any], message: str, strict: bool) -> None:
    made = Compiled(**{"payload": b"code", "value": object(), **flaw})
    compiles = []

    def compile() -> Compiled:
        compiles.append(1)
        return made

    with guardcache.open(directory, strict=strict) as cache:
        if strict and "its guard" not in message:
            with pytest.raises(Exception) as caught:
                cache.get_or_compile(matmul(), compile, {"s0": 8})
            kept = caught.value.__dict__["compiled"]
            assert (kept.value, kept.stored) == (made.value, False)
        else:
            with pytest.warns(guardcache.NotStoredWarning, match=message):
                compiled = fresh(cache.get_or_compile(matmul(), compile, {"s0": 8}))
            assert (compiled.payload, compiled.value, compiled.stored) == (made.payload, made.value, False)
            assert compiled.note.startswith("not stored: ")
        assert len(compiles) == 1
        assert not list(cache.entries())
        # Nobody is left waiting.
        found = cache.get_or_compile(matmul(), lambda: Compiled(b"code"), {"s0": 8}, lease_timeout=1)
        assert isinstance(found, Compiled)
        assert len(list(cache.entries())) == 1


def test_a_graph_without_a_key_is_compiled_all_the_same(directory: Path) -> None:
    with guardcache.open(directory) as cache:
        found = fresh(cache.get_or_compile(unkeyed(), lambda: Compiled(b"code")))
        assert (found.payload, found.reason, found.stored) == (b"code", Reason.BYPASS, False)
        assert "inttoptr" in found.note or "address" in found.note
        found = fresh(cache.get_or_compile(matmul(), lambda: Compiled(b"code"), bypass="textual output"))
        assert (found.reason, found.note) == (Reason.BYPASS, "not stored: bypass: textual output")
        missed, begun = cache.begin(unkeyed())
        assert begun is not None
        assert missed.reason is Reason.BYPASS
        assert fresh(begun.end(Compiled(b"code"))).reason is Reason.BYPASS
        assert not list(cache.entries())


def test_a_wrong_description_costs_the_caching_unless_the_cache_is_strict(directory: Path) -> None:
    wrong = matmul()
    wrong.component("options", {})  # for the second time
    with guardcache.open(directory) as cache:
        found = fresh(cache.get_or_compile(wrong, lambda: Compiled(b"code")))
        assert (found.reason, found.stored) == (Reason.BYPASS, False)
        assert "options" in found.note
        with pytest.raises(guardcache.ArgumentError):
            cache.lookup(wrong)
    with guardcache.open(directory, strict=True) as cache, pytest.raises(guardcache.ArgumentError):
        cache.get_or_compile(wrong, lambda: pytest.fail("compiled"))


@pytest.mark.parametrize("strict", [False, True])
def test_a_lookup_of_a_graph_without_a_key_is_a_miss(directory: Path, strict: bool) -> None:
    with guardcache.open(directory, strict=strict) as cache:
        missed = cache.lookup(unkeyed())
        assert isinstance(missed, Miss)
        assert missed.reason is Reason.BYPASS
        assert missed.note
        inserted = cache.insert(unkeyed(), b"code")
        assert (inserted.stored, inserted.reason) == (False, Reason.BYPASS)
        assert "bypass" in cache.explain(unkeyed())


@pytest.mark.parametrize("switch", [{"bypass": "why"}, {"disabled": True}, {"read_only": True}])
def test_a_closed_gate_stores_nothing_and_waits_for_nobody(directory: Path, switch: dict[str, Any]) -> None:
    with guardcache.open(directory) as other, guardcache.open(directory, **switch) as cache:
        _, begun = other.begin(matmul())
        assert begun is not None
        began = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert isinstance(cache.get_or_compile(matmul(), lambda: Compiled(b"code"), lease_timeout=30), Compiled)
        assert time.monotonic() - began < 20
        if "read_only" not in switch:
            assert not cache.insert(matmul(), b"code")
        begun.end()
        assert not list(other.entries())


def test_those_who_refresh_compile_once(directory: Path) -> None:
    with guardcache.open(directory) as cache:
        cache.insert(matmul(), b"old")
    compiles = []

    def run() -> None:
        with guardcache.open(directory, refresh=True) as cache:

            def compile() -> Compiled:
                compiles.append(1)
                time.sleep(0.3)
                return Compiled(b"new")

            assert bytes(cache.get_or_compile(matmul(), compile).payload) == b"new"

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiles) == 1


@pytest.mark.parametrize("call", ["get_or_compile", "begin"])
def test_a_signal_ends_the_wait(directory: Path, call: str) -> None:
    script = f"""
import guardcache, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from descriptions import matmul
cache = guardcache.open({str(directory)!r})
print("waiting", flush=True)
try:
    cache.{call}(matmul(){', lambda: print("compiled")' if call == "get_or_compile" else ""})
except KeyboardInterrupt:
    print("interrupted", flush=True)
cache.close()
"""
    with guardcache.open(directory) as cache:
        _, begun = cache.begin(matmul())
        assert begun is not None
        with begun:
            waiting = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
            assert waiting.stdout is not None
            assert waiting.stdout.readline() == "waiting\n"
            time.sleep(0.5)
            waiting.send_signal(signal.SIGINT)
            assert waiting.communicate(timeout=10)[0] == "interrupted\n"
            assert waiting.returncode == 0


# ---- options ----


def test_what_must_not_be_kept_says_why(cache: Cache) -> None:
    made = Compiled(b"code", do_not_store="it calls back into this process")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fresh(cache.get_or_compile(matmul(), lambda: made))
    assert (found.stored, found.note) == (False, "not stored: it calls back into this process")
    assert not list(cache.entries())


def test_what_compiles_fast_is_not_stored(cache: Cache) -> None:
    found = fresh(cache.get_or_compile(matmul(), lambda: Compiled(b"code"), min_compile_time=60))
    assert not found.stored
    assert "less than 60" in found.note
    slow = Compiled(b"code", compile_ns=61 * 1_000_000_000)
    assert fresh(cache.get_or_compile(matmul(), lambda: slow, min_compile_time=60)).stored


def test_refresh_compiles_anew_and_stores(cache: Cache) -> None:
    cache.insert(matmul(), b"old")
    found = fresh(cache.get_or_compile(matmul(), lambda: Compiled(b"new"), refresh=True))
    assert (found.reason, found.stored) == (Reason.REFRESH, True)
    again = cache.get_or_compile(matmul(), lambda: pytest.fail("compiled"))
    assert bytes(again.payload) == b"new"


def test_a_reader_stores_nothing(cache: Cache) -> None:
    found = fresh(cache.get_or_compile(matmul(), lambda: Compiled(b"code"), reader=True))
    assert not found.stored
    assert not list(cache.entries())


def test_a_follower_waits_for_the_writer(directory: Path) -> None:
    with guardcache.open(directory) as cache:
        writer = threading.Timer(0.3, lambda: cache.insert(matmul(), b"written"))
        writer.start()
        found = cache.get_or_compile(matmul(), lambda: pytest.fail("compiled"), follow=True, lease_timeout=30)
        writer.join()
        assert bytes(found.payload) == b"written"
        late = fresh(cache.get_or_compile(matmul(9), lambda: Compiled(b"own"), follow=True, lease_timeout=0.05))
        assert late.reason is Reason.LEASE_TIMEOUT


def test_a_named_flight_compiles_once(cache: Cache) -> None:
    """Eight sizes of one bucket, of a key that has a candidate already: nobody knows before what guards will come."""
    cache.insert(matmul(), b"other", guards=["s0 == 1"])
    compiles: list[int] = []

    def look(size: int) -> None:
        def compile() -> Compiled:
            compiles.append(size)
            time.sleep(0.1)
            return Compiled(b"code", guards=["9 <= s0", "s0 <= 16"])

        cache.get_or_compile(matmul(), compile, {"s0": size}, flight="batch 9-16")

    threads = [threading.Thread(target=look, args=(size,)) for size in range(9, 17)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiles) == 1


def test_variants_lie_side_by_side(cache: Cache) -> None:
    plain = fresh(cache.get_or_compile(matmul(), lambda: Compiled(b"plain")))
    tuned = Variant("tuned", priority=1)
    found = fresh(cache.get_or_compile(matmul(), lambda: Compiled(b"tuned"), variant="tuned", compile_as=tuned))
    assert (plain.variant, found.reason) == (None, Reason.VARIANT)
    best = cache.get_or_compile(matmul(), lambda: pytest.fail("compiled"))
    assert (bytes(best.payload), best.variant, best.priority) == (b"tuned", "tuned", 1)
    # What is compiled may say so itself; without either it is of the variant that was asked for.
    cache.get_or_compile(matmul(), lambda: Compiled(b"own", variant="own"), variant="mine")
    cache.get_or_compile(matmul(), lambda: Compiled(b"mine"), variant="mine")
    assert {entry.variant for entry in cache.entries()} == {"", "tuned", "own", "mine"}
    expected = cache.get_or_compile(matmul(), lambda: pytest.fail("compiled"), expect_variant="mine")
    assert bytes(expected.payload) == b"mine"


def test_a_hit_may_be_refused_by_whoever_loads_it(cache: Cache, tmp_path: Path) -> None:
    cache.insert(matmul(), b"stored", attachments=[Attachment("kernel.so", b"elf")], metadata=b"m")
    seen: list[Hit] = []

    def refuse(hit: Hit) -> bool:
        seen.append(hit)
        cache.place(hit, tmp_path / "placed")
        return False

    found = fresh(cache.get_or_compile(matmul(), lambda: Compiled(b"again"), post_load=refuse))
    assert (found.payload, found.reason) == (b"again", Reason.UNREADABLE)
    assert (tmp_path / "placed" / "kernel.so").read_bytes() == b"elf"
    # The payload outlives the call, the attachments don't.
    assert (bytes(seen[0].payload), seen[0].metadata) == (b"stored", b"m")
    with pytest.raises(guardcache.ArgumentError):
        cache.attachment(seen[0], "kernel.so")

    accepted = cache.get_or_compile(matmul(), lambda: pytest.fail("compiled"), post_load=lambda hit: True)
    assert bytes(accepted.payload) == b"again"

    def fail(hit: Hit) -> bool:
        raise LookupError("the artifact has vanished")

    with pytest.raises(LookupError, match="vanished"):
        cache.get_or_compile(matmul(), lambda: pytest.fail("compiled"), post_load=fail)
    with pytest.raises(LookupError, match="vanished"):
        cache.begin(matmul(), post_load=fail)
    # Nobody is left waiting.
    assert cache.get_or_compile(matmul(), lambda: pytest.fail("compiled"), lease_timeout=1)


def test_a_guard_test_that_raises_is_heard(cache: Cache) -> None:
    cache.insert(matmul(), b"code", guards=[MULTIPLE_OF_8])

    def test(guards: tuple[str, ...]) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cache.get_or_compile(matmul(), lambda: pytest.fail("compiled"), guard_test=test)
    found = cache.get_or_compile(matmul(), lambda: pytest.fail("compiled"), guard_test=lambda guards: True)
    assert isinstance(found, Hit)


def test_identity_stands_for_the_payload(cache: Cache) -> None:
    cache.get_or_compile(matmul(), lambda: Compiled(b"at 0x1", identity=b"code"))
    cache.get_or_compile(matmul(), lambda: Compiled(b"at 0x2", identity=b"code"), reader=False)
    assert not cache.insert(matmul(), b"at 0x3", identity=b"other").existed
    assert cache.insert(matmul(), b"at 0x4", identity=b"code").existed


def test_what_was_begun_ends_with_its_block(cache: Cache) -> None:
    _, begun = cache.begin(matmul())
    assert begun is not None
    with begun:
        found = fresh(begun.end(Compiled(b"code", [MULTIPLE_OF_8], value=1)))
        assert (found.stored, found.value, found.reason) == (True, 1, Reason.NO_KEY)
        assert begun.end() is None
    _, begun = cache.begin(matmul(5))
    assert begun is not None
    with pytest.raises(ArithmeticError), begun:
        raise ArithmeticError
    found = fresh(cache.get_or_compile(matmul(5), lambda: Compiled(b"code"), lease_timeout=1))
    assert found.reason is Reason.NO_KEY


@pytest.mark.parametrize(
    ("wrong", "near"), [("labl", "'label'"), ("expected_variant", "'expect_variant'"), ("x", "it has")]
)
def test_an_unknown_option_is_an_error_that_names_near_ones(cache: Cache, wrong: str, near: str) -> None:
    options: Any = {wrong: None}
    for call in (cache.lookup, cache.explain, cache.explain_data, cache.begin):
        with pytest.raises(TypeError, match=f"{wrong}.*{near}"):
            call(matmul(), **options)
    with pytest.raises(TypeError, match=f"{wrong}.*{near}"):
        cache.get_or_compile(matmul(), lambda: pytest.fail("compiled"), **options)
