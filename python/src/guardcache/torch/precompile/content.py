"""What functions, classes and values are, as text that is equal in any two processes exactly where they are equal.

Code is its bytes, constants and names, without file and line; a function is its code with what it closes over; a class
is all that it and its bases define. Values that aren't plain are told by their class: whatever Dynamo reads of them it
guards by itself.
"""

from __future__ import annotations

import builtins
import dis
import enum
import hashlib
import inspect
import marshal
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

from guardcache.torch.precompile import abstract

PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))
_TORCH_PLAIN = (torch.dtype, torch.device, torch.layout, torch.memory_format)
BUILTIN = (
    types.BuiltinFunctionType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.MethodWrapperType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)
_FUNCTION_HOLDERS = (staticmethod, classmethod)

# An attribute of functions that Dynamo wraps: an address.
_WRAPPER_ID = "_torchdynamo_wrapper_id"

# One of `torch.compiler.assume_constant_result`.
_CONSTANT = "_dynamo_marked_constant"

# Of containers within containers.
_DEPTH_MAX = 6

# What a class has besides its definition, different from process to process.
_NOT_DEFINED = frozenset(["__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__", "_abc_impl"])


class UnprovableError(Exception):
    """Nothing says whether a value is the same in another process."""


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code and those of the functions that are defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_in(constant)


