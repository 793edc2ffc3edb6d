"""Hashes of what a compiler is made of: source trees, files, shared objects, facts."""

from __future__ import annotations

import os
from collections.abc import Iterable

from guardcache import _native
from guardcache._classes import NamedTuple


class FingerprintLine(NamedTuple):
    """A part, or one of its files."""

    part: str
    path: str
    """Relative to the part's; empty for the part itself."""
    value: str
    """A hash in hex, or a fact's value."""
    read: bool
    """A file whose content was read, not remembered."""


class FingerprintChange(NamedTuple):
    """A part or file that isn't as it was."""

    part: str
    path: str
    before: str | None
    """None: it is new."""
    after: str | None
    """None: it is gone."""


class Fingerprint:
    """Named parts, each with a hash: together a component of descriptions, so that entries of another compiler version,
    library or machine are not found.

    >>> made_by = Fingerprint()
    >>> made_by.fact("version", "3.1")
    >>> made_by.tree("compiler", "/opt/mycompiler", suffixes=[".py", ".so"])
    >>> graph.component("environment", made_by)

    One thread at a time. A name may be used once.
    """

    __slots__ = ("_native",)

    def __init__(self) -> None:
        self._native = _native.Fingerprint()

    def fact(self, name: str, value: str) -> None:
        """A version, a device, a flag."""
        self._native.fact(name, value)

    def file(self, name: str, path: str | os.PathLike[str]) -> None:
        """A file's content; where it lies and what it is called don't count."""
        self._native.file(name, os.fspath(path))

    def tree(
        self,
        name: str,
        path: str | os.PathLike[str],
        *,
        suffixes: Iterable[str] = (),
        skip: Iterable[str] = (),
        threads: int = 0,
    ) -> None:
        """All files below a directory, by relative path and content: those that end in one of the `suffixes`, if
        given, and not those in what `skip` names. So many `threads` read files beside this one.
        """
        self._native.tree(name, os.fspath(path), threads, tuple(suffixes), tuple(skip))

    def preset(self, name: str, hash: str) -> None:
        """A hash that is known already, as 64 hex digits."""
        self._native.preset(name, hash)

    def clear(self) -> None:
        """Forgets all parts; what the index remembers stays."""
        self._native.clear()

    def open_index(self, path: str | os.PathLike[str]) -> None:
        """Files' hashes that were remembered in a file; one that isn't there is empty. Before parts are added."""
        self._native.open_index(os.fspath(path))

    def save_index(self, path: str | os.PathLike[str]) -> None:
        """Remembers them."""
        self._native.save_index(os.fspath(path))

    @property
    def hash(self) -> str:
        """Over all parts, whatever order they were added in."""
        return self._native.hash()

    def lines(self) -> list[FingerprintLine]:
        """The parts in order of name, and their files."""
        return [FingerprintLine(*found) for found in self._native.lines()]

    def write(self) -> str:
        """The lines as text, for a later `compare`."""
        return self._native.write()

    def compare(self, written: str) -> list[FingerprintChange]:
        """Every file, and every part without files, that isn't as `write` wrote it before."""
        return [FingerprintChange(*found) for found in self._native.compare(written)]

    def __repr__(self) -> str:
        return f"<guardcache.Fingerprint {self.hash[:12]}>"
