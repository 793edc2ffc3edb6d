"""What of a code object decides what numba compiles: not its file, its lines, its comments or its own name."""

from __future__ import annotations

import dis
import hashlib
import inspect
import sys
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, takewhile
from types import CodeType
from typing import TypeAlias

_CONSTANTS = frozenset(dis.hasconst)
_NAMES = frozenset(dis.hasname)
_GLOBALS = frozenset(dis.opmap[name] for name in ("LOAD_GLOBAL", "LOAD_NAME") if name in dis.opmap)
_CLOSURES = frozenset(dis.opmap[name] for name in ("LOAD_DEREF", "LOAD_CLASSDEREF") if name in dis.opmap)
_ATTRIBUTES = frozenset(dis.opmap[name] for name in ("LOAD_ATTR", "LOAD_METHOD") if name in dis.opmap)

Chains: TypeAlias = "dict[str, frozenset[tuple[str, ...]]]"
"""By name, the attributes that are read of it at once, one after the other: none where it is used itself."""

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
    of_globals: Chains
    of_closures: Chains


class _Numbers(dict[object, int]):
    def __missing__(self, key: object) -> int:
        self[key] = len(self)
        return self[key]


@lru_cache(maxsize=1024)
def take_apart(code: CodeType) -> Parts:
    steps = [step for step in dis.get_instructions(code) if step.opcode != dis.EXTENDED_ARG]
    constants: list[object] = []
    read = _Numbers()
    slots = _Numbers()
    told: list[object] = [
        code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & _FLAGS,
        code.co_varnames, code.co_cellvars, code.co_freevars, code.co_exceptiontable,
    ]  # fmt: skip
    for step in steps:
        argument: object = step.arg
        if step.opcode in _CONSTANTS:
            argument = slots[step.arg]
            if argument == len(constants):
                constants.append(code.co_consts[step.arg or 0])
        elif step.opcode in _NAMES:
            number: object = read[step.argval] if step.opcode in _GLOBALS else step.argval
            argument = (number, (step.arg or 0) & _BITS.get(step.opname, 0))
        told.append((step.opname, argument))
    within = [take_apart(constant) for constant in constants if isinstance(constant, CodeType)]
    for inner in within:
        for name in inner.globals:
            _ = read[name]
    return Parts(
        hashlib.sha256(repr(told).encode()).hexdigest()[:32],
        tuple(constants),
        tuple(str(name) for name in read),
        _chains(steps, _GLOBALS, [inner.of_globals for inner in within]),
        _chains(steps, _CLOSURES, [inner.of_closures for inner in within]),
    )


def _chains(steps: list[dis.Instruction], loads: frozenset[int], within: list[Chains]) -> Chains:
    found: dict[str, set[tuple[str, ...]]] = {}
    for number, step in enumerate(steps, 1):
        if step.opcode in loads:
            attributes = takewhile(lambda step: step.opcode in _ATTRIBUTES, islice(steps, number, None))
            found.setdefault(step.argval, set()).add(tuple(attribute.argval for attribute in attributes))
    for chains in within:
        for name, chain in chains.items():
            found.setdefault(name, set()).update(chain)
    return {name: frozenset(chains) for name, chains in found.items()}


def lines(code: CodeType) -> tuple[tuple[int, int], ...]:
    """Where each line of the source begins in the bytecode: (offset, line), nested functions behind their owner."""
    found = [(start, line) for start, _, line in code.co_lines() if line is not None]
    end = len(code.co_code)
    for nested in (constant for constant in code.co_consts if isinstance(constant, CodeType)):
        found += [(end + start, line) for start, line in lines(nested)]
        end += len(nested.co_code)
    return tuple(found)
