"""Events, counters, statistics and the journal."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from descriptions import matmul

import guardcache
from guardcache import Cache, Compiled, Event, Reason, log_event

MULTIPLE_OF_8 = "s0 % 8 == 0"


def use(cache: Cache) -> None:
    """A miss, a compile, a hit, and a miss by a guard."""
    made = Compiled(b"code", [MULTIPLE_OF_8], compile_ns=2_000_000_000)
    cache.get_or_compile(matmul(), lambda: made, {"s0": 8}, label="train.py:1 step")
    assert cache.lookup(matmul(), {"s0": 16}, label="train.py:1 step")
    assert not cache.lookup(matmul(), {"s0": 12}, label="train.py:2 eval", sources={"s0": "x.size(0)"}, why_asked="new")


# ---- events ----


def test_a_listener_hears_what_happens(directory: Path) -> None:
    heard: list[Event] = []
    with guardcache.open(directory, listener=heard.append) as cache:
        use(cache)
    kinds = [event.kind for event in heard]
    assert kinds[0] == "in_use"
    assert [kind for kind in kinds if kind in ("miss", "compiled", "stored", "hit")] == [
        "miss",
        "compiled",
        "stored",
        "hit",
        "miss",
    ]
    (hit,) = (event for event in heard if event.kind == "hit")
    assert (hit.label, hit.key, hit.graph_kind) == ("train.py:1 step", matmul().key, "mycompiler/1")
    assert hit.compile_ns == 2_000_000_000
    assert hit.elapsed_ns > 0
    assert "train.py:1 step" in hit.line
    assert [event.reason for event in heard if event.kind == "miss"] == [Reason.NO_KEY, Reason.GUARD_FALSE]


def test_a_failed_compile_is_heard_with_its_message(directory: Path) -> None:
    heard: list[Event] = []

    def fail() -> Compiled:
        raise ArithmeticError("no such instruction")

    with guardcache.open(directory, listener=heard.append) as cache, pytest.raises(ArithmeticError):
        cache.get_or_compile(matmul(), fail)
    assert [event.text for event in heard if event.kind == "compile_failed"] == ["no such instruction"]


def test_events_go_to_logging(directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "guardcache")
    with guardcache.open(directory, listener=log_event) as cache:
        use(cache)
        with pytest.raises(ZeroDivisionError):
            cache.get_or_compile(matmul(9), lambda: Compiled(bytes([1 // 0])))
    levels = {record.event.kind: record.levelno for record in caplog.records}  # type: ignore[attr-defined]
    assert levels["hit"] == levels["miss"] == levels["compiled"] == logging.INFO
    assert levels["request"] == levels["stored"] == logging.DEBUG
    assert levels["compile_failed"] == logging.WARNING
    assert any(message.startswith("hit train.py:1 step") for message in caplog.messages)
    caplog.clear()
    caplog.set_level(logging.WARNING, "guardcache")
    with guardcache.open(directory, listener=log_event) as cache:
        use(cache)
    assert caplog.messages == []


def test_what_a_listener_raises_is_not_the_callers(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda raised: told.append(str(raised.exc_value)))

    def fail(event: Event) -> None:
        raise LookupError(event.kind)

    with guardcache.open(directory, listener=fail) as cache:
        use(cache)
    assert "hit" in told


def test_listeners_of_many_threads(directory: Path) -> None:
    heard: list[str] = []
    with guardcache.open(directory, listener=lambda event: heard.append(event.kind)) as cache:
        threads = [threading.Thread(target=lambda n=n: cache.lookup(matmul(n))) for n in range(1, 9)]  # type: ignore[misc]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert heard.count("miss") == 8


# ---- counters and statistics ----


def test_counters_are_the_handles(directory: Path) -> None:
    with guardcache.open(directory) as cache:
        use(cache)
        counters = cache.counters()
        assert (counters["hits"], counters["inserts"], counters["saved_ns"]) == (1, 1, 2_000_000_000)
        assert cache.misses() == {Reason.NO_KEY: 1, Reason.GUARD_FALSE: 1}
    with guardcache.open(directory) as cache:
        assert cache.counters()["hits"] == 0
        assert cache.misses() == {}


def test_statistics_are_the_directorys(directory: Path) -> None:
    with guardcache.open(directory) as cache:
        use(cache)
    with guardcache.open(directory) as cache:
        statistics = cache.statistics()
        assert (statistics["entries"], statistics["keys"], statistics["inserts"]) == (1, 1, 1)
        assert statistics["bytes"] > 0


def test_statistics_in_words_and_as_data(cache: Cache) -> None:
    use(cache)
    assert "hit" in cache.show_statistics()
    assert "# TYPE guardcache" in cache.show_statistics("prometheus")
    data = cache.statistics_data(label="train.py:2")
    assert json.dumps(data).count("guard_false") > 0
    with pytest.raises(ValueError, match="text or prometheus"):
        cache.show_statistics("yaml")  # type: ignore[arg-type]


def test_top(cache: Cache) -> None:
    use(cache)
    assert "train.py" in cache.top()
    assert "x.size(0) % 8 == 0" in cache.top("guards")
    assert "x.size(0) % 8 == 0" in json.dumps(cache.top_data("guards"))
    assert matmul().key in json.dumps(cache.top_data("keys", 1))


def test_the_report_stands_alone(cache: Cache) -> None:
    use(cache)
    page = cache.report()
    assert page.startswith("<!DOCTYPE html>") or page.startswith("<!doctype html>")
    assert "train.py:2 eval" in page
    assert "<script" not in page


# ---- the journal ----


def test_the_journal(cache: Cache) -> None:
    before = time.time_ns()
    use(cache)
    (miss,) = cache.journal(last=1, misses_only=True)
    assert (miss.kind, miss.reason, miss.label) == ("miss", Reason.GUARD_FALSE, "train.py:2 eval")
    assert (miss.hints, miss.sources, miss.why_asked) == ({"s0": "12"}, {"s0": "x.size(0)"}, "new")
    assert (miss.key, miss.graph_kind) == (matmul().key, "mycompiler/1")
    assert before - 60_000_000_000 < miss.at_ns < time.time_ns() + 60_000_000_000
    assert [entry.kind for entry in cache.journal(misses_only=True)] == ["miss", "miss"]
    assert {entry.kind for entry in cache.journal()} >= {"miss", "insert"}
    assert [entry.reason for entry in cache.journal(reason=Reason.NO_KEY)] == [Reason.NO_KEY]
    assert len(list(cache.journal(label="eval"))) == 1
    assert list(cache.journal(key="0000", namespace="other")) == []
    with pytest.raises(ValueError, match="no reason"):
        list(cache.journal(reason="bad luck"))


def test_past_misses(cache: Cache) -> None:
    use(cache)
    assert cache.explain_past().startswith("miss: guard_false")
    assert cache.explain_past(label="step").startswith("miss: no_key")
    assert [data["reason"] for data in cache.explain_past_data(2)] == ["guard_false", "no_key"]
    assert "<html" in cache.explain_past_page()
    assert "<html" in cache.explain_page(matmul(), {"s0": 12})
    assert cache.explain_past(reason="evicted") == ""


def test_without_a_journal_nothing_is_left_behind(directory: Path) -> None:
    with guardcache.open(directory, journal=False) as cache:
        use(cache)
        assert list(cache.journal()) == []


def test_unknown_options_are_told(cache: Cache, directory: Path) -> None:
    wrong: Any = {"lable": "x"}
    for call in (cache.journal, cache.explain_past, cache.show_statistics, cache.top, cache.report):
        with pytest.raises(TypeError, match=r"lable.*'label'"):
            list(call(**wrong))
    wrong = {"readonly": True}
    with pytest.raises(TypeError, match=r"readonly.*'read_only'"):
        guardcache.open(directory, **wrong)
