"""What users and packages have taught numba: overloads, intrinsics, types of their own.

They take part in every compile, and numba doesn't say in which. So all of them together are a component of each key:
what each of them is for, what was said when it was registered, and the code, in the order in which they were registered
for the same thing. Numba's own count by its version.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from types import FunctionType
from typing import Any, NamedTuple

import numba
from numba.core import imputils, types
from numba.core.datamodel.registry import default_manager
from numba.core.pythonapi import _boxers, _unboxers
from numba.core.typing import templates
from numba.core.typing.typeof import typeof_impl

from guardcache._values import Value
from guardcache.numba import _packages
from guardcache.numba._unkeyed import Unkeyed
from guardcache.numba._values import Walk

_NUMBA = os.path.dirname(numba.__file__) + os.sep

# What is said of an overload besides its code, in numba's template of it.
_SAID = ("_attr", "_jit_options", "_strict", "prefer_literal", "metadata")

# Templates remember in these what they were asked.
_MEMORIES = frozenset(("_impl_cache", "_compiled_overloads", "_inline_overloads", "_overload_cache", "_abc_impl"))


# Of these there may be several with one name.
_OBJECTS = (type, FunctionType)


class Extension(NamedTuple):
    """Something that was registered."""

    target: Any
    """What it is for."""
    authors: tuple[Any, ...]
    """Functions and classes that aren't numba's."""
    said: tuple[Any, ...]

    @property
    def name(self) -> str:
        author = self.authors[0] if self.authors else self.target
        return _text(author)


class Extensions:
    """What was registered so far. Lists only grow: each is read from where it ended. Used under numba's lock."""

    def __init__(self) -> None:
        self._ends: dict[int, int] = {}
        self._maps: dict[int, dict[Any, Any]] = {}
        self._found: list[tuple[int, Extension]] = []
        """With the number of its list: numba looks through one after the other."""
        self._told: dict[int, Value] = {}

    def told(self, contexts: Iterable[Any]) -> dict[str, Value]:
        """By what they are for; `Unkeyed` where one can't be told, or reads something else than it did at first."""
        for number, held in enumerate(_registries(contexts)):
            for key, registered in self._new(held):
                self._found += [(number, extension) for extension in _foreign(key, registered)]
        self._found.sort(key=lambda found: found[0])
        by_target: dict[str, dict[int, list[Value]]] = {}
        for _, extension in self._found:
            value = _tell(extension)
            if self._told.setdefault(id(extension), value) != value:
                raise Unkeyed(f"extension {extension.name}: what it reads has changed since")
            target = extension.target
            same = by_target.setdefault(_target(target), {})
            same.setdefault(id(target) if isinstance(target, _OBJECTS) else 0, []).append({extension.name: value})
        return {name: _only(name, list(same.values())) for name, same in by_target.items()}

    def _new(self, held: Any) -> Iterator[tuple[Any, Any]]:
        if isinstance(held, Mapping):
            before = self._maps.get(id(held), {})
            if before != held:
                self._maps[id(held)] = dict(held)
                yield from ((key, value) for key, value in held.items() if before.get(key) is not value)
            return
        begin = self._ends.get(id(held), 0)
        if len(held) > begin:
            self._ends[id(held)] = len(held)
            yield from ((None, registered) for registered in islice(held, begin, None))


def _only(name: str, told: list[list[Value]]) -> Value:
    """What all of several objects that look the same are extended by: nobody can say which of them a function reads."""
    if any(one != told[0] for one in told):
        raise Unkeyed(f"extension: there are several {name.partition(' ')[0]}")
    return told[0]


def _registries(contexts: Iterable[Any]) -> Iterator[Any]:
    """The contexts have theirs only after the first compile; what `numba.extending` adds to is there from the start."""
    yield from (default_manager._handlers, _boxers.functions, _unboxers.functions, typeof_impl.registry)
    registries = [registry for context in contexts for registry in context._registries]
    for registry in dict.fromkeys((templates.builtin_registry, imputils.builtin_registry, *registries)):
        yield from (held for held in vars(registry).values() if isinstance(held, list))


# ---- what of a registered item isn't numba's ----


def _foreign(key: Any, registered: Any) -> Iterable[Extension]:
    if type(registered) is tuple:
        return _foreign_tuple(registered)
    if isinstance(registered, type):
        return _foreign_class(key, registered)
    authors = _authors(registered)
    return [Extension(key, authors, _cells(registered))] if authors else ()


def _foreign_tuple(registered: tuple[Any, ...]) -> Iterable[Extension]:
    """(value, its type), (code, function, types), (code, attribute, types) or (code, types)."""
    first, *others = registered
    typing = others[-1]
    if type(typing) is types.Function:
        return [found for template in typing.templates for found in _foreign(None, template)]
    about = typing if isinstance(typing, tuple) else (typing,)
    authors = _authors(first)
    if authors or any(map(_is_foreign, (*others, *about))):
        target = first if isinstance(typing, types.Type) else others[0] if len(others) > 1 else about
        return [Extension(target, authors, (*about, *_cells(first)))]
    return ()


