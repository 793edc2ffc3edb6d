"""Guards by themselves."""

from __future__ import annotations

import math

import pytest

import guardcache
from guardcache import Guards, Hint, Verdict


def test_all_must_hold() -> None:
    guards = Guards(["L['t0'] % 8 == 0", "2 <= L['t0'] and L['t0'] <= 1024"])
    assert guards.evaluate({"t0": 16})
    assert guards.evaluate({"t0": 12}) == Verdict(holds=False, guard=0)
    assert guards.evaluate({"t0": 2048}).guard == 1
    assert guards.evaluate({"t0": 16}).guard == 2


def test_none_always_hold() -> None:
    assert Guards([]).evaluate({})


@pytest.mark.parametrize(
    ("text", "hints"),
    [
        ("s0 // 3 == -3", {"s0": -7}),
        ("s0 * s0 == 85070591730234615847396907784232501249", {"s0": 2**63 - 1}),
        ("s0 == 2**200", {"s0": 2**200}),
        ("s0 / 2 == 0.5", {"s0": 1}),
        ("s0 == True", {"s0": True}),
        ("s0 == math.inf", {"s0": math.inf}),
        ("s0 != s0", {"s0": math.nan}),
        ("s0 < 0.1", {"s0": -0.5}),
    ],
)
def test_the_meaning_is_pythons(text: str, hints: dict[str, Hint]) -> None:
    assert eval(text, {"math": math}, dict(hints)) is True
    assert Guards([text]).evaluate(hints)


def test_what_python_would_raise() -> None:
    verdict = Guards(["L['t0'] % L['t1'] == 0"]).evaluate({"t0": 1, "t1": 0})
    assert not verdict
    assert verdict.exception == "ZeroDivisionError"
    assert Guards(["L['t9'] == 0"]).evaluate({"t0": 1}).exception == "KeyError"
    assert Guards(["s9 == 0"]).evaluate({}).exception == "NameError"


def test_syntax_errors_are_placed() -> None:
    with pytest.raises(guardcache.ParseError) as caught:
        Guards(["s0 == 1", "s0 % == 2"])
    assert caught.value.line == 2
    assert caught.value.column > 1


def test_listings() -> None:
    guards = Guards(["L['t0'] % 8 == 0"])
    assert guards.program()
    assert "8" in guards.normal_form()


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError):
        Guards([1])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        Guards(["s0 == 1"]).evaluate({"s0": "1"})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="null character"):
        Guards(["s0 == 1\0"])


# ---- numbers of other types ----


class Index:
    def __index__(self) -> int:
        return 16


class Real:
    def __float__(self) -> float:
        return 0.5


def test_hints_may_be_any_number() -> None:
    assert Guards(["s0 % 8 == 0"]).evaluate({"s0": Index()})
    assert Guards(["x < 1"]).evaluate({"x": Real()})
    numpy = pytest.importorskip("numpy")
    assert Guards(["s0 == 9", "x == 0.25"]).evaluate({"s0": numpy.int32(9), "x": numpy.float32(0.25)})
    for wrong in ("8", [8], object()):
        with pytest.raises(TypeError, match="a hint is"):
            Guards(["s0 % 8 == 0"]).evaluate({"s0": wrong})  # type: ignore[dict-item]


def test_guards_are_prepared() -> None:
    prepared = Guards(["s0 % 8 == 0", "s0 <= s1"]).prepare(["s0", "s1", "unused"])
    assert prepared.holds(8, 9, 0)
    assert prepared.holds(Index(), 16, 0)
    assert not prepared.holds(12, 16, 0)
    assert not Guards(["8 % s0 == 0"]).prepare(["s0"]).holds(0)
    with pytest.raises(ValueError, match="for every name"):
        prepared.holds(8)
    with pytest.raises(TypeError):
        prepared.holds("8", 9, 0)  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        prepared.holds(2**70, 0, 0)
    with pytest.raises(guardcache.ArgumentError):
        Guards([]).prepare(["s0", "s0"])
    many = [f"s{i}" for i in range(40)]
    assert Guards([f"{name} == {i}" for i, name in enumerate(many)]).prepare(many).holds(*range(40))
