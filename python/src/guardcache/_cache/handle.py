"""The handle: opening, closing, and what is left to do when the interpreter ends."""

from __future__ import annotations

import atexit
import os
import time
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TypeVar, Unpack

from guardcache import _native
from guardcache._cache.events import native_listener
from guardcache._cache.options import CacheOptions, Durability, Tiers, Trust, check_opening
from guardcache._checked import INT_MAX, SECOND_NS, flag, function, in_ns, whole
from guardcache._errors import BusyError
from guardcache._signing import key_parts
from guardcache._tier import Tier

# How long the end of the interpreter waits for a tier's method that some thread is in.
_ENDING_SECONDS = 2.0

# How long it waits for tiers to take what is on its way: all in all, and since the last entry they took.
_SETTLING_SECONDS = 10.0
_STILL_SECONDS = 4.0

_open: weakref.WeakSet[Handle] = weakref.WeakSet()

Self = TypeVar("Self", bound="Handle")


class Handle:
    """An open directory; `Cache` adds what can be done with it."""

    __slots__ = ("__weakref__", "_flush_timeout", "_native", "_own_tiers", "_strict", "directory")

    def __init__(self, directory: str | os.PathLike[str], **options: Unpack[CacheOptions]) -> None:
        """Opens a directory and makes it (mode 0700) if it isn't there. Options are those of `CacheOptions`."""
        check_opening(options)
        function("log", options.get("log"))
        function("listener", options.get("listener"))
        record = options.get("record")
        self.directory = os.fspath(directory)
        self._strict = flag("strict", options.get("strict", False))
        urls, own = _split_tiers(options.get("tiers"))
        self._own_tiers = bool(own)
        self._flush_timeout = options.get("flush_timeout", 0)
        with _entered(own) as natives:
            self._native = _native.Cache(
                self.directory,
                flag("read_only", options.get("read_only", False)),
                self._strict,
                flag("disabled", options.get("disabled", False)),
                flag("unsafe_skip_guards", options.get("unsafe_skip_guards", False)),
                flag("refresh", options.get("refresh", False)),
                options.get("bypass"),
                Durability(options.get("durability", Durability.ENTRY)),
                Trust(options.get("trust", Trust.OWNER)),
                options.get("namespace"),
                whole("max_candidates", options.get("max_candidates", 0), INT_MAX),
                whole("max_size", options.get("max_size", 0)),
                whole("memory_bytes", options.get("memory_bytes", 0)),
                options.get("compression_level", 0),
                None if record is None else os.fspath(record),
                options.get("log"),
                key_parts(options.get("signing")),
                flag("require_signature", options.get("require_signature", False)),
                whole("columns", options.get("columns", 0)),
                flag("color", options.get("color", False)),
                urls,
                natives,
                in_ns("flush_timeout", self._flush_timeout),
                in_ns("max_age", options.get("max_age", 0)),
                flag("journal", options.get("journal", True)),
                native_listener(options.get("listener")),
            )
        _open.add(self)

    @classmethod
    def _restored(cls: type[Self], native: _native.Cache, directory: str, strict: bool, flush_timeout: float) -> Self:
        self = cls.__new__(cls)
        self.directory = directory
        self._strict = strict
        self._own_tiers = False
        self._flush_timeout = flush_timeout
        self._native = native
        _open.add(self)
        return self

    def close(self) -> None:
        self._native.close()

    @property
    def closed(self) -> bool:
        return self._native.closed()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # There is no `_native` where opening failed.
        if hasattr(self, "_native") and not self.closed:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, stacklevel=2, source=self)

    def __repr__(self) -> str:
        return f"<guardcache.Cache {self.directory!r}{' closed' if self.closed else ''}>"


def _split_tiers(tiers: Tiers | None) -> tuple[str | None, tuple[Tier, ...]]:
    """The URLs as the library takes them, and the program's own."""
    given = (tiers,) if isinstance(tiers, str) else tuple(tiers or ())
    urls = " ".join(tier for tier in given if isinstance(tier, str))
    return urls or None, tuple(tier for tier in given if not isinstance(tier, str))


def _native_tier(tier: Tier) -> _native.UserTier:
    if not isinstance(tier, Tier):
        raise TypeError(f"a tier is a URL or a guardcache.Tier, not {tier!r}")
    return _native.UserTier(
        tier,
        tier._shown(),
        tier._has("touch"),
        tier._has("share"),
        tier._has("lease", "keep", "release"),
        tier._has("walk"),
        tier.read_only,
        in_ns("ttl", tier.ttl),
        in_ns("timeout", tier.timeout),
    )


@contextmanager
def _entered(tiers: tuple[Tier, ...]) -> Iterator[tuple[_native.UserTier, ...]]:
    """They are left again where what is done with them fails, else by the library when it has let go of them."""
    natives = tuple(_native_tier(tier) for tier in tiers)
    for tier in tiers:
        tier._enter()
    try:
        yield natives
    except BaseException:
        for tier in tiers:
            tier._leave()
        raise


def _settle(cache: Handle) -> bool:
    """Whether everything is in the tiers; as long as more and more gets there it is waited for."""
    began = moved = time.monotonic()
    before = 0
    while True:
        try:
            cache._native.flush(SECOND_NS // 10)
            return True
        except BusyError:
            counts = [tier[3] for tier in cache._native.tiers()]
            arrived = sum(count["published"] + count["not_published"] for count in counts)
            now = time.monotonic()
            if arrived != before:
                before, moved = arrived, now
            if now - moved > _STILL_SECONDS or now - began > (cache._flush_timeout or _SETTLING_SECONDS):
                return False


def _end() -> None:
    """The interpreter ends: what is on its way to tiers still gets there, and no thread of the library's calls Python
    any more afterwards.
    """
    left: list[Handle] = []
    for cache in list(_open):
        with suppress(Exception):
            # The library waits by itself when it closes a cache; but a payload that is held keeps it open, and a tier
            # in Python may not return.
            waits = not cache._own_tiers and cache._native.idle()
            if not cache.closed and not waits and not _settle(cache):
                left.append(cache)
            else:
                cache.close()
    _native.callbacks_end(_ENDING_SECONDS)
    for cache in left:
        cache.close()


atexit.register(_end)
os.register_at_fork(after_in_child=_native.callbacks_forked)
