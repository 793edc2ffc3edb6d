"""Guards by themselves: compiled once, evaluated often."""

from __future__ import annotations

from collections.abc import Iterable
from typing import SupportsIndex

from guardcache import _native
from guardcache._checked import texts as checked_texts
from guardcache._classes import Record
from guardcache._values import Hints

_TRUE, _RAISES = 1, 2


class Verdict(Record):
    """What a guard list says about hints; true if all guards hold."""

    holds: bool
    guard: int
    """Index of the first guard that is false or raises; the number of guards if all hold."""
    exception: str = ""
    """The exception Python would raise (``ZeroDivisionError``), or empty."""
    message: str = ""

    def __bool__(self) -> bool:
        return self.holds


def make_verdict(native: tuple[int, int, str, str]) -> Verdict:
    truth, guard, exception, message = native
    return Verdict(truth == _TRUE, guard, exception if truth == _RAISES else "", message)


class Prepared:
    """Guards that are asked about the same names again and again, which are resolved once. Only integers, and only the
    truth: `Guards.evaluate` says which guard it was, and why.
    """

    __slots__ = ("_native", "names")

    def __init__(self, native: _native.Prepared, names: tuple[str, ...]) -> None:
        self._native = native
        self.names = names

    def holds(self, *values: SupportsIndex) -> bool:
        """Whether all guards hold for the values of the names, in their order. What raises doesn't hold."""
        return self._native.evaluate(values) == _TRUE

    def __repr__(self) -> str:
        return f"<guardcache.Prepared {', '.join(self.names)}>"


class Guards:
    """A compiled guard list. The language is Python's, without Python: guards/README.md is its reference.

    >>> guards = Guards(["L['t0'] % 8 == 0", "L['t0'] <= 1024"])
    >>> guards.evaluate({"t0": 12})
    Verdict(holds=False, guard=0, exception='', message='')
    """

    __slots__ = ("_native", "texts")

    def __init__(self, texts: Iterable[str]) -> None:
        """`ParseError` has the guard's number in the list as `line`, and the place in it as `column`."""
        self.texts = checked_texts("guards", texts)
        self._native = _native.Guards(self.texts)

    def evaluate(self, hints: Hints) -> Verdict:
        return make_verdict(self._native.evaluate(hints))

    def prepare(self, names: Iterable[str]) -> Prepared:
        """For values of these names, in this order. One that guards read and isn't given raises."""
        given = checked_texts("names", names)
        return Prepared(self._native.prepare(given), given)

    def program(self) -> str:
        """The register program, an instruction a line."""
        return self._native.show(0)

    def normal_form(self) -> str:
        """The normal form, a conjunct a line."""
        return self._native.show(1)

    def __repr__(self) -> str:
        return f"Guards({list(self.texts)!r})"
