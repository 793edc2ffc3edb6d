"""What a cache does, told to a listener as it happens: `guardcache/events.h`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeAlias

from guardcache import _native
from guardcache._cache.results import Reason
from guardcache._classes import NamedTuple

_logger = logging.getLogger("guardcache")


class Event(NamedTuple):
    """Something that a cache did. Texts are empty where there is nothing to say."""

    kind: str
    """``hit``, ``miss``, ``compiled``, ``stored``, ``evicted``, ``corrupt``, ``tier``, ...: of
    `guardcache/events.h`."""
    reason: Reason
    """Of a miss."""
    key: str
    graph_kind: str
    label: str
    variant: str
    compile_ns: int
    elapsed_ns: int
    """Of a hit or miss: what looking up took; of a lease: how long it was waited for."""
    entries: int
    bytes: int
    """Of ``evicted``: how many, and what they took on disk; bytes of ``stored``: the payload's."""
    text: str
    """For people."""
    line: str
    """All of it in one line: ``hit train.py:88 forward (fx 9c41b2e2): saved 4.1 s, took 31 us``."""


Listener: TypeAlias = Callable[[Event], object]

# What somebody should look at, what happens all the time; the rest is INFO.
_LEVELS = {
    "corrupt": logging.WARNING,
    "tier": logging.WARNING,
    "compile_failed": logging.WARNING,
    "request": logging.DEBUG,
    "lease": logging.DEBUG,
    "stored": logging.DEBUG,
}


def log_event(event: Event) -> None:
    """A listener for `Cache`: writes each event's line to the logger ``guardcache``.

    Damage, tiers in trouble and failed compiles are warnings; requests, leases and inserts are for debugging; hits,
    misses and all else is information. Records have the event as their ``event``.
    """
    level = _LEVELS.get(event.kind, logging.INFO)
    if _logger.isEnabledFor(level):
        _logger.log(level, "%s", event.line, extra={"event": event})


def native_listener(listener: Listener | None) -> Callable[[_native._Event], object] | None:
    """As the library calls it."""
    if listener is None:
        return None
    return lambda told: listener(Event(told[0], Reason(told[1]), *told[2:]))
