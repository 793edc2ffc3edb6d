"""A traced function as text from which everything that is computed can be read: what `jax.export` lowers.

JAX's own text of a jaxpr is for people: it shortens arrays, and has functions by their addresses. Here an array stands
by its hash, and a function, or anything else whose text may not say all, is refused.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import numpy as np
from jax._src import core
from jax._src.dtypes import ExtendedDType
from jax._src.mesh import AbstractMesh, Mesh
from jax._src.named_sharding import UnspecifiedValue

from guardcache.jax._origin import Generator, check_primitive, name_of_generator
from guardcache.jax._refusal import UndescribedError

# What says only how to differentiate, or what the user calls a function.
_NO_CONTENT = {
    "custom_jvp_call": {"jvp_jaxpr_fun", "symbolic_zeros"},
    "custom_vjp_call": {"fwd_jaxpr_thunk", "bwd", "out_trees", "symbolic_zeros"},
    "jit": {"name"},
}


# How the whole is jitted: `inline` and the name say nothing about what an export holds.
_OPTIONS_NO_CONTENT = {"jaxpr", "name", "inline"}


def write(traced: Any, options: Mapping[str, Any] | None = None) -> str:
    """`traced` is a `ClosedJaxpr`, `options` are those it is jitted with: shardings, donations, ..."""
    if traced.effects:
        effects = ", ".join(sorted(map(str, traced.effects)))
        raise UndescribedError(f"it has effects ({effects}), which an export can't carry to another process")
    counting = sorted((name, value) for name, value in (options or {}).items() if name not in _OPTIONS_NO_CONTENT)
    head = [f"{name}={_text(value, f'{name} of jit')}" for name, value in counting]
    return "\n".join([*head, *_Writer().closed(traced)])


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
        check_primitive(equation.primitive)
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
        return f"{name}:{text_of_aval(variable.aval)}"

    def _atom(self, atom: Any) -> str:
        if isinstance(atom, core.Literal):
            return f"{_array(atom.val)}:{text_of_aval(atom.aval)}"
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


def text_of_aval(aval: Any) -> str:
    """Its own text, if that says all: a mesh of devices has more to it."""
    mesh = getattr(getattr(aval, "sharding", None), "mesh", None)
    if mesh is not None and not mesh.empty:
        raise UndescribedError("a value is spread over a mesh of devices")
    return _with_generator(getattr(aval, "dtype", None), str(aval))


def _with_generator(dtype: Any, text: str) -> str:
    """Keys say by a tag which generator they are for; others may have the same."""
    if not isinstance(dtype, ExtendedDType):
        return text
    generator = getattr(dtype, "_impl", None)
    if generator is None:
        raise UndescribedError(f"a value has the type {dtype}")
    return f"{text} of {name_of_generator(generator)}"


def check_sharding(value: Any) -> None:
    """An array, or what stands for one, is to be on one device, in the memory where arrays are."""
    sharding = getattr(value, "sharding", None)
    if sharding is None:
        return
    if not isinstance(sharding, jax.sharding.SingleDeviceSharding):
        raise UndescribedError(f"an array has a {type(sharding).__name__}")
    device: Any = next(iter(sharding.device_set))
    if sharding.memory_kind not in (None, device.default_memory().kind):
        raise UndescribedError(f"an array is in the memory {sharding.memory_kind}")


def _array(value: Any) -> str:
    if isinstance(value, jax.Array):
        check_sharding(value)
        dtype: Any = value.dtype
        if isinstance(dtype, ExtendedDType):
            return f"{_with_generator(dtype, 'key')} {_array(jax.random.key_data(value))}"
    found = np.asarray(value)
    if found.dtype == object:
        raise UndescribedError(f"a constant is a {type(value).__name__}")
    content = found.tobytes()
    # A number's own text wouldn't tell one NaN from another.
    said = f"{found.item()!r} {content.hex()}" if found.ndim == 0 else hashlib.sha256(content).hexdigest()
    return f"{found.dtype}{list(found.shape)}({said})"


def _row(value: Any, where: str) -> str:
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
    ((bool, int, str, bytes), lambda value, where: repr(value)),
    (np.dtype, lambda value, where: value.name),
    (type, lambda value, where: f"{value.__module__}.{value.__qualname__}"),
    ((float, complex, np.ndarray, np.generic, jax.Array), lambda value, where: _array(value)),
    (Generator, lambda value, where: name_of_generator(value)),
    ((tuple, list), _row),
    (dict, lambda value, where: _row(sorted(value.items()), where)),
    (core.AbstractValue, lambda value, where: text_of_aval(value)),
    (ExtendedDType, lambda value, where: _with_generator(value, str(value))),
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
