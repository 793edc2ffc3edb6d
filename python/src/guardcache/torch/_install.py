"""Puts the adapter's parts under PyTorch, as far as PyTorch's private functions are where they are expected."""

from __future__ import annotations

import importlib
import logging
import os
from typing import TYPE_CHECKING

import torch

import _guardcache_start
from guardcache import Cache
from guardcache.adapter import Installation, NotInstalledError, Patches, SeamsMovedError, check, open_cache, usable
from guardcache.torch.parts import BASE, CACHES, CANONICAL, PARTS, PRECOMPILE

if TYPE_CHECKING:
    # It may only be imported where the seams of `BASE` are in their places.
    from guardcache.torch._adapter import Adapter

__all__ = ["NotInstalledError", "SeamsMovedError", "current", "install", "is_installed", "moved", "uninstall"]

log = logging.getLogger("guardcache.torch")

_here: Installation[Adapter] = Installation("guardcache.torch")


def install(
    cache: Cache | str | os.PathLike[str] | None = None, *, key: str = "pytorch", precompile: bool = False
) -> None:
    """Puts guardcache under ``torch.compile``: every later compile of this process looks there.

    `cache` is an open cache, a directory, or None for the default directory. With ``key="canonical"`` Inductor's
    graphs are known by guardcache's own description instead of PyTorch's key. With ``precompile=True`` what Dynamo
    makes of a function is kept too: a process that finds it neither traces nor lowers. Installing again replaces what
    was installed before.

    No list of versions decides whether this PyTorch is known: each function that is replaced is compared with what the
    adapter expects. A part of the adapter under which one has moved is left out with a warning that names it, and the
    others work; `SeamsMovedError` if neither graph cache is left.
    """
    if key not in ("pytorch", "canonical"):
        raise ValueError(f'key is "pytorch" or "canonical", not {key!r}')
    with _here.lock:
        _guardcache_start.cancel()
        uninstall()
        optional = {CANONICAL: key == "canonical", PRECOMPILE: precompile}
        wanted = (*PARTS, *(part for part, chosen in optional.items() if chosen))
        chosen = usable(wanted, project=f"PyTorch {torch.__version__}", log=log, base=BASE, one_of=CACHES)
        adapter = _adapter(cache)

        def plan(patches: Patches) -> None:
            for part in chosen:
                importlib.import_module(f"guardcache.torch.parts.{part.name}").plan(patches, adapter)

        _here.put(adapter, plan)


def uninstall() -> None:
    """Puts PyTorch's own functions back. Nothing happens if `install` wasn't called."""
    _here.remove()


def current() -> Adapter:
    with _here.lock:
        _guardcache_start.finish()
        return _here.current()


def is_installed() -> bool:
    with _here.lock:
        _guardcache_start.finish()
        return bool(_here)


def moved() -> dict[str, list[str]]:
    """What this PyTorch has moved under each part of the adapter: nothing where the part works.

    >>> moved()["tuning"]
    []
    """
    return check((BASE, *PARTS, CANONICAL, PRECOMPILE))


def _adapter(cache: Cache | str | os.PathLike[str] | None) -> Adapter:
    from guardcache.torch._adapter import Adapter

    return Adapter(cache if isinstance(cache, Cache) else open_cache(cache, log), own=not isinstance(cache, Cache))
