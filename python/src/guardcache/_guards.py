"""Guards by themselves: compiled once, evaluated often."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from guardcache import _native
from guardcache._values import Hints

_TRUE, _RAISES = 1, 2


@dataclass(frozen=True, slots=True)
class Verdict:
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


class Guards:
    """A compiled guard list. The language is Python's, without Python: guards/README.md is its reference.

    >>> guards = Guards(["L['t0'] % 8 == 0", "L['t0'] <= 1024"])
    >>> guards.evaluate({"t0": 12})
    Verdict(holds=False, guard=0, exception='', message='')
    """

    __slots__ = ("_native", "texts")

    def __init__(self, texts: Iterable[str]) -> None:
        """`ParseError` has the guard's number in the list as `line`, and the place in it as `column`."""
        self.texts = tuple(texts)
        self._native = _native.Guards(self.texts)

    def evaluate(self, hints: Hints) -> Verdict:
        return make_verdict(self._native.evaluate(hints))

    def program(self) -> str:
        """The register program, an instruction a line."""
        return self._native.show(0)

    def normal_form(self) -> str:
        """The normal form, a conjunct a line."""
        return self._native.show(1)

    def __repr__(self) -> str:
        return f"Guards({list(self.texts)!r})"
