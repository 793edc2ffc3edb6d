"""Content-addressed files, and directories for a compiler's own caches: `guardcache/blobs.h`."""

from __future__ import annotations

from guardcache._cache.handle import Handle
from guardcache._cache.results import Buffer
from guardcache._checked import in_ns
from guardcache._classes import NamedTuple


class Blob(NamedTuple):
    """A file under the name that its content gives it."""

    name: str
    path: str
    existed: bool
    """It was there, and has not been written again."""


class Subdirectory(NamedTuple):
    """A directory for a cache that a compiler keeps by itself."""

    path: str
    may_write: bool
    """What to tell the compiler: a read-only cache gives leave to read alone."""


class Blobs(Handle):
    __slots__ = ()

    def put_blob(
        self,
        content: Buffer,
        extension: str | None = None,
        *,
        name: str | None = None,
        extra: str | None = None,
        text: bool = False,
    ) -> Blob | None:
        """Stores bytes under the name their content gives them, unless it is there. None: nothing is cached.

        `name` takes the place of the content's, `extra` is mixed into it; of a `text` white space around it doesn't
        count.
        """
        found = self._native.put_blob(content, extension, name, extra, text)
        return None if found is None else Blob(*found)

    def get_blob(
        self,
        name: str,
        extension: str | None = None,
        *,
        own_name: bool = False,
        extra: str | None = None,
        text: bool = False,
    ) -> bytes:
        """A blob's bytes, verified against its name, for which the options it was put with are needed; `own_name`: it
        was put under a name of the caller's, which says nothing about the bytes. `NotFoundError`, `CorruptError`.
        """
        return self._native.get_blob(name, extension, name if own_name else None, extra, text)

    def expire_blobs(self, age: float) -> int:
        """Removes blobs that nobody has put for so many seconds; returns how many."""
        return self._native.expire_blobs(in_ns("age", age))

    def subdirectory(self, name: str, *, write: bool = True) -> Subdirectory | None:
        """The directory called `name` below the cache, for a cache that the compiler keeps by itself. None: nothing is
        cached. What is in it belongs to the compiler: it isn't verified or evicted.
        """
        found = self._native.subdirectory(name, write)
        return None if found is None else Subdirectory(*found)