class Contents:
    """Digests, each computed once: make a new one for each look at the process, which may change in between."""

    def __init__(self) -> None:
        self._classes: dict[type, str] = {}
        self._definitions: dict[type, str] = {}
        self._functions: dict[int, tuple[Any, str]] = {}
        self._registered: dict[type, list[str]] | None = None
        self.codes: dict[int, types.CodeType] = {}
        """Of all functions that were looked at, by identity: Python's own equality of codes is too wide."""

    def of(self, value: Any, depth: int = 0) -> str:
        """Of any value."""
        if isinstance(value, enum.Enum):
            return f"{_name(type(value))}.{value.name}={self.of(value.value, depth + 1)}"
        kind = type(value)
        if kind in PLAIN or kind in _TORCH_PLAIN:
            return f"{kind.__name__} {value!r}"
        if kind in (tuple, list, torch.Size):
            return f"{kind.__name__} [{self._all(value, depth)}]"
        if kind in (set, frozenset):
            return f"{kind.__name__} {{{', '.join(sorted(self.of(each, depth + 1) for each in value))}}}"
        if kind is dict:
            return f"dict {{{self._all((part for item in value.items() for part in item), depth)}}}"
        known = self.identity(value, depth)
        return known if known is not None else self.unknown(value)

    def unknown(self, value: Any) -> str:
        """Of a value that isn't told by what it holds."""
        return f"a {_name(type(value))}"

    def identity(self, value: Any, depth: int = 0) -> str | None:
        """Of what is one and the same wherever a program refers to it; None if it isn't of such a kind."""
        if isinstance(value, types.ModuleType):
            return f"module {value.__name__}"
        if isinstance(value, types.CodeType):
            return f"code {code_digest(value)}"
        if isinstance(value, type):
            return self.of_class(value)
        if isinstance(value, types.FunctionType):
            return self.of_function(value, depth)
        if isinstance(value, types.MethodType):
            return f"method {self.identity(value.__func__, depth)} of {self.of(value.__self__, depth + 1)}"
        if isinstance(value, BUILTIN):
            return _builtin(value)
        if isinstance(value, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
            return f"operator {value}"
        if isinstance(value, enum.Enum) or type(value) in PLAIN or type(value) in _TORCH_PLAIN:
            return self.of(value, depth)
        if isinstance(value, property):
            return f"property {self._all((value.fget, value.fset, value.fdel), depth)}"
        if isinstance(value, _FUNCTION_HOLDERS):
            return f"{type(value).__name__} {self.of(value.__func__, depth + 1)}"
        return None

    def of_function(self, function: types.FunctionType, depth: int = 0) -> str:
        """Its code, its defaults, its attributes and what it closes over."""
        if depth > _DEPTH_MAX:
            return f"function {code_digest(function.__code__)}"
        if getattr(function, _CONSTANT, False):
            raise UnprovableError(f"{function.__qualname__}, whose result Dynamo takes for a constant")
        known = self._functions.get(id(function))
        if known is None:
            self.codes.update((id(code), code) for code in codes_in(function.__code__))
            self._functions[id(function)] = known = (function, f"function {function.__qualname__}, within itself")
            parts = [
                code_digest(function.__code__),
                self.of(function.__defaults__, depth + 1),
                self.of(function.__kwdefaults__, depth + 1),
                self.of({name: value for name, value in vars(function).items() if name != _WRAPPER_ID}, depth + 1),
                *(self._of_cell(cell, depth + 1) for cell in function.__closure__ or ()),
                *(f"own {name}" for name in shadowed(function.__code__, function.__globals__)),
            ]
            known = (function, f"function {digest(parts)}")
            self._functions[id(function)] = known
        return known[1]

    def of_class(self, cls: type) -> str:
        """What it and its bases define. Which of it is used isn't asked."""
        if cls.__module__ == "builtins":
            return f"class {cls.__qualname__}"
        if cls not in self._classes:
            self._classes[cls] = f"class {_name(cls)}, within itself"
            parts = [self._definition(base) for base in cls.__mro__]
            self._classes[cls] = f"class {_name(cls)} {digest(parts)}"
        return self._classes[cls]

    def _definition(self, cls: type) -> str:
        """Without bases: all of a model's modules have one in common."""
        known = self._definitions.get(cls)
        if known is None:
            members = [] if cls.__module__ == "builtins" else sorted(vars(cls).items())
            told = (f"{name}: {self._of_member(value)}" for name, value in members if name not in _NOT_DEFINED)
            below = sorted(map(_name, abstract.registered_by(cls)))
            self._definitions[cls] = known = digest([_name(cls), *below, *self._registered_with(cls), *told])
        return known

    def _registered_with(self, cls: type) -> list[str]:
        if self._registered is None:
            self._registered = abstract.registered_with_pythons()
        return sorted(self._registered.get(cls, ()))

    def _of_member(self, value: Any) -> str:
        """Classes that a class mentions are told by their names: those that are used have guards of their own."""
        return f"class {_name(value)}" if isinstance(value, type) else self.of(value, 1)

    def _of_cell(self, cell: types.CellType, depth: int) -> str:
        try:
            value = cell.cell_contents
        except ValueError:
            return "nothing"
        return f"class {_name(value)}" if isinstance(value, type) else self.of(value, depth)

    def _all(self, values: Iterable[Any], depth: int) -> str:
        if depth > _DEPTH_MAX:
            return "..."
        return ", ".join(self.of(value, depth + 1) for value in values)


class Settings(Contents):
    """Of options: what isn't told by what it holds must tell what it is, as the passes that PyTorch caches do."""

    def unknown(self, value: Any) -> str:
        told = value.uuid() if callable(getattr(value, "uuid", None)) else None
        if told is None:
            raise UnprovableError(f"an option that is a {_name(type(value))} without uuid()")
        return f"a {_name(type(value))} {told!r}"


def digest(parts: Iterable[str]) -> str:
    texts = list(parts)
    whole = f"{list(map(len, texts))}{''.join(texts)}"
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()


# By identity: Python takes codes for equal that differ in what is done with exceptions.
_code_digests = WeakIdKeyDictionary()


def code_digest(code: types.CodeType) -> str:
    """Of what it does, and of its lines relative to its first: not of where it stands, nor of what it is called.

    Codes never change, so that the digests can be kept.
    """
    known: str | None = _code_digests.get(code)  # type: ignore[no-untyped-call]
    if known is None:
        parts = (
            code.co_code,
            (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags),
            (code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars),
            code.co_linetable,
            getattr(code, "co_exceptiontable", b""),
            tuple(each if type(each) in _MARSHALLED else (_of_constant(each),) for each in code.co_consts),
        )
        # Version 0 writes each object as it is, without references, which depend on who else has it.
        _code_digests[code] = known = hashlib.sha256(marshal.dumps(parts, 0)).hexdigest()
    return known


# Constants that `marshal` writes alike in all processes. A tuple is none: what is told of others stands in one.
_MARSHALLED = frozenset([bool, int, str, bytes, type(None), type(...)])


def walks_texts(code: types.CodeType) -> bool:
    """Whether it may walk over a set of its own that has more than numbers, whose order is another one in each process.
    To ask what is in one is no walk.
    """
    if not any(type(constant) is frozenset for constant in code.co_consts):
        return False
    steps = list(dis.get_instructions(code))
    return any(
        type(step.argval) is frozenset
        and not all(isinstance(each, (int, float, complex)) for each in step.argval)
        and (following is None or following.opname != "CONTAINS_OP")
        for step, following in zip(steps, [*steps[1:], None], strict=True)
    )


def shadowed(code: types.CodeType, world: Mapping[str, Any]) -> list[str]:
    """The builtins of which the code reads a name that is another thing in its globals. Dynamo doesn't guard that they
    aren't.
    """
    names = {name for inner in codes_in(code) for name in inner.co_names}
    return sorted(names & vars(builtins).keys() & world.keys())


def _of_constant(constant: Any) -> str:
    if isinstance(constant, types.CodeType):
        return f"code {constant.co_name} {code_digest(constant)}"
    if isinstance(constant, (tuple, frozenset)):
        texts = [_of_constant(each) for each in constant]
        return f"{type(constant).__name__} {digest(texts if isinstance(constant, tuple) else sorted(texts))}"
    if type(constant) not in (*PLAIN, torch.dtype, torch.device):
        raise UnprovableError(f"a constant of type {type(constant).__name__} in {type(constant).__module__}")
    return f"{type(constant).__name__} {constant!r}"


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _builtin(value: Any) -> str:
    owner = getattr(value, "__self__", getattr(value, "__objclass__", None))
    place = owner.__name__ if inspect.ismodule(owner) or inspect.isclass(owner) else type(owner).__name__
    return f"builtin {getattr(value, '__module__', None)} {place} {value.__qualname__}"
