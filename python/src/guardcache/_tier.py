"""A tier of the program's own: a place beyond the cache directory where entries live, for a fleet to share."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from guardcache._classes import NamedTuple

_lock = threading.Lock()


class TierObject(NamedTuple):
    """Immutable bytes in a tier, named by what they are."""

    kind: str
    """``head``: what choosing among a key's candidates reads. ``payload``, ``description``: what lies under a key, too.
    ``attachment``, ``value``: what lies under none."""
    key: str
    """64 hex digits; "" where the kind has none."""
    name: str
    """Up to 64 hex digits; "" where the kind has none."""
    content: bytes | None = None
    """None in what is asked for."""

    @property
    def path(self) -> str:
        """Kind, key and name in one: what to call it in a store that has names."""
        return "/".join(part for part in self[:3] if part)


class TierLease(NamedTuple):
    """Who may publish only while he leads."""

    key: str
    """What is compiled."""
    name: str
    """Of the lease: hex digits."""
    holder: str
    """Who asks: hex digits that nobody else has."""
    ttl: float
    """Seconds. Without being kept it ends so long after it was taken or kept last."""
    token: int
    """Larger than that of every holder before; 0 before it is taken."""


class TierCall(NamedTuple):
    """What holds for one call of a tier."""

    deadline: float | None
    """By `time.monotonic()`: answer, or raise `TimeoutError`, by then. What comes later doesn't count."""
    connect_deadline: float | None
    """The same for a connection that has to be made first."""
    max_bytes: int
    """Larger objects are left out."""
    ttl: float | None
    """What is published or touched may be forgotten after so many seconds; None: it is to be kept."""
    fence: TierLease | None
    """Of `publish` and `remove`: only if nobody has held this lease with a larger token. Else raise `FencedError`."""


class Tier(ABC):
    """What a cache asks after its own directory has missed, and writes to what it stores: ``Cache(tiers=[MyTier()])``.

    Four methods have to be there. The others are optional: what a class doesn't define, the cache does without.
    `guardcache/tier.h` is the whole contract. What a tier owes: objects are whole or absent
    to every reader; publishing what is there leaves it as it is or replaces it by equal bytes; after `publish` returned
    every reader finds it, until it is removed or runs out. It needs no compare-and-swap and believes nobody: what it
    hands out is verified, guards are evaluated, time-outs counted, and trouble kept away from lookups by the library.

    Methods are called by any thread, many at once, some of them the library's own. Whatever they raise is trouble
    of the tier (`Reason.REMOTE_UNAVAILABLE`, of `TimeoutError` `Reason.REMOTE_TIMEOUT`), told in the exception's words,
    and costs the lookup no more than the tier.
    """

    name: str = ""
    """What explanations call it, as ``memcache://rack-7``; without credentials. "": what the class is called."""
    read_only: bool = False
    ttl: float = 0
    """Seconds that objects are kept; 0: for good."""
    timeout: float = 0
    """Seconds that a lookup waits for it; 0: the library's default, two."""

    _caches = 0

    @abstractmethod
    def list(self, call: TierCall, key: str) -> Iterable[TierObject]:
        """Every ``head`` of a key, in any order."""

    @abstractmethod
    def fetch(self, call: TierCall, wanted: Sequence[TierObject]) -> Iterable[TierObject]:
        """Those of the wanted objects that are there."""

    @abstractmethod
    def publish(self, call: TierCall, objects: Sequence[TierObject]) -> None:
        """Stores objects, in their order: a reader that sees one can get those before it."""

    @abstractmethod
    def remove(self, call: TierCall, wanted: Sequence[TierObject]) -> None:
        """Takes objects away; those that aren't there are no trouble."""

    def touch(self, call: TierCall, wanted: Sequence[TierObject]) -> None:
        """Optional. They are in use: their time to live begins anew."""
        raise NotImplementedError

    def share(self, call: TierCall, value: TierObject) -> bytes | None:
        """Optional. Stores a ``value`` unless one of that name is there: returns that one's content, else None."""
        raise NotImplementedError

    def lease(self, call: TierCall, lease: TierLease) -> int | None:
        """Optional, with `keep` and `release`. Takes a lease: its token, or None if it is somebody else's."""
        raise NotImplementedError

    def keep(self, call: TierCall, lease: TierLease) -> bool:
        """Keeps it for another `TierLease.ttl`. False: it is lost."""
        raise NotImplementedError

    def release(self, call: TierCall, lease: TierLease) -> bool:
        """Gives it back. False: it was lost."""
        raise NotImplementedError

    def walk(self, call: TierCall, cursor: str) -> tuple[Iterable[str], str | None]:
        """Optional, for `Cache.sync`. Some keys that have heads, and a cursor for the next call, at most 127 bytes;
        None: that was the end. The first cursor is "".
        """
        raise NotImplementedError

    def statistics(self, call: TierCall) -> Mapping[str, int]:
        """Numbers of its own, for `Cache.ping`, which asks whether it answers. This one asks for what isn't there."""
        for _ in self.list(call, "0" * 64):
            break
        return {}

    def close(self) -> None:  # noqa: B027 # who has nothing to close needs none
        """The last cache that had it open was closed."""

    def _enter(self) -> None:
        with _lock:
            self._caches += 1

    def _leave(self) -> None:
        with _lock:
            self._caches -= 1
            last = self._caches == 0
        if last:
            self.close()

    def _shown(self) -> str:
        return self.name or type(self).__name__

    def _has(self, *methods: str) -> bool:
        """Whether the class defines these optional ones."""
        return all(getattr(type(self), method) is not getattr(Tier, method) for method in methods)
