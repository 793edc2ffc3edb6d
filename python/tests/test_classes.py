"""Classes that are made quickly behave as Python's own."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import typing
from typing import Any

import pytest

from guardcache._classes import NamedTuple, Record, TypedDict, field


class Ours(Record):
    a: int
    b: str = "b"
    c: dict[str, int] = field(default_factory=dict)
    secret: str | None = field(default=None, repr=False)


class OursMore(Ours):
    d: int = 4


@dataclasses.dataclass(frozen=True, slots=True)
class Theirs:
    a: int
    b: str = "b"
    c: dict[str, int] = dataclasses.field(default_factory=dict)
    secret: str | None = dataclasses.field(default=None, repr=False)


class OurTuple(NamedTuple):
    a: int
    b: str = "b"

    @property
    def twice(self) -> int:
        return self.a * 2


class TheirTuple(typing.NamedTuple):
    a: int
    b: str = "b"

    @property
    def twice(self) -> int:
        return self.a * 2


PAIRS: list[tuple[Any, Any]] = [(Ours, Theirs), (OurTuple, TheirTuple)]

CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {}),
    ((1, "x"), {}),
    ((), {"a": 1}),
    ((1,), {"b": "y"}),
    ((), {}),
    ((1, "x"), {"a": 2}),
    ((1,), {"z": 3}),
    ((1, 2, 3, 4, 5), {}),
]


def outcome(kind: Any, values: tuple[Any, ...], named: dict[str, Any]) -> str:
    try:
        made = kind(*values, **named)
    except TypeError:
        return "TypeError"
    return repr(made).replace(kind.__name__, "", 1)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
@pytest.mark.parametrize(("values", "named"), CALLS)
def test_they_are_called_alike(ours: Any, theirs: Any, values: tuple[Any, ...], named: dict[str, Any]) -> None:
    assert outcome(ours, values, named) == outcome(theirs, values, named)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_they_are_equal_and_immutable_alike(ours: Any, theirs: Any) -> None:
    for kind in (ours, theirs):
        one, same, other = kind(1), kind(a=1), kind(2)
        assert one == same != other
        assert one.b == "b"
        assert pickle.loads(pickle.dumps(one)) == one == copy.copy(one)
        assert type(copy.deepcopy(one)) is kind
        with pytest.raises(AttributeError):
            one.a = 3
        # Python 3.11's dataclasses with slots trip over themselves here.
        with pytest.raises((AttributeError, TypeError)):
            one.unknown = 3
        match one:
            case kind(a, b):
                assert (a, b) == (1, "b")
    assert ours.__match_args__ == theirs.__match_args__


def test_records() -> None:
    assert Ours(1).c is not Ours(1).c
    assert hash(OurTuple(1)) == hash(OurTuple(1))
    assert "hidden" not in repr(Ours(1, secret="hidden"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        Ours(1).a = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del Ours(1).a
    assert OursMore(1, d=5) == OursMore(1, "b", {}, None, 5)
    assert OursMore(1) != Ours(1)
    assert repr(OursMore(1)) == "OursMore(a=1, b='b', c={}, d=4)"
    assert not hasattr(Ours(1), "__dict__")


def test_named_tuples() -> None:
    one = OurTuple(1)
    a, b = one
    assert (a, b, one.twice, len(one)) == (1, "b", 2, 2)
    assert one == (1, "b")
    assert one._replace(b="c") == OurTuple(1, "c")
    assert OurTuple._make([1, "d"]) == (1, "d")
    assert one._asdict() == {"a": 1, "b": "b"}
    assert OurTuple._fields == ("a", "b")
    assert isinstance(one, tuple)


class Asked(TypedDict, total=False):
    a: int


class AskedMore(Asked, total=False):
    b: str


def test_dictionaries_of_options() -> None:
    assert list(AskedMore.__annotations__) == ["a", "b"]
    assert list(Asked.__annotations__) == ["a"]
    asked: AskedMore = {"a": 1}
    assert AskedMore(a=1) == asked
