"""Verification, repair, garbage collection, and the facts a doctor asks for: `guardcache/maintenance.h`."""

from __future__ import annotations

from guardcache._cache.handle import Handle
from guardcache._cache.options import Progress
from guardcache._checked import INT_MAX, in_ns, whole
from guardcache._classes import NamedTuple, Record


class Problem(Record):
    path: str
    problem: str


class Verified(Record):
    """What `Cache.verify` found; true if the cache is whole."""

    keys: int
    entries: int
    bytes: int
    problems: tuple[Problem, ...]

    def __bool__(self) -> bool:
        return not self.problems


class Repaired(NamedTuple):
    """What `Cache.repair` did."""

    keys: int
    entries: int
    """That are there now."""
    quarantined: int
    """Files and records that were no good and lie in ``quarantine/`` now."""
    recovered: int
    """Entries that no index knew of."""
    lost: int
    """Entries that an index knew of and no file holds any more."""
    problems: tuple[Problem, ...]


class Victim(NamedTuple):
    """An entry that `Cache.gc` evicted, or would evict."""

    key: str
    entry: str
    bytes: int


class Collected(NamedTuple):
    """What `Cache.gc` did, or would do."""

    entries: int
    bytes: int
    attachments: int
    """That no entry needs any more."""
    stray: int
    """Left-over temporary files."""
    left_bytes: int
    victims: tuple[Victim, ...]


class Fact(NamedTuple):
    """What `Cache.doctor` found out."""

    name: str
    value: str
    warning: str | None
    """What should be done about it."""


class Maintains(Handle):
    __slots__ = ()

    def verify(self, *, threads: int = 1, progress: Progress | None = None) -> Verified:
        """Reads everything and checks it against its checksums; changes nothing."""
        keys, entries, size, problems = self._native.verify(whole("threads", threads, INT_MAX), progress)
        return Verified(keys, entries, size, tuple(Problem(*found) for found in problems))

    def repair(self, *, progress: Progress | None = None) -> Repaired:
        """Rebuilds every index from the entries alone. What is damaged is moved to ``quarantine/``, nothing is deleted;
        afterwards `verify` finds nothing.
        """
        *numbers, problems = self._native.repair(progress)
        return Repaired._make((*numbers, tuple(Problem(*found) for found in problems)))

    def gc(
        self,
        *,
        dry_run: bool = False,
        target_bytes: int = 0,
        max_age: float = 0,
        namespace: str | None = None,
        progress: Progress | None = None,
    ) -> Collected:
        """Evicts a whole `namespace`, what has been unused for `max_age` seconds, then the longest unused down to
        `target_bytes` (0: nine tenths of the cap); removes left-over files.

        With `dry_run` it only says what would go.
        """
        target, age = whole("target_bytes", target_bytes), in_ns("max_age", max_age)
        *numbers, victims = self._native.gc(dry_run, target, age, namespace, progress)
        return Collected._make((*numbers, tuple(Victim(*found) for found in victims)))

    def doctor(self) -> list[Fact]:
        """Versions, place, permissions, free space, sizes and limits, and what should be done about them."""
        return [Fact(*found) for found in self._native.doctor()]
