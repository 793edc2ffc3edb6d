"""Lines of the source in tracebacks of what a hit raises.

numba pickles file and line into the code of each ``raise``. An entry that serves a function which has moved since would
tell of the old place. So an entry says where its functions stood, and where they stand elsewhere now, the places of its
exceptions are put right when one is raised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from types import FunctionType
from typing import Any, TypeAlias

from numba.core import serialize

from guardcache.adapter import Patches
from guardcache.llvm import _elf
from guardcache.numba import _code

Place: TypeAlias = tuple[str, int]
Lines: TypeAlias = "list[tuple[str, tuple[tuple[int, int], ...]]]"
"""Of each function its file, and where lines begin in its bytecode."""

# numba names the pickle of an exception by its digest.
_PICKLE = re.compile(r"\.const\.pickledata\.([0-9a-f]{40})")

_places: dict[bytes, dict[Place, Place]] = {}
"""By the digest of what is unpickled."""


def of(functions: Iterable[FunctionType]) -> Lines:
    return [(function.__code__.co_filename, _code.lines(function.__code__)) for function in functions]


def moved(object: _elf.Object, stored: Lines, functions: Sequence[FunctionType]) -> None:
    """Remembers, for the exceptions of an object, where its functions stand now."""
    now = of(functions)
    if stored == now:
        return
    places: dict[Place, Place] = {}
    for (old_file, old_lines), (file, lines) in zip(stored, now, strict=True):
        here = dict(lines)
        places.update({(old_file, line): (file, here[start]) for start, line in old_lines if start in here})
    for symbol in object.symbols:
        if match := _PICKLE.fullmatch(symbol.name):
            _places[bytes.fromhex(match[1])] = places


def put_right(exception: Any, digest: bytes) -> Any:
    """What was unpickled for a ``raise``: (class, arguments, (function, file, line)), the place as it is now."""
    places = _places.get(digest)
    if places is None or not (isinstance(exception, tuple) and len(exception) == 3 and isinstance(exception[2], tuple)):
        return exception
    function, *place = exception[2]
    return (*exception[:2], (function, *places.get(tuple(place), place)))


def plan(patches: Patches) -> None:
    original = serialize._numba_unpickle

    def unpickle(address: int, bytedata: bytes, hashed: bytes) -> Any:
        return put_right(original(address, bytedata, hashed), hashed)

    patches.set(serialize, "_numba_unpickle", unpickle)
