"""What an adapter remembers of its process, for `Adapter.lookups` and `Adapter.statistics`."""

from __future__ import annotations

import re
from collections import Counter

from guardcache._classes import NamedTuple

# What has a digit in it.
_FIGURES = re.compile(r"[\w.+-]*\d[\w.+-]*")

HIT, MISS, BYPASS = "hit", "miss", "bypass"


class Lookup(NamedTuple):
    """One compile that was asked for."""

    outcome: str
    """``hit``, ``miss`` (it was compiled, and stored unless `note` says why not), or ``bypass``."""
    reason: str
    """Of a miss: guardcache's reason. Of a bypass: why it can't be cached."""
    label: str
    key: str
    """Empty where there was no description."""
    note: str
    """For people: why a miss wasn't stored, why an entry couldn't be loaded."""
    seconds: float
    """What it took, a compile included."""
    saved_seconds: float
    """Of a hit: what compiling had taken."""
    tier: str = ""
    """Of a hit: who had it, `guardcache.Hit.tier`."""


class Statistics(NamedTuple):
    """What an adapter did in this process."""

    hits: int
    misses: dict[str, int]
    """By guardcache's reason."""
    bypasses: dict[str, int]
    """By why it can't be cached."""
    not_stored: dict[str, int]
    """Misses whose results weren't stored, by why, with ``…`` for times, sizes and names of entries: there would be as
    many reasons as misses."""
    saved_seconds: float
    """Compile time that the hits saved."""

    @property
    def lookups(self) -> int:
        return self.hits + sum(self.misses.values()) + sum(self.bypasses.values())


class Counts:
    """Lookups added up. Not thread-safe by itself."""

    def __init__(self) -> None:
        self._by: dict[str, Counter[str]] = {
            HIT: Counter(),
            MISS: Counter(),
            BYPASS: Counter(),
            "not stored": Counter(),
        }
        self._saved_seconds = 0.0

    def add(self, lookup: Lookup) -> None:
        self._by[lookup.outcome][lookup.reason] += 1
        if lookup.outcome == MISS and lookup.note:
            self._by["not stored"][_FIGURES.sub("…", lookup.note)] += 1
        self._saved_seconds += lookup.saved_seconds

    def sum(self) -> Statistics:
        counted = {name: dict(counter) for name, counter in self._by.items()}
        hits = sum(counted[HIT].values())
        return Statistics(hits, counted[MISS], counted[BYPASS], counted["not stored"], self._saved_seconds)
