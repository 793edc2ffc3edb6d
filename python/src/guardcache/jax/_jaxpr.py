"""A traced function as text from which everything that is computed can be read: what `jax.export` lowers.

JAX's own text of a jaxpr is for people: it shortens arrays, and has functions by their addresses. Here an array stands
by its hash, and a function, or anything else whose text may not say all, is refused (`UndescribedError`).
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from jax._src import core
from jax._src.dtypes import ExtendedDType
from jax._src.mesh import AbstractMesh, Mesh
from jax._src.named_sharding import UnspecifiedValue

# What says only how to differentiate, or what the user calls a function.
_NO_CONTENT = {
    "custom_jvp_call": {"jvp_jaxpr_fun", "symbolic_zeros"},
    "custom_vjp_call": {"fwd_jaxpr_thunk", "bwd", "out_trees", "symbolic_zeros"},
    "jit": {"name"},
}


# JAX's own random generators. They are tuples of functions, which have no text.
_GENERATORS = ("threefry2x32", "rbg", "unsafe_rbg")


class UndescribedError(ValueError):
    """The trace holds something that its text wouldn't say."""


def write(traced: Any) -> str:
    """`traced` is a `ClosedJaxpr`."""
    if traced.effects:
        effects = ", ".join(sorted(map(str, traced.effects)))
        raise UndescribedError(f"it has effects ({effects}), which an export can't carry to another process")
    return "\n".join(_Writer().closed(traced))


class _Writer:
    """Variables are numbered in the order in which they are met."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}

    def closed(self, traced: Any, indent: str = "") -> Iterator[str]:
        for variable, value in zip(traced.jaxpr.constvars, traced.consts, strict=True):
            yield f"{indent}const {self._new(variable)} = {_array(value)}"
        yield from self._open(traced.jaxpr, indent)

    def _open(self, jaxpr: Any, indent: str) -> Iterator[str]:
        yield f"{indent}in {' '.join(map(self._new, jaxpr.invars))}"
        for equation in jaxpr.eqns:
            yield from self._equation(equation, indent)
        yield f"{indent}out {' '.join(map(self._atom, jaxpr.outvars))}"

    def _equation(self, equation: Any, indent: str) -> Iterator[str]:
        name = equation.primitive.name
        arguments = " ".join(map(self._atom, equation.invars))
        plain, inner = [], []
        for key, value in sorted(equation.params.items()):
            if key in _NO_CONTENT.get(name, ()):
                continue
            traces = list(_traces(value))
            if traces:
                inner.append((key, traces))
            else:
                plain.append(f"{key}={_text(value, f'{key} of {name}')}")
        results = " ".join(map(self._new, equation.outvars))
        yield f"{indent}{results} = {name}[{', '.join(plain)}] {arguments}"
        for key, traces in inner:
            for trace in traces:
                yield f"{indent}  {key}:"
                yield from self.closed(trace, indent + "    ")

    def _new(self, variable: Any) -> str:
        name = self._names.setdefault(variable, f"v{len(self._names)}")
        return f"{name}:{variable.aval}"

    def _atom(self, atom: Any) -> str:
        if isinstance(atom, core.Literal):
            return f"{_array(atom.val)}:{atom.aval}"
        return self._names[atom]


def _traces(value: Any) -> Iterator[Any]:
    """A parameter's jaxprs, if it is one or a row of them."""
    if isinstance(value, core.ClosedJaxpr):
        yield value
    elif isinstance(value, core.Jaxpr):
        yield core.ClosedJaxpr(value, ())
    elif isinstance(value, tuple) and value and all(isinstance(item, (core.ClosedJaxpr, core.Jaxpr)) for item in value):
        for item in value:
            yield from _traces(item)


def _array(value: Any) -> str:
    found = np.asarray(value)
    if found.dtype == object:
        raise UndescribedError(f"a constant is a {type(value).__name__}")
    if found.ndim == 0:
        return f"{found.dtype}({found.item()!r})"
    return f"{found.dtype}{list(found.shape)}({hashlib.sha256(found.tobytes()).hexdigest()})"


def _row(value: Any, where: str) -> str:
    if getattr(value, "name", None) in _GENERATORS:
        return str(value.name)
    return f"({', '.join(_text(item, where) for item in value)})"


def _fields(value: Any, where: str) -> str:
    inside = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
    return f"{type(value).__name__}({', '.join(f'{name}={_text(item, where)}' for name, item in inside)})"


def _mesh(value: Any, where: str) -> str:
    if not value.empty:
        raise UndescribedError(f"{where} is a mesh of devices")
    return "no mesh"


_Say = Callable[[Any, str], str]

# The first that fits counts.
_SAID: tuple[tuple[Any, _Say], ...] = (
    (type(None), lambda value, where: "None"),
    (enum.Enum, lambda value, where: str(value)),
    ((bool, int, float, complex, str, bytes), lambda value, where: repr(value)),
    (np.dtype, lambda value, where: value.name),
    (type, lambda value, where: f"{value.__module__}.{value.__qualname__}"),
    ((np.ndarray, np.generic, jax.Array), lambda value, where: _array(value)),
    ((tuple, list), _row),
    (dict, lambda value, where: _row(sorted(value.items()), where)),
    ((core.AbstractValue, ExtendedDType), lambda value, where: str(value)),
    (UnspecifiedValue, lambda value, where: "unspecified"),
    ((Mesh, AbstractMesh), _mesh),
)


def _text(value: Any, where: str) -> str:
    for kinds, say in _SAID:
        if isinstance(value, kinds):
            return say(value, where)
    if core.is_symbolic_dim(value):
        return str(value)
    if dataclasses.is_dataclass(value) and not callable(value):
        return _fields(value, where)
    raise UndescribedError(f"{where} is a {type(value).__name__}")
