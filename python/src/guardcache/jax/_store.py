"""What JAX wants stored of a compile, and what not: its settings, its words in its log, its events."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from typing import Any

from jax._src import compilation_cache, compiler, config, distributed, monitoring

from guardcache import Cache, Compiled, Graph

CALLBACKS = "it calls back into Python (jax.debug.print, pure_callback, io_callback, ...)"

_NS = 1_000_000_000


def compiled_of(
    key: str, seconds: float, name: str, backend: Any, executable: Any, host_callbacks: Sequence[Any]
) -> Compiled:
    """The executable as it is stored, or why it isn't."""
    compile_ns = max(1, int(seconds * _NS))
    objection = _objection(seconds, name, host_callbacks)
    if objection is not None:
        return Compiled(b"", compile_ns=compile_ns, do_not_store=objection)
    try:
        payload = _serialize(backend, executable)
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        if config.raise_persistent_cache_errors.value:
            raise
        warnings.warn(f"Error writing persistent compilation cache entry for '{name}': {told}", stacklevel=2)
        return Compiled(b"", compile_ns=compile_ns, do_not_store=f"the backend can't serialize it: {told}")
    small = _too_small(key, len(payload))
    if small is None:
        _tell_written(key, name)
    return Compiled(payload, compile_ns=compile_ns, do_not_store=small)


def _objection(seconds: float, name: str, host_callbacks: Sequence[Any]) -> str | None:
    """Why it isn't to be stored, before anybody knows its size."""
    if distributed.global_state.process_id != 0:
        _log("Not writing persistent cache entry since process_id != 0")
        return f"process {distributed.global_state.process_id} of the job doesn't write, process 0 does"
    if host_callbacks:
        _log(
            "Not writing persistent cache entry for '%s' because it uses host callbacks "
            "(e.g. from jax.debug.print or breakpoint)",
            name,
        )
        return CALLBACKS
    least = config.persistent_cache_min_compile_time_secs.value
    if seconds < least:
        _log(
            "Not writing persistent cache entry for '%s' because it took < %.2f seconds to compile (%.2fs)",
            name,
            least,
            seconds,
        )
        return (
            f"it compiled in {seconds:.3g} s, less than the {least:g} s of jax_persistent_cache_min_compile_time_secs"
        )
    compiler.logger.debug("'%s' took at least %.2f seconds to compile (%.2fs)", name, least, seconds)
    return None


def _too_small(key: str, size: int) -> str | None:
    least = config.persistent_cache_min_entry_size_bytes.value
    if size >= least:
        return None
    _log(
        "Not writing persistent cache entry with key %r since its size (%d bytes) is less than threshold (%d bytes)",
        key,
        size,
        least,
    )
    return f"it has {size} bytes, less than the {least} of jax_persistent_cache_min_entry_size_bytes"


def _tell_written(key: str, name: str) -> None:
    _log("Writing %s to persistent compilation cache with key %r", name, key)
    monitoring.record_event("/jax/compilation_cache/cache_misses")
    if config.compilation_cache_expect_pgle.value:
        warnings.warn(
            f"PERSISTENT CACHE WRITE with key {key}: unexpected, since JAX_COMPILATION_CACHE_EXPECT_PGLE says that "
            "what is compiled here was compiled with a profile before",
            stacklevel=2,
        )


def _serialize(backend: Any, executable: Any) -> bytes:
    found: bytes = (
        executable.serialize() if hasattr(executable, "serialize") else backend.serialize_executable(executable)
    )
    return found


def _log(text: str, *arguments: object) -> None:
    level = logging.WARNING if config.explain_cache_misses.value else logging.DEBUG
    compiler.logger.log(level, text, *arguments)


class Verification:
    """With ``jax_compilation_cache_check_contents`` the first compile of each key in a process is done in any case, and
    what comes out is compared with what is stored.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._verified: set[str] = set()

    def wanted(self, key: str) -> bool:
        return config.compilation_cache_check_contents.value and key not in self._verified

    def verify(self, key: str, graph: Graph, compiled: Compiled) -> None:
        """Raises what JAX raises."""
        if not self.wanted(key):
            return
        # One of another name differs in that, so it isn't asked for here.
        stored = self._cache.lookup(graph)
        if stored and bytes(stored.payload) != compiled.payload:
            raise _mismatch(key, bytes(stored.payload), bytes(compiled.payload))
        self._verified.add(key)


def _mismatch(key: str, stored: bytes, fresh: bytes) -> Exception:
    told = (
        f"Persistent compilation cache inconsistency for key {key}. Executable found in the disk cache does not match "
        "the freshly compiled executable."
    )
    kind: Any = getattr(compilation_cache, "CacheVerificationError", None)
    return RuntimeError(told) if kind is None else kind(told, key, stored, fresh)
