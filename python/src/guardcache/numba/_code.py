"""What of a code object decides what numba compiles: not its file, its lines, its comments or its own name."""

from __future__ import annotations

import dis
import hashlib
import inspect
import sys
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType

_CONSTANTS = frozenset(dis.hasconst)
_NAMES = frozenset(dis.hasname)
_GLOBALS = frozenset(dis.opmap[name] for name in ("LOAD_GLOBAL", "LOAD_NAME") if name in dis.opmap)

# The others say nothing about the code; numba changes some while a profiler looks on.
_FLAGS = (
    inspect.CO_VARARGS
    | inspect.CO_VARKEYWORDS
    | inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ITERABLE_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)

# Lowest bits of arguments that aren't part of a name's index.
_BITS = {
    "LOAD_GLOBAL": 1,
    "LOAD_ATTR": 1 if sys.version_info >= (3, 12) else 0,
    "LOAD_SUPER_ATTR": 3,
}


@dataclass(frozen=True)
class Parts:
    """A code object, taken apart. What it refers to is numbered by first use, so that unused things don't count."""

    digest: str
    """Of instructions, signature and exception handlers."""
    constants: tuple[object, ...]
    globals: tuple[str, ...]
    """Names it reads from its module, nested functions included."""
    names: frozenset[str]
    """All other names: of attributes, methods, imports."""


class _Numbers(dict[object, int]):
    def __missing__(self, key: object) -> int:
        self[key] = len(self)
        return self[key]


@lru_cache(maxsize=1024)
def take_apart(code: CodeType) -> Parts:
    constants: list[object] = []
    names: set[str] = set()
    read = _Numbers()
    slots = _Numbers()
    told: list[object] = [
        code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & _FLAGS,
        code.co_varnames, code.co_cellvars, code.co_freevars, code.co_exceptiontable,
    ]  # fmt: skip
    for step in dis.get_instructions(code):
        if step.opcode == dis.EXTENDED_ARG:
            continue
        argument: object = step.arg
        if step.opcode in _CONSTANTS:
            argument = slots[step.arg]
            if argument == len(constants):
                constants.append(code.co_consts[step.arg or 0])
        elif step.opcode in _NAMES:
            number: object = read[step.argval] if step.opcode in _GLOBALS else step.argval
            argument = (number, (step.arg or 0) & _BITS.get(step.opname, 0))
            if step.opcode not in _GLOBALS:
                names.add(step.argval)
        told.append((step.opname, argument))
    for nested in (constant for constant in constants if isinstance(constant, CodeType)):
        inner = take_apart(nested)
        names |= inner.names
        for name in inner.globals:
            _ = read[name]
    digest = hashlib.sha256(repr(told).encode()).hexdigest()[:32]
    return Parts(digest, tuple(constants), tuple(str(name) for name in read), frozenset(names))


def lines(code: CodeType) -> tuple[tuple[int, int], ...]:
    """Where each line of the source begins in the bytecode: (offset, line), nested functions behind their owner."""
    found = [(start, line) for start, _, line in code.co_lines() if line is not None]
    end = len(code.co_code)
    for nested in (constant for constant in code.co_consts if isinstance(constant, CodeType)):
        found += [(end + start, line) for start, line in lines(nested)]
        end += len(nested.co_code)
    return tuple(found)
