"""PyTorch's tuning tables in guardcache.

PyTorch keeps its local tables in one JSON file that every process reads and rewrites whole, without a lock: concurrent
writers lose each other's rows. Here nothing is rewritten.

* Timings are in the library's own table (`guardcache tune` shows it), which one process fills for all who ask.
* A value of `LocalCache` is an entry: the key is the path of names.
* A best-config record of `AutotuneCache` is one too: the key is its file name, which PyTorch makes from the kernel's
  source, the cache tag and the toolchain.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch._inductor import codecache, config
from torch._inductor.codecache import CacheBase, PersistentCache
from torch._inductor.remote_cache import RemoteCacheBackend

import guardcache
from guardcache import Cache, Graph, Hit, Site
from guardcache.adapter import Patches, find
from guardcache.torch import _entries as entries
from guardcache.torch.parts import LOCAL_AUTOTUNE, LOCAL_BACKEND

if TYPE_CHECKING:
    from guardcache.torch._adapter import Adapter

log = logging.getLogger("guardcache.torch")

KIND = "tuning"

Benchmark = Callable[[Any], dict[Any, float]]


def _row(*names: str) -> Graph:
    digest = hashlib.sha256(json.dumps(names).encode()).hexdigest()
    lines = [(f"name[{i}]", hashlib.sha256(name.encode()).hexdigest(), name) for i, name in enumerate(names)]
    return Graph.keyed(KIND, digest, lines)


def read(cache: Cache, row: Graph) -> bytes | None:
    """The newest value of a row, or None; trouble counts as none."""
    try:
        found = cache.lookup(row)
    except guardcache.Error as error:
        log.warning("a tuning record can't be read: %s", error)
        return None
    return bytes(found.payload) if isinstance(found, Hit) else None


def write(cache: Cache, row: Graph, value: bytes) -> None:
    try:
        cache.insert(row, value)
    except guardcache.Error as error:
        log.warning("a tuning record can't be stored: %s", error)


# ---- benchmark tables ----


def look_up_timings(
    cache: Cache, choices: list[Any], op: str, inputs: str, benchmark: Benchmark | None, hint_override: int | None
) -> dict[Any, float]:
    """As PersistentCache.lookup: a hit if all choices are known, else all are benchmarked again, if they can be."""
    hint = None if hint_override is None else str(hint_override)
    site = Site(CacheBase.get_system()["hash"], op, inputs, hint, entries.matmul_precision())

    def measure() -> list[float]:
        assert benchmark is not None
        measured = benchmark(choices)
        return [measured[choice] for choice in choices]

    if not config.autotune_local_cache:
        return {} if benchmark is None else benchmark(choices)
    names = [choice.hash_key() for choice in choices]
    try:
        timings = cache.timings(site, names, None if benchmark is None else measure)
    except guardcache.Error as error:
        log.warning("the timings can't be kept: %s", error)
        return {} if benchmark is None else benchmark(choices)
    return {} if timings is None else dict(zip(choices, timings, strict=True))


def _plan_tables(patches: Patches, adapter: Adapter) -> None:
    original_timings = vars(PersistentCache)["lookup"]
    original_lookup = vars(codecache.LocalCache)["lookup"]
    original_set = vars(codecache.LocalCache)["set_value"]

    def timings(
        self: Any,
        choices: list[Any],
        op: str,
        inputs: str,
        benchmark: Benchmark | None,
        hint_override: int | None = None,
    ) -> Any:
        if not adapter.at_home():
            return original_timings(self, choices, op, inputs, benchmark, hint_override)
        return look_up_timings(adapter.cache, choices, op, inputs, benchmark, hint_override)

    def lookup(self: Any, *keys: str) -> Any:
        if not adapter.at_home():
            return original_lookup(self, *keys)
        stored = read(adapter.cache, _row("value", self.system["hash"], *keys))
        return None if stored is None else json.loads(stored)

    def set_value(self: Any, *keys: str, value: Any) -> None:
        if not adapter.at_home():
            return original_set(self, *keys, value=value)  # type: ignore[no-any-return]
        return write(adapter.cache, _row("value", self.system["hash"], *keys), json.dumps(value).encode())

    patches.set(PersistentCache, "lookup", timings)
    patches.set(codecache.LocalCache, "lookup", lookup)
    patches.set(codecache.LocalCache, "set_value", set_value)


# ---- best-config records ----


class GuardcacheBackend(RemoteCacheBackend[bytes]):
    """The backend of PyTorch's local autotune cache. It has no state, so that it can be sent to a worker process."""

    def _get(self, key: str) -> bytes | None:
        cache = _cache_here()
        stored = None if cache is None else read(cache, _row("config", _record_name(key)))
        return _own_backend()._get(key) if stored is None else stored

    def _put(self, key: str, data: bytes) -> None:
        cache = _cache_here()
        if cache is None:
            _own_backend()._put(key, data)
        else:
            write(cache, _row("config", _record_name(key)), data)


def _own_backend() -> RemoteCacheBackend[bytes]:
    """Of PyTorch: a file for each record, whose path is the key. What an artifact brought lies there."""
    backend: RemoteCacheBackend[bytes] = find(LOCAL_BACKEND)()
    return backend


def _cache_here() -> Cache | None:
    from guardcache.torch import _install

    if not _install.is_installed():
        return None
    adapter = _install.current()
    return adapter.cache if adapter.at_home() else None


def _record_name(path: str) -> str:
    """PyTorch's key is a path in its directory; the directory doesn't count, so that another machine finds it too."""
    return os.path.basename(path)


def plan(patches: Patches, adapter: Adapter) -> None:
    _plan_tables(patches, adapter)
    patches.set(find(LOCAL_AUTOTUNE), "backend_override_cls", GuardcacheBackend)
