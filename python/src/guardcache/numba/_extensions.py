"""What users and packages have taught numba: overloads, intrinsics, types of their own.

They take part in every compile, and numba doesn't say in which. So all of them together are a component of each key.
Numba's own count by its version.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from types import FunctionType
from typing import Any

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


class Extensions:
    """What was registered so far. Lists only grow: each is read from where it ended. Used under numba's lock."""

    def __init__(self) -> None:
        self._ends: dict[int, int] = {}
        self._seen: dict[int, list[int]] = {}
        self._found: dict[int, Any] = {}
        self._told: dict[int, Value] = {}

    def told(self, contexts: Iterable[Any]) -> dict[str, Value]:
        """By name; `Unkeyed` where one can't be told, or reads something else than it did at first."""
        for registered in self._new(contexts):
            for extension in _foreign(registered):
                self._found[id(extension)] = extension
        told: dict[str, Value] = {}
        for identity, extension in self._found.items():
            name = f"{extension.__module__}.{extension.__qualname__}"
            value = _tell(extension, name)
            if self._told.setdefault(identity, value) != value:
                raise Unkeyed(f"extension {name}: what it reads has changed since")
            while told.get(name, value) != value:
                name += "'"
            told[name] = value
        return told

    def _new(self, contexts: Iterable[Any]) -> Iterator[Any]:
        for held in _registries(contexts):
            yield from self._replaced(held) if isinstance(held, Mapping) else self._appended(held)

    def _appended(self, held: list[Any]) -> Iterator[Any]:
        begin = self._ends.get(id(held), 0)
        self._ends[id(held)] = len(held)
        return islice(held, begin, None)

    def _replaced(self, held: Mapping[Any, Any]) -> Iterable[Any]:
        seen = [id(value) for value in held.values()]
        if self._seen.get(id(held)) == seen:
            return ()
        self._seen[id(held)] = seen
        return held.values()


def _registries(contexts: Iterable[Any]) -> Iterator[Any]:
    """The contexts have theirs only after the first compile; what `numba.extending` adds to is there from the start."""
    registries = [registry for context in contexts for registry in context._registries]
    for registry in dict.fromkeys((templates.builtin_registry, imputils.builtin_registry, *registries)):
        yield from (held for held in vars(registry).values() if isinstance(held, list))
    yield from (default_manager._handlers, _boxers.functions, _unboxers.functions, typeof_impl.registry)


def _foreign(registered: Any) -> Iterable[Any]:
    """What of a registered item isn't numba's: what it was made from, or what numba has wrapped in it."""
    if type(registered) is tuple:
        typing = registered[-1]
        if type(typing) is types.Function:
            return [found for template in typing.templates for found in _foreign(template)]
        registered = registered[0]
    if isinstance(registered, type):
        author = registered.__dict__.get("_overload_func") or registered.__dict__.get("_definition_func")
        if author is None:
            about = (registered, *registered.__bases__, registered.__dict__.get("key"))
            return [class_ for class_ in about if isinstance(class_, type) and not _KNOWN[class_.__module__]]
        registered = author.__func__ if isinstance(author, staticmethod) else author
    if not isinstance(registered, FunctionType):
        return ()
    if not _numbas(registered):
        return (registered,)
    wrapped = (cell.cell_contents for cell in registered.__closure__ or ())
    return [inner for inner in wrapped if isinstance(inner, FunctionType) and not _numbas(inner)]


class _Known(dict[str | None, bool]):
    """Of modules: whether what is in them goes by a version that every key has anyway."""

    def __missing__(self, module: str | None) -> bool:
        package = (_packages.version(module) or "").partition(" ")[0]
        known = self[module] = package in ("python", "numba", "numpy", "llvmlite")
        return known


_KNOWN = _Known()


def _numbas(function: FunctionType) -> bool:
    """Some of numba's own are made by ``exec``, and have no module."""
    module: str | None = function.__module__
    return _KNOWN[module] or (module is None and function.__code__.co_filename.startswith(_NUMBA))


def _tell(extension: Any, name: str) -> Value:
    package = _packages.version(extension.__module__)
    if package is not None:
        return package
    try:
        return _TELL[isinstance(extension, type)](extension)
    except Unkeyed as unkeyed:
        raise Unkeyed(f"extension {name}: {unkeyed}") from None


def _tell_function(function: FunctionType) -> Value:
    return Walk().function(function)


def _tell_class(class_: type) -> Value:
    """By its methods and attributes: a data model, a template of typing. What a type of numba's stands for is said
    elsewhere, in many places.
    """
    if issubclass(class_, types.Type):
        raise Unkeyed("a type that the program defines isn't known by its class")
    walk = Walk()
    told: dict[str, Value] = {
        name: walk.value(getattr(held, "__func__", held))
        for name, held in sorted(vars(class_).items())
        if not name.startswith("__") and name != "_abc_impl"
    }
    return {"has": told, "bases": [f"{base.__module__}.{base.__qualname__}" for base in class_.__bases__]}


_TELL: dict[bool, Callable[[Any], Value]] = {False: _tell_function, True: _tell_class}
