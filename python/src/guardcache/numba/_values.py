"""What a function reads, told so that equal tellings mean equal code: constants, globals, closures, other functions.

numba freezes what a function reads from outside when it compiles it. `Walk.value` tells such a value by its content, a
jitted function by its code and what that reads in turn, what is read of a module by what it is there now, and classes
and functions of installed packages by name and version. What it doesn't know raises `Unkeyed`: better compiled again
than served wrong.
"""

from __future__ import annotations

import builtins
import enum
import hashlib
import operator
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias

import numpy as np
from numba.core import compiler, types
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic
from numba.core.registry import cpu_target

from guardcache._values import Value
from guardcache.numba import _code, _packages, _types
from guardcache.numba._unkeyed import Unkeyed

# numba keeps larger arrays outside the code, at an address of this process.
_FROZEN_BYTES = 1_000_000

Tell: TypeAlias = "Callable[[Walk, Any], Value]"


class _Function(dict[str, Value]):
    """What is told of a function of the program."""


class Walk:
    """One description in the making. A function that is met again is told by the number of its first appearance, so
    that recursion ends and shared callees are told once.
    """

    def __init__(self, met: Callable[[FunctionType, bool], None] | None = None, *, roughly: bool = False) -> None:
        """`met` hears of each function that is read, when it is met first, and whether it is compiled already.
        `roughly` is for packages, whose sources count anyway: what can't be told there is told by its type.
        """
        self.functions: list[FunctionType] = []
        self.said: set[str] = set()
        """Options that were set for any of them."""
        self._numbers: dict[int, int] = {}
        self._open: list[object] = []
        self._held: list[object] = []
        self._callees: dict[str, str] = {}
        self._met = met
        self._roughly = roughly

    def value(self, value: Any) -> Value:
        tell = _TELL.get(type(value)) or next(
            (tell for kind, tell in _TELL_KIND if isinstance(value, kind)), _tell_other
        )
        try:
            return tell(self, value)
        except Unkeyed:
            if self._roughly:
                return f"a {type(value).__name__}"
            raise

    def function(self, function: FunctionType, owner: Any = None) -> Value:
        """Tells it as part of something; its own module counts only by what it reads there. `owner` is the dispatcher
        whose it is: one function may be jitted twice, with other options.
        """
        known = function if owner is None else owner
        number = self._numbers.get(id(known))
        if number is not None:
            if any(known is one for one in self._open[:-1]):
                raise Unkeyed("functions that call each other are compiled together")
            return _Function(function=number)
        if self._met is not None and self.functions:
            self._met(function, owner is not None and bool(owner.overloads))
        told = self.parts(function, owner)
        if owner is None:
            # What is overloaded is known by its name.
            told["name"] = f"{function.__module__}.{function.__qualname__}"
        else:
            told.update(jitted(self, owner))
        return _Function(told)

    def parts(self, function: FunctionType, owner: Any = None) -> dict[str, Value]:
        """Everything that counts about a function, by the names under which a miss tells of it."""
        known = function if owner is None else owner
        self._numbers[id(known)] = len(self._numbers)
        self._held.append(known)
        self.functions.append(function)
        parts = _code.take_apart(function.__code__)
        told: dict[str, Value] = {"code": parts.digest}
        outer = self._callees
        self._open.append(known)
        try:
            outside = {
                "closure": self._read("closure variable", closure(function), parts.of_closures),
                "globals": self._read("global", _globals(function, parts.globals), parts.of_globals),
            }
            functions, self._callees = _take_functions(outside)
            told.update(
                reads=self._reads(parts),
                literals=[self.value(constant) for constant in parts.constants],
                defaults=self._named("default", _defaults(function)),
                functions=functions,
                **outside,
            )
        finally:
            self._callees = outer
            self._open.pop()
        return {name: value for name, value in told.items() if value}

    def _reads(self, parts: _code.Parts) -> Value:
        """What the code has numbers for: names, of builtins too, and which functions of the program."""
        return [self._callees.get(name, name) for name in parts.globals]

    def code(self, code: CodeType) -> Value:
        """A nested function: it reads the globals of the one around it, which has them told."""
        parts = _code.take_apart(code)
        literals: Value = [self.value(constant) for constant in parts.constants]
        return {"code": parts.digest, "reads": self._reads(parts), "literals": literals}

    def _read(self, what: str, values: dict[str, Any], chains: _code.Chains) -> dict[str, Value]:
        """What is read under names; of modules, whoever's, what is read of them."""
        told: dict[str, Value] = {}
        for name, value in values.items():
            if not isinstance(value, ModuleType):
                told.update(self._named(what, {name: value}))
                continue
            for chain in sorted(chains.get(name, ())):
                path = ".".join((name, *chain))
                try:
                    told.update(self._of_module(value, name, chain))
                except Unkeyed as unkeyed:
                    raise Unkeyed(f"{what} {path}: {unkeyed}") from None
        return told

    def _of_module(self, module: ModuleType, path: str, chain: tuple[str, ...]) -> dict[str, Value]:
        value: Any = module
        for name in chain:
            if not isinstance(value, ModuleType):
                break
            module, path = value, f"{path}.{name}"
            try:
                value = getattr(module, name)
            except AttributeError:
                return {path: "isn't there"}
        if isinstance(value, ModuleType):
            raise Unkeyed("a module is used otherwise than by its attributes")
        self._held.append(value)
        try:
            return {path: self.value(value)}
        except Unkeyed:
            if _of_known(module) and callable(value) and _of_known(type(value)):
                return {path: f"{module.__name__}.{name}, a {type(value).__name__}"}
            raise

    def _named(self, what: str, values: dict[str, Any]) -> dict[str, Value]:
        told: dict[str, Value] = {}
        for name, value in values.items():
            try:
                told[name] = self.value(value)
            except Unkeyed as unkeyed:
                raise Unkeyed(f"{what} {name}: {unkeyed}") from None
        return told


