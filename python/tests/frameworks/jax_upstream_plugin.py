"""Inside the process that runs JAX's own cache tests: installs the adapter where they make a store of their own.

Each of JAX's tests begins with an empty `InMemoryCache` in the place of JAX's store, and counts what is in it. Here
such a store is an empty guardcache directory with the adapter installed over it, and what is in that counts too.
"""

from __future__ import annotations

import shutil
import tempfile
from types import ModuleType
from typing import Any

import jax
import pytest

import guardcache.jax
from guardcache import Cache

_USED = {"hits": 0, "misses": 0}
_directory = ""


def pytest_collection_finish(session: pytest.Session) -> None:
    for module in {item.module for item in session.items if isinstance(item, pytest.Function)}:
        _use_guardcache(module)


def _use_guardcache(module: ModuleType) -> None:
    theirs: Any = getattr(module, "InMemoryCache", None)
    if theirs is None:
        _install()
        return

    class InMemoryCache(theirs):  # type: ignore[misc]
        """JAX's, for who calls its methods; and guardcache's, for what is compiled."""

        def __init__(self) -> None:
            super().__init__()
            _install()

        def clear(self) -> None:
            super().clear()
            _install()

        def __len__(self) -> int:
            stored: int = super().__len__()
            with Cache(_directory) as cache:
                return stored + sum(1 for _ in cache.entries())

    vars(module)["InMemoryCache"] = InMemoryCache


def _install() -> None:
    global _directory
    _finish()
    _directory = tempfile.mkdtemp(prefix="guardcache-")
    guardcache.jax.install(_directory)
    # JAX's tests fail where they leave a setting other than they found it.
    jax.config.update("jax_compilation_cache_dir", None)


def _finish() -> None:
    if guardcache.jax.is_installed():
        done = guardcache.jax.statistics()
        _USED["hits"] += done.hits
        _USED["misses"] += sum(done.misses.values())
        guardcache.jax.uninstall()
        shutil.rmtree(_directory, ignore_errors=True)


def pytest_unconfigure() -> None:
    _finish()
    print(f"\nguardcache: {_USED['hits']} hits, {_USED['misses']} misses")
