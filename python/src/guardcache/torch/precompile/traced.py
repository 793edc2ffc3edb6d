"""The functions that Dynamo traced into: how to find them in another process, and what they are there.

A traced function's code is found by its module and qualified name, as it was here. What it is there is its code, that
of the functions which wrap it, and what the global names mean that they read: Dynamo guards those of a program, but
not those of PyTorch's modules.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from guardcache.torch.precompile.content import Contents, UnprovableError, code_digest, codes_in, digest

# The file of what Python has built in.
_FROZEN = "<frozen "

_RESUMED = "torch_dynamo_resume_in"

# Wrappers around wrappers.
_DEPTH_MAX = 8


def places(codes: Iterable[types.CodeType], own: types.CodeType, looked_at: Contents) -> list[str]:
    """Where the codes are found: ``module:Class.function``. `UnprovableError` if one isn't to be found.

    `own` is the frame's code, which the key has with all that is defined in it; `looked_at` has the codes of functions
    and classes that guards look at.
    """
    known = {id(code) for code in codes_in(own)} | looked_at.codes.keys()
    by_file = _modules_by_file()
    found: dict[str, None] = {}
    for code in codes:
        if id(code) in known or code.co_name.startswith(_RESUMED):
            continue
        frozen = [code.co_filename[len(_FROZEN) : -1]] if code.co_filename.startswith(_FROZEN) else []
        place = _place(code, [*frozen, *by_file.get(code.co_filename, ())])
        if place is None:
            raise UnprovableError(f"{code.co_qualname} was traced and can't be found by its name")
        found[place] = None
    return sorted(found)


def describe(place: str, contents: Contents) -> str:
    """What is at the place now."""
    functions = list(_functions(_find(place)))
    return digest(text for function in functions for text in _of_function(function)) if functions else "absent"


def _modules_by_file() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__dict__", {}).get("__file__")
        if isinstance(file, str):
            found.setdefault(file, []).append(name)
    return found


def _place(code: types.CodeType, modules: Iterable[str]) -> str | None:
    for module in modules:
        place = f"{module}:{code.co_qualname.partition('.<locals>')[0]}"
        if any(code is inner for function in _functions(_find(place)) for inner in codes_in(function.__code__)):
            return place
    return None


def _find(place: str) -> Any:
    module, _, names = place.partition(":")
    found: Any = sys.modules.get(module)
    for name in names.split("."):
        owners = found.__mro__ if isinstance(found, type) else (found,)
        found = next((vars(owner)[name] for owner in owners if name in getattr(owner, "__dict__", {})), None)
    return found


def _functions(value: Any, depth: int = 0) -> Iterator[types.FunctionType]:
    """The function that it is, and those that it wraps."""
    if depth > _DEPTH_MAX:
        return
    inner: list[Any]
    if isinstance(value, (staticmethod, classmethod, types.MethodType)):
        inner = [value.__func__]
    elif isinstance(value, property):
        inner = [value.fget, value.fset, value.fdel]
    elif isinstance(value, functools.partial):
        inner = [value.func]
    elif isinstance(value, types.FunctionType):
        yield value
        inner = [_content(cell) for cell in value.__closure__ or ()]
        inner.append(getattr(value, "__wrapped__", None))
    else:
        inner = [getattr(value, "__wrapped__", None)] if callable(value) and not isinstance(value, type) else []
    for each in inner:
        if each is not None:
            yield from _functions(each, depth + 1)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _of_function(function: types.FunctionType) -> Iterator[str]:
    yield code_digest(function.__code__)
    names = {name for code in codes_in(function.__code__) for name in code.co_names}
    world = function.__globals__
    for name in sorted(names & world.keys()):
        value = world[name]
        yield f"{name}: {_shallow(value)}"
        if isinstance(value, types.ModuleType):
            for inner in sorted(names & vars(value).keys()):
                yield f"{name}.{inner}: {_shallow(vars(value)[inner])}"


def _shallow(value: Any) -> str:
    if isinstance(value, types.FunctionType):
        return f"function {code_digest(value.__code__)}"
    if isinstance(value, types.ModuleType):
        return f"module {value.__name__}"
    if isinstance(value, (type, types.BuiltinFunctionType)):
        return f"{type(value).__name__} {value.__module__}.{value.__qualname__}"
    return f"a {type(value).__name__}"
