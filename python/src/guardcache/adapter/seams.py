"""Seams: places in somebody else's code, checked before they are replaced.

An adapter replaces private functions, which any release may move. It writes down each as a `Seam`: where it is, what
it takes, and who calls it. `check` compares that with the project that is imported now, so that no list of versions
has to decide; `Patches` then makes replacements, all of them or none, and takes them back.

>>> Seam("os.path:join", "function", "a, *p").moved() is None
True
>>> print(Seam("os.path:join", "function", "a, b").moved())
os.path:join takes (a, *p), not (a, b)
"""

from __future__ import annotations

import importlib
import inspect
import logging
from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import Any

from guardcache._classes import NamedTuple

log = logging.getLogger("guardcache.adapter")

_ABSENT = object()

_STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}

# How the dictionary of a class or module holds a function.
_HELD: dict[str, Callable[[Any], bool]] = {
    "function": inspect.isfunction,
    "static": lambda held: isinstance(held, staticmethod),
    "class": lambda held: isinstance(held, classmethod),
    "cached": lambda held: inspect.isfunction(inspect.unwrap(held)) and hasattr(held, "cache_info"),
    "callable": callable,
    "value": lambda held: True,
}


class Seam(NamedTuple):
    """A place in somebody else's code that an adapter replaces or calls."""

    where: str
    """``module:Class.attribute``; several by ``|``, of which the first that is there counts."""
    held: str = "value"
    """How its owner holds it: ``function``, ``static``, ``class`` (a class method), ``cached`` (by `lru_cache`),
    ``callable`` (any, a class too), ``value``."""
    takes: str | None = None
    """The names of its parameters as in a signature, without defaults. With ``...`` at the end more may follow: right
    for what is passed on. None where it isn't called."""
    used_in: str = ""
    """A function that must mention it (``module:Class.function``, several by ``|``): what nobody calls any more would
    be replaced in vain."""

    def moved(self) -> str | None:
        """What is different here from what the adapter knows, in a sentence; None if nothing is. `ValueError`: the
        seam itself is written wrongly.
        """
        if self.held not in _HELD:
            raise ValueError(f"what is held is {', '.join(_HELD)}, not {self.held!r}")
        place = next(filter(None, map(_place, self.where.split("|"))), None)
        if place is None:
            return f"{self.where} isn't there"
        held = _held(*place)
        if not _HELD[self.held](held):
            return f"{self.where} is a {type(held).__name__}, not a {self.held}"
        if self.takes is not None and not _fits(found := _parameters(held), self.takes):
            return f"{self.where} takes ({found}), not ({self.takes})"
        name = place[1]
        if self.used_in and not any(name in _mentioned(user) for user in self.used_in.split("|")):
            return f"{self.where} isn't used in {self.used_in} any more"
        return None


class Part(NamedTuple):
    """Something that works, or is left out, as a whole."""

    name: str
    what: str
    """For people: ``Inductor's graph cache``."""
    seams: tuple[Seam, ...]
    needs: tuple[str, ...] = ()
    """Names of other parts without which this one makes no sense."""

    def moved(self) -> list[str]:
        return [moved for seam in self.seams if (moved := seam.moved()) is not None]


def check(parts: Iterable[Part]) -> dict[str, list[str]]:
    """What has moved under each part, by its name: nothing where it can be used."""
    return {part.name: part.moved() for part in parts}


def find(where: str) -> Any:
    """The object at the first of the places that is there; `LookupError` if none is."""
    for place in map(_place, where.split("|")):
        if place is not None:
            return getattr(*place)
    raise LookupError(f"{where} isn't there")


def _place(where: str) -> tuple[Any, str] | None:
    """Owner and name of what is at ``module:Class.attribute``; None if it isn't there."""
    module, _, names = where.partition(":")
    if not module or not names:
        raise ValueError(f"a place is module:name, not {where!r}")
    *outer, name = names.split(".")
    try:
        owner: Any = importlib.import_module(module)
        for step in outer:
            owner = getattr(owner, step)
        return (owner, name) if hasattr(owner, name) else None
    except Exception:  # a module may raise anything while it is imported
        return None


def _held(owner: Any, name: str) -> Any:
    """As the owner's dictionary has it, since `getattr` hides whether a method is static; of a class, or its bases."""
    for holder in owner.__mro__ if isinstance(owner, type) else (owner,):
        if name in vars(holder):
            return vars(holder)[name]
    return getattr(owner, name)


def _function(held: Any) -> Any:
    return held.__func__ if isinstance(held, (staticmethod, classmethod)) else held


def _parameters(held: Any) -> str:
    """``cls, key, *, value``."""
    texts: list[str] = []
    starred = False
    for parameter in inspect.signature(_function(held)).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            texts.append("*")
        starred |= parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        texts.append(_STARS.get(parameter.kind, "") + parameter.name)
    return ", ".join(texts)


def _fits(found: str, wanted: str) -> bool:
    if not wanted.endswith("..."):
        return found == wanted
    start = wanted.removesuffix("...").removesuffix(", ")
    return not start or found == start or found.startswith(start + ",")


def _mentioned(user: str) -> set[str]:
    """The names that a function's code, and the functions within it, look up."""
    place = _place(user)
    if place is None:
        return set()
    code = getattr(inspect.unwrap(_function(_held(*place))), "__code__", None)
    return set() if code is None else {name for inner in _codes(code) for name in inner.co_names}


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _shown(owner: Any) -> str:
    return str(getattr(owner, "__name__", owner))


class Patches:
    """Replacements to make together. Not thread-safe by itself: the adapter holds its lock around it."""

    def __init__(self) -> None:
        self._wanted: list[tuple[Any, str, Any]] = []
        self._replaced: list[tuple[Any, str, Any, Any]] = []

    def set(self, owner: Any, name: str, value: Any, *, new: bool = False) -> None:
        """Plans that `owner` itself has this attribute in place of the one it has, or inherits, now. `AttributeError`
        if there is none, unless it is a `new` one.
        """
        if not new and not hasattr(owner, name):
            raise AttributeError(f"{_shown(owner)} has no {name} to replace")
        self._wanted.append((owner, name, value))

    def apply(self) -> None:
        """Makes what is planned; what goes wrong is raised after all is as it was."""
        try:
            for owner, name, value in self._wanted:
                original = vars(owner).get(name, _ABSENT)
                setattr(owner, name, value)
                self._replaced.append((owner, name, value, original))
        except BaseException:
            self.undo()
            raise

    def undo(self) -> None:
        """Puts back what was replaced. What somebody else has replaced since is left as it is, with a warning."""
        while self._replaced:
            owner, name, value, original = self._replaced.pop()
            if vars(owner).get(name, _ABSENT) is not value:
                log.warning("%s of %s isn't put back: somebody else has replaced it since", name, _shown(owner))
            elif original is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
