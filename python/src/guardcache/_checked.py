"""Arguments that C would misread are refused: it takes -1 for a number without end, and "no" for true."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import SupportsIndex

SECOND_NS = 1_000_000_000

# Three hundred years: what is longer, infinity too, is for ever. Two of them still fit into C's 64 bits.
FOREVER_NS = 2**63 - 1
_FOREVER_SECONDS = FOREVER_NS / SECOND_NS

SIZE_MAX = 2**63 - 1
INT_MAX = 2**31 - 1


def in_ns(option: str, seconds: float) -> int:
    """Nanoseconds, of which C takes 0 for the default: what is shorter than one is one."""
    try:
        if 1e-9 <= seconds < _FOREVER_SECONDS:
            return int(seconds * SECOND_NS)
        refused = not seconds >= 0  # NaN, too
    except TypeError:
        raise TypeError(f"{option} is a number of seconds, not {seconds!r}") from None
    if refused:
        raise ValueError(f"{option} is a number of seconds from 0, not {seconds!r}")
    return FOREVER_NS if seconds > 1 else int(seconds > 0)


def whole(option: str, number: SupportsIndex, most: int = SIZE_MAX) -> int:
    try:
        found = operator.index(number)
    except TypeError:
        raise TypeError(f"{option} is a whole number, not {number!r}") from None
    if not 0 <= found <= most:
        raise ValueError(f"{option} is a whole number from 0 to {most}, not {found}")
    return found


def flag(option: str, value: object) -> bool:
    if value not in (True, False):
        raise TypeError(f"{option} is True or False, not {value!r}")
    return bool(value)


def texts(option: str, given: Iterable[str]) -> tuple[str, ...]:
    """A text is a sequence of texts, too, but nobody means its letters."""
    if isinstance(given, str):
        raise TypeError(f"{option} are a list of texts, not one of them: [{given!r}]?")
    return tuple(given)


def function(option: str, value: object) -> None:
    """Callable, or None."""
    if value is not None and not callable(value):
        raise TypeError(f"{option} is called: {value!r} can't be")