def _foreign_class(key: Any, class_: type) -> Iterable[Extension]:
    """A template of typing, or a data model."""
    members = vars(class_)
    author = members.get("_overload_func") or members.get("_definition_func")
    target = members.get("key", key)
    if author is None:
        own = tuple(one for one in (class_, *class_.__bases__) if not _packages.is_known(one.__module__))
        if own or _is_foreign(target):
            reached = [cell for held in members.values() for cell in _cells(held)]
            return [Extension(target, own, tuple(reached))]
        return ()
    inline = getattr(getattr(class_, "_inline", None), "value", None)
    said = (*(members.get(name) for name in _SAID), inline)
    authors = _authors(getattr(author, "__func__", author))
    return [Extension(target, authors, said)] if authors else ()


def _authors(function: Any) -> tuple[Any, ...]:
    """The function itself, or what numba has wrapped in it."""
    if not isinstance(function, FunctionType):
        return ()
    if not _numbas(function):
        return (function,)
    wrapped = (cell.cell_contents for cell in function.__closure__ or ())
    return tuple(inner for inner in wrapped if isinstance(inner, FunctionType) and not _numbas(inner))


def _cells(held: Any) -> tuple[Any, ...]:
    """The words and types in the closures of numba's own function: which attribute it is for, and the like."""
    if not isinstance(held, FunctionType) or not _numbas(held):
        return ()
    found: list[Any] = []
    for cell in held.__closure__ or ():
        inner = cell.cell_contents
        found += _cells(inner) if isinstance(inner, FunctionType) else [inner] if isinstance(inner, (str, type)) else []
    return tuple(found)


def _is_foreign(about: Any) -> bool:
    """Whether a class or function that an item is about isn't numba's."""
    if isinstance(about, types.Type):
        about = type(about)
    return isinstance(about, (type, FunctionType)) and not _packages.is_known(about.__module__)


def _numbas(function: FunctionType) -> bool:
    """Some of numba's own are made by ``exec``, and have no module."""
    module: str | None = function.__module__
    return _packages.is_known(module) or (module is None and function.__code__.co_filename.startswith(_NUMBA))


# ---- telling it ----


def _tell(extension: Extension) -> Value:
    try:
        told = [_tell_author(author) for author in extension.authors]
        return {"code": told, "said": [_tell_said(said) for said in extension.said]}
    except Unkeyed as unkeyed:
        raise Unkeyed(f"extension {extension.name}: {unkeyed}") from None


def _tell_author(author: Any) -> Value:
    """A package's by its sources, and by what of its state can be told."""
    package = _packages.version(author.__module__)
    walk = Walk(roughly=package is not None)
    return [package, (_tell_class if isinstance(author, type) else Walk.function)(*(walk, author))]


def _tell_class(walk: Walk, class_: type) -> Value:
    """By its methods and attributes: a data model, a template of typing. What a type of numba's stands for is said
    elsewhere, in many places.
    """
    if issubclass(class_, types.Type):
        raise Unkeyed("a type that the program defines isn't known by its class")
    told: dict[str, Value] = {}
    for name, held in sorted(vars(class_).items()):
        if name == "key":
            told[name] = _text(held)
        elif not name.startswith("__") and name not in _MEMORIES:
            told[name] = walk.value(getattr(held, "__func__", held))
    return {"has": told, "bases": [_text(base) for base in class_.__bases__]}


def _tell_said(said: Any) -> Value:
    """An option, or what it is about."""
    if isinstance(said, Mapping):
        return {str(name): _tell_said(value) for name, value in said.items()}
    if isinstance(said, (list, tuple)):
        return [_tell_said(value) for value in said]
    if said is None or isinstance(said, (bool, int, float)):
        return repr(said)
    return Walk().function(said) if isinstance(said, FunctionType) else _text(said)


def _target(target: Any) -> str:
    """What it is for: a function of the program by its code as well, as where it is read."""
    name = _text(target)
    if not isinstance(target, FunctionType) or _packages.version(target.__module__) is not None:
        return name
    try:
        told = repr(Walk(roughly=True).function(target))
        return f"{name} {hashlib.sha256(told.encode()).hexdigest()[:16]}"
    except Unkeyed:
        return name


def _text(about: Any) -> str:
    """A name that means the same in each process."""
    if isinstance(about, (str, types.Type)):
        return str(about)
    if isinstance(about, tuple):
        return ", ".join(map(_text, about))
    name = getattr(about, "__qualname__", None) or getattr(about, "__name__", None)
    return f"{getattr(about, '__module__', None)}.{name}" if isinstance(name, str) else f"a {type(about).__name__}"