def _take_functions(outside: dict[str, dict[str, Value]]) -> tuple[dict[str, Value], dict[str, str]]:
    """Functions of the program, taken out of what is told by name: they are numbered by first use, so that a caller
    needn't be compiled again because what it calls has a new name; names of attributes are in the code. Also the
    numbers of those that are globals.
    """
    functions: dict[str, Value] = {}
    numbers: dict[str, str] = {}
    for where, told in outside.items():
        for name in [name for name, value in told.items() if isinstance(value, _Function) and "." not in name]:
            number = f"callee {len(functions) + 1}"
            functions[number] = told.pop(name)
            if where == "globals":
                numbers[name] = number
    return functions, numbers


def _defaults(function: FunctionType) -> dict[str, Any]:
    positional = function.__defaults__ or ()
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return {
        **dict(zip(names[len(names) - len(positional) :], positional, strict=True)),
        **(function.__kwdefaults__ or {}),
    }


def closure(function: FunctionType) -> dict[str, Any]:
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            raise Unkeyed(f"closure variable {name} has no value yet") from None
    return found


def _globals(function: FunctionType, names: tuple[str, ...]) -> dict[str, Any]:
    """Python's own builtins are left out: their names suffice. So is what isn't there: numba says so."""
    found = {}
    for name in names:
        value = function.__globals__.get(name, _ABSENT)
        if value is _ABSENT:
            value = getattr(builtins, name, _ABSENT)
        if value is not _ABSENT and value is not _BUILTINS.get(name, _ABSENT):
            found[name] = value
    return found


def _own_builtins() -> dict[str, Any]:
    """Those that nobody has put there, or replaced."""
    plain = {name: value for name, value in vars(builtins).items() if getattr(value, "__module__", None) == "builtins"}
    return {name: value for name, value in plain.items() if getattr(value, "__name__", None) == name}


_ABSENT = object()
_BUILTINS = _own_builtins()


# ---- how each kind of value is told ----


