"""Puts the adapter under JAX, if JAX's private functions are where they are expected."""

from __future__ import annotations

import logging
import os
from typing import Any

import jax

from guardcache import Cache
from guardcache.adapter import Adapter, Installation, Patches, check, usable
from guardcache.jax._seams import COMPILES, EXPORTS

log = logging.getLogger("guardcache.jax")

# JAX's settings have no types.
_settings: Any = jax.config

# Below the cache directory: what XLA itself keeps between processes.
_XLA_DIRECTORY = os.path.join("sub", "xla")


class _Adapter(Adapter):
    """The adapter, and the setting of JAX's that it has made."""

    def __init__(self, cache: Cache | str | os.PathLike[str] | None) -> None:
        super().__init__("jax", cache, kind="stablehlo", **_options(cache))
        self._directory: str | None = None
        """Where XLA keeps its own, if this adapter said so."""
        if _settings.jax_compilation_cache_dir is None:
            self._directory = os.path.abspath(os.path.join(self.cache.directory, _XLA_DIRECTORY))
            _settings.update("jax_compilation_cache_dir", self._directory)

    def close(self) -> None:
        if self._directory is not None and _settings.jax_compilation_cache_dir == self._directory:
            _settings.update("jax_compilation_cache_dir", None)
        super().close()


_here: Installation[_Adapter] = Installation("guardcache.jax")


def install(cache: Cache | str | os.PathLike[str] | None = None) -> None:
    """Puts guardcache under `jax.jit`: every later compile of this process looks there instead of in JAX's own store.

    `cache` is an open cache, a directory, or None for the default directory. JAX's settings count as before, but for
    the directory: ``jax_enable_compilation_cache``, ``jax_persistent_cache_min_compile_time_secs``, ...: what compiles
    in less than that second isn't stored, unless it is set to 0. What XLA keeps between processes by itself goes below
    the cache directory, unless ``jax_compilation_cache_dir`` names another. Installing again replaces what was
    installed before.

    No list of versions decides whether this JAX is known: each function that is replaced or called is compared with
    what the adapter expects. `SeamsMovedError` if one has moved; JAX compiles as without the adapter then.
    """
    with _here.lock:
        uninstall()
        usable((COMPILES,), project=f"JAX {jax.__version__}", log=log)
        from guardcache.jax._compile import plan

        adapter = _Adapter(cache)

        def replace(patches: Patches) -> None:
            plan(patches, adapter)

        _here.put(adapter, replace)


def usable_exports() -> None:
    """`SeamsMovedError` if what exports need has moved."""
    usable((EXPORTS,), project=f"JAX {jax.__version__}", log=log)


def uninstall() -> None:
    """Puts JAX's own functions back. Nothing happens if `install` wasn't called."""
    _here.remove()


def current() -> Adapter:
    return _here.current()


def is_installed() -> bool:
    return bool(_here)


def moved() -> dict[str, list[str]]:
    """What this JAX has moved under each part of the adapter: nothing where the part works.

    >>> moved()["compiles"]
    []
    """
    return check((COMPILES, EXPORTS))


def _options(cache: Cache | str | os.PathLike[str] | None) -> dict[str, bool]:
    """Trouble with the store is an error where JAX is told to take it as one; a cache that is open has its own way."""
    strict = not isinstance(cache, Cache) and _settings.jax_raise_persistent_cache_errors
    return {"strict": True} if strict else {}
