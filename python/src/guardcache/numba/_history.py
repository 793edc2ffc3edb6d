"""What functions read when they were compiled in this process.

numba freezes globals when it compiles: a caller that is compiled later calls what was compiled before, whatever the
globals say by then. So a caller's key, which tells what its callees read now, is right only if that is what they read
then.
"""

from __future__ import annotations

import weakref
from types import FunctionType
from typing import Any

from guardcache._values import Value
from guardcache.numba._unkeyed import Unkeyed
from guardcache.numba._values import Walk

_CHANGED = object()


class History:
    """By function, what it read itself; what its callees read is their own history. Used under numba's lock."""

    def __init__(self) -> None:
        self._read: weakref.WeakKeyDictionary[FunctionType, object] = weakref.WeakKeyDictionary()

    def compiled(self, function: FunctionType) -> None:
        """It is compiled now."""
        read = _read(function)
        if self._read.setdefault(function, read) != read:
            self._read[function] = _CHANGED

    def check(self, function: FunctionType, compiled: bool) -> None:
        """`Unkeyed` if it was compiled when it read something else, or nobody knows what."""
        if function not in self._read:
            if compiled:
                raise Unkeyed(f"{function.__qualname__} was compiled before the adapter was installed")
        elif self._read[function] != _read(function):
            raise Unkeyed(f"{function.__qualname__} was compiled before what it reads has changed")


class _Shallow(Walk):
    """Other functions count by their identity: the process is the same. They aren't kept alive, but nor does another
    take one's place.
    """

    def function(self, function: FunctionType, owner: Any = None) -> Value:
        return {"function": weakref.ref(function)}  # type: ignore[dict-item]


def _read(function: FunctionType) -> object:
    try:
        return _Shallow().parts(function)
    except Exception as error:  # as a rule `Unkeyed`: nothing that calls it gets a key
        return repr(error)
