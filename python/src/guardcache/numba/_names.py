"""Names of symbols, of a process that has stored something and of one that loads it.

numba numbers the functions of a process, and the numbers are in the symbols: ``_ZN7program4areaB2v7B38c8t...`` is the
seventh. What is loaded gets numbers that nobody in this process has, so that no two symbols ever meet. The function
itself also gets its own name and module, since numba makes the symbol of a recursive call from these.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable
from types import FunctionType
from typing import Any

from numba.core.bytecode import FunctionIdentity
from numba.core.funcdesc import FunctionDescriptor, default_mangler, qualifying_prefix
from numba.core.utils import _dynamic_modname

# ``B2v7``; a tag with the function's flags follows.
_NUMBER = re.compile(r"B\d+v(\d+)(?=B\d)")


def numbered(name: str) -> bool:
    """Whether it is the name of something that numba compiled in some process."""
    return _NUMBER.search(name) is not None


class Names:
    """The producer's names -> this process's. A name that is everybody's stays."""

    def __init__(self, stored: FunctionDescriptor, function: FunctionType, own: Iterable[str]) -> None:
        """`own` are names without a number that only this object defines."""
        self._numbers: dict[str, int] = {}
        self.descriptor = self._owned(stored, function)
        self._known = {old: f"{old}.{self.descriptor.uid}" for old in own if not numbered(old)}
        self._known.update(zip(_symbols(stored), _symbols(self.descriptor), strict=True))

    def __call__(self, name: str) -> str:
        return self._known.get(name) or _NUMBER.sub(lambda match: f"B{self._tag(match[1])}", name)

    def _owned(self, stored: FunctionDescriptor, function: FunctionType) -> FunctionDescriptor:
        owned = copy.copy(stored)
        owned.modname = function.__module__ or _dynamic_modname
        owned.qualname = function.__qualname__
        owned.doc = function.__doc__ or ""
        owned.uid = self._number(str(stored.uid))
        owned.unique_name = f"{owned.qualname}${owned.uid}"
        owned.mangled_name = mangled(owned)
        owned.env_name = mangled(owned, ".NumbaEnv.")
        return owned

    def _tag(self, number: str) -> str:
        text = f"v{self._number(number)}"
        return f"{len(text)}{text}"

    def _number(self, number: str) -> int:
        found = self._numbers.get(number)
        if found is None:
            found = self._numbers[number] = next(FunctionIdentity._unique_ids)
        return found


def mangled(descriptor: FunctionDescriptor, prefix: str = "") -> Any:
    """The symbol that numba makes of what a descriptor says."""
    name = prefix + qualifying_prefix(descriptor.modname, descriptor.qualname)
    return default_mangler(name, descriptor.argtypes, abi_tags=descriptor.abi_tags, uid=descriptor.uid)


def _symbols(descriptor: FunctionDescriptor) -> tuple[str, ...]:
    return (
        descriptor.mangled_name,
        descriptor.llvm_cpython_wrapper_name,
        descriptor.llvm_cfunc_wrapper_name,
        descriptor.env_name,
    )
