"""Lines of the source in tracebacks of what a hit raises.

numba pickles function, file and line into the code of each ``raise``. An entry that serves a function which has moved
since would tell of the old place. So an entry says where its functions stood, and the places of its exceptions are put
right when one is raised. numba unpickles with a digest at hand, by which the exception is known here; equal functions
have equal ones. So what is loaded gets a digest that says as well where its functions stand now.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from types import FunctionType
from typing import Any, NamedTuple, TypeAlias

from numba.core import serialize

from guardcache.adapter import Patches
from guardcache.llvm import _elf
from guardcache.numba import _code


class Now(NamedTuple):
    """Where a line is now."""

    old_name: str
    name: str
    file: str
    line: int


Lines: TypeAlias = "list[tuple[str, str, tuple[tuple[int, int], ...]]]"
"""Of each function its file, its name, and where lines begin in its bytecode."""

Places: TypeAlias = "dict[tuple[str, int], Now]"

# numba names the pickle of an exception by its digest.
_PICKLE = re.compile(r"\.const\.pickledata\.([0-9a-f]{40})")

_places: dict[bytes, Places] = {}
"""By the digest of what is unpickled."""


def of(functions: Iterable[FunctionType]) -> Lines:
    codes = [function.__code__ for function in functions]
    return [(code.co_filename, code.co_name, _code.lines(code)) for code in codes]


class Moved:
    """The exceptions of an object that is loaded."""

    def __init__(self, object: _elf.Object, stored: Lines, functions: Sequence[FunctionType]) -> None:
        self._places = _find(stored, of(functions))
        found = {bytes.fromhex(match[1]) for symbol in object.symbols if (match := _PICKLE.fullmatch(symbol.name))}
        where = repr(sorted(self._places.items())).encode()
        self._digests = {digest: hashlib.sha1(digest + where).digest() for digest in found}

    def put_in(self, content: bytes) -> bytes:
        """The object with digests of its own."""
        for digest, own in self._digests.items():
            content = content.replace(digest, own)
            _places[own] = self._places
        return content

    def linked(self) -> None:
        """The bitcode, which has the digests that numba gave it, is linked into a caller."""
        for digest in self._digests:
            _places[digest] = self._places


def _find(stored: Lines, now: Lines) -> Places:
    places: Places = {}
    if stored != now:
        for (old_file, old_name, old_lines), (file, name, lines) in zip(stored, now, strict=True):
            here = dict(lines)
            found = {(old_file, line): Now(old_name, name, file, here[at]) for at, line in old_lines if at in here}
            places.update(found)
    return places


def put_right(exception: Any, digest: bytes) -> Any:
    """What was unpickled for a ``raise``: (class, arguments, (function, file, line)), the place as it is now."""
    places = _places.get(digest)
    if not places or not (isinstance(exception, tuple) and len(exception) == 3 and isinstance(exception[2], tuple)):
        return exception
    function, *place = exception[2]
    now = places.get(tuple(place))
    if now is None:
        return exception
    return (*exception[:2], (now.name if function == now.old_name else function, now.file, now.line))


def plan(patches: Patches) -> None:
    original = serialize._numba_unpickle

    def unpickle(address: int, bytedata: bytes, hashed: bytes) -> Any:
        return put_right(original(address, bytedata, hashed), hashed)

    patches.set(serialize, "_numba_unpickle", unpickle)