def _packaged(value: Any, what: str) -> str | None:
    """By name and version, what an installed package has under that name."""
    module = getattr(value, "__module__", None)
    package = _packages.version(module)
    return f"{what} {module}.{value.__qualname__} of {package}" if package and _reachable(value) else None


def _of_known(value: Any) -> bool:
    return _packages.is_known(value.__name__ if isinstance(value, ModuleType) else value.__module__)


def _reachable(value: Any) -> bool:
    """Whether another process finds this very object under its name."""
    if not isinstance(getattr(value, "__qualname__", None), str) or value.__module__ == "__main__":
        return False
    try:
        return operator.attrgetter(value.__qualname__)(sys.modules[value.__module__]) is value
    except (KeyError, AttributeError, TypeError):
        return False


def _tell_same(walk: Walk, value: Any) -> Value:
    return value  # type: ignore[no-any-return]


def _tell_text(walk: Walk, value: Any) -> Value:
    return repr(value)


def _tell_float(walk: Walk, value: float) -> Value:
    return repr(value) if value == value else f"nan {np.float64(value).tobytes().hex()}"


def _tell_complex(walk: Walk, value: complex) -> Value:
    return {"complex": [_tell_float(walk, value.real), _tell_float(walk, value.imag)]}


def _tell_scalar(walk: Walk, value: np.generic) -> Value:
    if value.dtype.hasobject:
        raise Unkeyed(f"a {value.dtype} holds Python objects")
    shown = str(value.item()) if value.dtype.kind in "biu" else value.tobytes().hex()
    return f"{value.dtype.str} {shown}" if value.dtype.fields is None else f"{value.dtype!r} {shown}"


def _tell_array(walk: Walk, value: np.ndarray[Any, Any]) -> Value:
    if type(value) is not np.ndarray or value.dtype.hasobject:
        raise Unkeyed(f"a {type(value).__name__} of {value.dtype} isn't known by its content")
    if value.nbytes > _FROZEN_BYTES:
        raise Unkeyed("an array of this size stays outside the code, at an address of this process")
    flags = value.flags
    layout = f"c={flags.c_contiguous} f={flags.f_contiguous} aligned={flags.aligned}"
    content = hashlib.sha256(value.tobytes()).hexdigest()[:32]
    return f"array {value.dtype!r} {value.shape} {layout} content {content}"


def _tell_items(walk: Walk, value: Any) -> Value:
    return {type(value).__name__: [walk.value(item) for item in value]}


def _tell_tuple(walk: Walk, value: tuple[Any, ...]) -> Value:
    if type(value) is tuple:
        return _tell_items(walk, value)
    return {"tuple": [walk.value(item) for item in value], "class": walk.value(type(value))}


def _tell_set(walk: Walk, value: Any) -> Value:
    return {type(value).__name__: sorted((walk.value(item) for item in value), key=repr)}


def _tell_function(walk: Walk, value: FunctionType) -> Value:
    return _packaged(value, "function") or walk.function(value)


def _tell_dispatcher(walk: Walk, value: Any) -> Value:
    packaged = _packaged(value, "function") if _of_known(value) else None
    return packaged or walk.function(value.py_func, value)


def jitted(walk: Walk, dispatcher: Any) -> dict[str, Value]:
    """What was said to ``jit``."""
    if dispatcher._compiler.pipeline_class is not compiler.Compiler:
        raise Unkeyed("it has a compiler pipeline of its own")
    if dispatcher.targetdescr is not cpu_target:
        raise Unkeyed("it is for another target than the processor")
    walk.said |= {name for name, value in dispatcher.targetoptions.items() if value}
    told: dict[str, Value] = {"options": options(walk, dispatcher)}
    if not dispatcher._can_compile:
        results = [overload.signature for overload in dispatcher.overloads.values()]
        told["signatures"] = [[_tell_type(walk, type_) for type_ in (*one.args, one.return_type)] for one in results]
    return {name: value for name, value in told.items() if value}


