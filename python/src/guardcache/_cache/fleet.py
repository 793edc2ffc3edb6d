"""Tiers looked at, waited for, made equal to the directory; values for the other processes of a job:
`guardcache/fleet.h`, `share.h`.
"""

from __future__ import annotations

import time

from guardcache._cache.handle import Handle
from guardcache._cache.options import Progress
from guardcache._cache.results import Buffer, Reason
from guardcache._checked import SECOND_NS
from guardcache._classes import NamedTuple, Record
from guardcache._errors import ArgumentError, BusyError

# A wait that may be long lets Python look for signals so often.
_SIGNAL_SECONDS = 0.5

# As long as for a compile: the leader may be at one first.
_SHARE_SECONDS = 1200.0


class TierState(Record):
    """A tier as it stands, and what this cache has asked of it."""

    name: str
    """Its URL without credentials, or what a `Tier` is called."""
    read_only: bool
    left_alone: bool
    """It was in trouble a moment ago: lookups don't ask it for now."""
    counts: dict[str, int]
    """``asked``, ``hits``, ``misses``, ``timeouts``, ``published``, ...: of `guardcache/fleet.h`."""


class TierAnswer(TierState):
    """The same, after it was asked whether it is there; true if it answered."""

    answered: bool
    reason: Reason
    message: str
    """Why it didn't, in words."""
    seconds: float
    numbers: dict[str, int]
    """What it says of itself."""

    def __bool__(self) -> bool:
        return self.answered


class Synced(NamedTuple):
    """What `Cache.sync` did."""

    keys: int
    """That were compared."""
    pushed: int
    pulled: int
    present: int
    """On both sides already."""
    left_out: int
    """Damaged, unsigned, too large, or gone meanwhile."""


def _slice_ns(left: float) -> int:
    """Of a wait that may be long; once at least it is tried."""
    return max(1, int(min(left, _SIGNAL_SECONDS) * SECOND_NS))


class Fleet(Handle):
    __slots__ = ()

    def tiers(self) -> list[TierState]:
        """The tiers in the order they are asked, and what was asked of them. Nobody is asked now."""
        return [TierState(*found) for found in self._native.tiers()]

    def ping(self) -> list[TierAnswer]:
        """The same after asking each tier whether it is there, also one that is left alone for now."""
        return [
            TierAnswer(name, read_only, left_alone, counts, answered, Reason(reason), message, ns / SECOND_NS, numbers)
            for name, read_only, left_alone, counts, answered, reason, message, ns, numbers in self._native.ping()
        ]

    def flush(self, timeout: float | None = None) -> None:
        """Waits until what was stored so far is in every tier that is written to.

        With a `timeout` in seconds tiers in trouble are asked again and again. Without one, until everything has been
        offered once. `BusyError`, which is a `TimeoutError`, says what didn't get there.
        """
        if timeout is None:
            self._native.flush(0)
            return
        end = time.monotonic() + timeout
        while True:
            left = end - time.monotonic()
            try:
                self._native.flush(_slice_ns(left))
                return
            except BusyError:
                if left <= _SIGNAL_SECONDS:
                    raise

    def sync(
        self,
        url: str | None = None,
        *,
        push: bool = True,
        pull: bool = True,
        again: bool = False,
        progress: Progress | None = None,
    ) -> Synced:
        """Makes the directory and the tiers equal, entry by entry: takes there what isn't there, fetches what isn't
        here.

        `url` is of one tier, which needn't be among the cache's own. `again` takes there also what is there already,
        which heals what was damaged or evicted in part. `progress` hears how many keys are done, of how many; 0 while
        nobody knows. `BusyError` or `StoreError`: a tier is in trouble; what was done until then needn't be done
        again.
        """
        if not push and not pull:
            raise ArgumentError("neither push nor pull: there is nothing to do")
        return Synced._make(self._native.sync(url, push, pull, again, progress))

    def share(self, job: str, name: str, value: Buffer | None = None, *, timeout: float = _SHARE_SECONDS) -> bytes:
        """Tells the other processes of a job a value, or, without one, waits for what the leader tells.

        `job` is the run that it belongs to, the same text in all its processes; `name` is what is shared. Who tells a
        second value under one name gets the first one back. `BusyError`: the leader said nothing in time.
        """
        end = time.monotonic() + timeout
        while True:
            left = end - time.monotonic()
            try:
                return self._native.share(job, name, value, _slice_ns(left))
            except BusyError:
                if value is not None or left <= _SIGNAL_SECONDS:
                    raise
