"""A cache directory: open, look up, compile, insert, explain, look around, keep in order."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from typing import Unpack

from guardcache import _native
from guardcache._cache.blobs import Blobs
from guardcache._cache.fleet import Fleet
from guardcache._cache.lookups import Lookups
from guardcache._cache.maintain import Maintains
from guardcache._cache.many import CompilesMany
from guardcache._cache.memo import Memoizes
from guardcache._cache.observe import Observes
from guardcache._cache.options import CacheOptions
from guardcache._cache.settings import default_directory, settings
from guardcache._cache.transfer import Transfers
from guardcache._cache.tuning import Tuning
from guardcache._checked import SECOND_NS
from guardcache._kinds import load_kinds


class Cache(Lookups, CompilesMany, Memoizes, Observes, Maintains, Transfers, Fleet, Tuning, Blobs):
    """An open cache directory. Any number of threads may use it, and any number of processes the directory.

    Payloads that were handed out stay valid after `close`, which waits for them. Caches that are open when the
    interpreter ends are closed then. One that is pickled is opened anew where it is unpickled: with the same
    directory and options, but without `log`, `listener`, `signing` and tiers that are objects; of tiers whose URLs
    have credentials these aren't in the pickle, the other process has them from its own `settings`.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Callable[[str, bool], Cache], tuple[str, bool]]:
        return _restore, (self._native.save(), self._strict)


def _restore(text: str, strict: bool) -> Cache:
    """What a pickled cache becomes in another process."""
    saved = json.loads(text)
    # URLs with credentials stay out of pickles.
    withheld = saved.get("withheld_tiers")
    tiers = settings(saved["directory"]).get("tiers") if withheld else None
    if withheld and not tiers:
        warnings.warn(
            f"without {withheld}: a pickled cache has no credentials, GUARDCACHE_TIERS has them", stacklevel=2
        )
    urls = tiers if isinstance(tiers, str) else None
    native = _native.Cache.restore(text, urls, (), None, None)
    return Cache._restored(native, saved["directory"], strict, saved.get("flush_ns", 0) / SECOND_NS)


def open(directory: str | os.PathLike[str] | None = None, **options: Unpack[CacheOptions]) -> Cache:
    """Opens a cache as the command does: in `default_directory()` if none is named, with the `settings` of environment
    and file, after `load_kinds()`. Options are those of `CacheOptions`, and overrule them.
    """
    load_kinds()
    chosen = default_directory() if directory is None else directory
    combined: CacheOptions = {**settings(chosen), **options}
    return Cache(chosen, **combined)