def options(walk: Walk, dispatcher: Any) -> Value:
    """By numba's names."""
    told: dict[str, Value] = {}
    for name, value in dispatcher.targetoptions.items():
        several = isinstance(value, dict)
        told.update({name: walk._named(f"option {name}", value)} if several else walk._named("option", {name: value}))
    if dispatcher.locals:
        told["locals"] = {name: walk.value(type_) for name, type_ in dispatcher.locals.items()}
    return told


def _tell_intrinsic(walk: Walk, value: Any) -> Value:
    packaged = _packaged(value, "intrinsic") if _of_known(value) else None
    return packaged or {"intrinsic": walk.function(value._defn)}


def _tell_builtin(walk: Walk, value: Any) -> Value:
    owner = value.__self__
    if owner is not None and not isinstance(owner, ModuleType):
        raise Unkeyed(f"{value.__qualname__} is a method of an object")
    return f"builtin {value.__module__}.{value.__qualname__} of {_packages.version(value.__module__)}"


def _tell_other(walk: Walk, value: Any) -> Value:
    if isinstance(value, ModuleType):
        raise Unkeyed("a module is used otherwise than by its attributes")
    packaged = _packaged(value, "function") if callable(value) else None
    if packaged is None:
        raise Unkeyed(f"a {type(value).__name__} isn't known by its content")
    return packaged


def _tell_ufunc(walk: Walk, value: Any) -> Value:
    name: str = value.__name__
    if getattr(np, name, None) is not value:
        raise Unkeyed(f"{name} isn't one of NumPy's own functions")
    return f"ufunc {name}"


def _tell_class(walk: Walk, value: type) -> Value:
    packaged = _packaged(value, "class")
    if packaged is not None:
        return packaged
    if not _reachable(value):
        raise Unkeyed(f"no other process finds the class {value.__qualname__} under its name")
    name = f"class {value.__module__}.{value.__qualname__}"
    bases = [f"{base.__module__}.{base.__qualname__}" for base in value.__bases__]
    if issubclass(value, enum.Enum):
        # Aliases too, and members that are made of others.
        members = value.__members__.items()
        return {name: [[alias, member.name, walk.value(member.value)] for alias, member in members], "bases": bases}
    if issubclass(value, tuple) and hasattr(value, "_fields"):
        defaults: dict[str, Any] = getattr(value, "_field_defaults", {})
        return {name: list(value._fields), "defaults": walk._named("default", defaults)}
    if issubclass(value, BaseException):
        return name
    raise Unkeyed(f"the class {value.__qualname__} isn't known by its content")


def _tell_member(walk: Walk, value: enum.Enum) -> Value:
    return {"member": value.name, "of": walk.value(type(value))}


def _tell_type(walk: Walk, value: types.Type) -> Value:
    return {"type": _types.told(value, walk.value)}


def _tell_range(walk: Walk, value: range | slice) -> Value:
    return {type(value).__name__: [walk.value(part) for part in (value.start, value.stop, value.step)]}


_TELL: dict[type, Tell] = {
    bool: _tell_same,
    int: _tell_same,
    type(None): _tell_same,
    type(Ellipsis): _tell_text,
    float: _tell_float,
    complex: _tell_complex,
    str: _tell_text,
    bytes: _tell_text,
    list: _tell_items,
    set: _tell_set,
    frozenset: _tell_set,
    range: _tell_range,
    slice: _tell_range,
    CodeType: Walk.code,
    FunctionType: _tell_function,
    BuiltinFunctionType: _tell_builtin,
    np.ufunc: _tell_ufunc,
}

# Of values whose class isn't in the table above.
_TELL_KIND: tuple[tuple[type, Tell], ...] = (
    (enum.Enum, _tell_member),
    (np.generic, _tell_scalar),
    (np.ndarray, _tell_array),
    (np.dtype, _tell_text),
    (tuple, _tell_tuple),
    (Dispatcher, _tell_dispatcher),
    (_Intrinsic, _tell_intrinsic),
    (types.Type, _tell_type),
    (type, _tell_class),
)
