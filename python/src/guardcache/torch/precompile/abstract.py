"""Which classes abstract ones take for their subclasses without their saying so: what `register` was given.

Any library may register with the abstract classes of Python itself, and does so when it is imported, which differs from
process to process and says nothing to most. So with those it is the registered class that tells; all other abstract
classes tell what they have registered.
"""

from __future__ import annotations

import _abc  # type: ignore[import-not-found]
import abc
import collections.abc
import numbers
from collections.abc import Iterable

_PYTHONS_OWN = frozenset(
    found
    for module in (collections.abc, numbers)
    for name in module.__all__
    if isinstance(found := getattr(module, name), abc.ABCMeta)
)


def registered(roots: Iterable[type]) -> dict[type, list[str]]:
    """Each class that these, or those below them, have registered -> with which."""
    found: dict[type, list[str]] = {}
    seen: set[type] = set()
    todo = list(roots)
    while todo:
        each = todo.pop()
        if each in seen or not isinstance(each, abc.ABCMeta):
            continue
        seen.add(each)
        entered = [cls for reference in _abc._get_dump(each)[0] if (cls := reference()) is not None]
        for cls in entered:
            found.setdefault(cls, []).append(f"{each.__module__}.{each.__qualname__}")
        below: list[type] = type.__subclasses__(each)  # type: ignore[arg-type]
        todo += [*below, *entered]
    return found


def registered_by(cls: type) -> list[type]:
    """What one abstract class has registered, unless it is Python's own."""
    if cls in _PYTHONS_OWN or not isinstance(cls, abc.ABCMeta):
        return []
    return list(registered([cls]))


def registered_with_pythons() -> dict[type, list[str]]:
    return registered(_PYTHONS_OWN)
