"""One file of what is stored, or of what a run used, for another machine: `guardcache/artifacts.h`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, TypeAlias

from guardcache import _native
from guardcache._cache.handle import Handle
from guardcache._cache.options import Progress
from guardcache._cache.results import Buffer
from guardcache._checked import whole
from guardcache._classes import NamedTuple

TakeArtifact: TypeAlias = Callable[[str, str, bytes], object]
"""Gets the kind, name and bytes of an artifact of the caller's own kind."""


class Transfer(NamedTuple):
    """What went into an export or came out of it."""

    entries: int
    keys: int
    attachments: int
    blobs: int
    rows: int
    """Timings, best configurations, bundles."""
    artifacts: int
    existed: int
    """Of an import: entries and blobs that were there already."""
    unmet: int
    """Of an import: entries whose requirements aren't met."""
    left_out: int
    """What couldn't be read, was no good, or had nobody to vouch for it."""
    bytes: int
    """Of the file."""
    reasons: tuple[str, ...]
    """Why each of them was left out or isn't met."""


def make_transfer(found: tuple[Any, ...]) -> Transfer:
    return Transfer._make((*found[:-1], tuple(found[-1])))


def show_export(file: str | os.PathLike[str]) -> dict[str, Any]:
    """An export's manifest, after the whole file was verified."""
    manifest: dict[str, Any] = json.loads(_native.show_export(os.fspath(file)))
    return manifest


class Artifacts:
    """What is hit or stored through a cache since this was made (`Cache.artifacts`); a context manager that ends it."""

    __slots__ = ("_native",)

    def __init__(self, native: _native.Cache) -> None:
        native.artifacts_begin()
        self._native = native

    def add(self, kind: str, name: str, content: Buffer) -> None:
        """An artifact of the caller's own kind; a second one of that name replaces it."""
        self._native.artifacts_add(kind, name, content)

    @property
    def dirty(self) -> bool:
        """Something new was stored: hits alone are no reason to save."""
        return self._native.artifacts_dirty()

    def save(self, file: str | os.PathLike[str]) -> Transfer:
        """Writes what was noted so far, as `Cache.export` does."""
        return make_transfer(self._native.artifacts_save(os.fspath(file)))

    def end(self) -> None:
        """Forgets what was noted, and notes no more."""
        self._native.artifacts_end()

    def __enter__(self) -> Artifacts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._native.closed():
            self.end()


class Transfers(Handle):
    __slots__ = ()

    def export(
        self,
        file: str | os.PathLike[str],
        *,
        key: str | None = None,
        label: str | None = None,
        namespace: str | None = None,
        since_ns: int = 0,
        until_ns: int = 0,
        entries_only: bool = False,
        progress: Progress | None = None,
    ) -> Transfer:
        """Writes what is stored into one file for another machine; entries keep the signatures they have.

        `key`, `label` (a text that occurs in it), `namespace` and times select entries; then, or with `entries_only`,
        blobs and tuning results stay out. What can't be read is left out and told.
        """
        times = whole("since_ns", since_ns), whole("until_ns", until_ns)
        chosen = (key, label, namespace, *times, entries_only, progress)
        return make_transfer(self._native.export(os.fspath(file), *chosen))

    def import_(
        self,
        file: str | os.PathLike[str],
        *,
        provides: Mapping[str, str] | None = None,
        artifact: TakeArtifact | None = None,
        progress: Progress | None = None,
    ) -> Transfer:
        """Adds what an export holds; payloads are executed, so import only what you trust.

        A file that is damaged or doesn't hold what it says raises, and nothing of it is imported. What is no good, or
        what nobody vouches for if signatures are required, is left out and told; nothing is signed. With `provides`
        entries whose requirements aren't met are left out too. `artifact` gets those of the caller's own kinds.
        """
        return make_transfer(self._native.import_file(os.fspath(file), provides, artifact, progress))

    def artifacts(self) -> Artifacts:
        """From now on everything that is hit or stored through this handle is noted, to be saved in one file.

        >>> with cache.artifacts() as used:
        ...     run()
        ...     if used.dirty:
        ...         used.save("run.gcx")
        """
        return Artifacts(self._native)
