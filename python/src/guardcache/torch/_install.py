"""Puts the adapter's parts under PyTorch, as far as PyTorch's private functions are where they are expected."""

from __future__ import annotations

import importlib
import logging
import os
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch

import _guardcache_start
import guardcache
from guardcache import Cache, Durability
from guardcache.adapter import Part, Patches, check
from guardcache.torch.parts import AOT, BASE, CACHES, CANONICAL, NAMES, PARTS, PRECOMPILE

if TYPE_CHECKING:
    # It may only be imported where the seams of `BASE` are in their places.
    from guardcache.torch._adapter import Adapter

log = logging.getLogger("guardcache.torch")

_lock = threading.RLock()
_installed: tuple[Adapter, Patches] | None = None


class NotInstalledError(RuntimeError):
    """`install` wasn't called."""


class SeamsMovedError(RuntimeError):
    """Under neither of PyTorch's graph caches the adapter finds what it replaces."""


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
    global _installed
    with _lock:
        _guardcache_start.cancel()
        uninstall()
        optional = {CANONICAL: key == "canonical", PRECOMPILE: precompile}
        chosen = _usable((*PARTS, *(part for part, wanted in optional.items() if wanted)))
        adapter, patches = _adapter(cache), Patches()
        try:
            for part in chosen:
                importlib.import_module(f"guardcache.torch.parts.{part.name}").plan(patches, adapter)
            patches.apply()
        except BaseException:
            adapter.close()
            raise
        _installed = (adapter, patches)


def uninstall() -> None:
    """Puts PyTorch's own functions back. Nothing happens if `install` wasn't called."""
    global _installed
    with _lock:
        if _installed is None:
            return
        adapter, patches = _installed
        patches.undo()
        _installed = None
        adapter.close()


def current() -> Adapter:
    with _lock:
        _guardcache_start.finish()
        if _installed is None:
            raise NotInstalledError("guardcache.torch.install() wasn't called")
        return _installed[0]


def is_installed() -> bool:
    with _lock:
        _guardcache_start.finish()
        return _installed is not None


def moved() -> dict[str, list[str]]:
    """What this PyTorch has moved under each part of the adapter: nothing where the part works.

    >>> moved()["tuning"]
    []
    """
    return check((BASE, *PARTS, CANONICAL, PRECOMPILE))


def _usable(wanted: Iterable[Part]) -> list[Part]:
    """The parts that this PyTorch has the seams of; of the others it is said what moved."""
    base = BASE.moved()
    gone = {part.name: part.moved() for part in wanted}
    chosen = [
        part for part in wanted if not gone[part.name] and (part not in (NAMES, PRECOMPILE) or not gone[AOT.name])
    ]
    if base or not any(part in CACHES for part in chosen):
        reasons = base or [reason for part in CACHES for reason in gone[part.name]]
        raise SeamsMovedError(
            f"guardcache doesn't know its way about PyTorch {torch.__version__}, which compiles as without it: "
            + "; ".join(reasons)
        )
    for part in wanted:
        if gone[part.name]:
            log.warning(
                "%s: left out, since in PyTorch %s %s. Still works: %s",
                part.what,
                torch.__version__,
                "; ".join(gone[part.name]),
                ", ".join(other.what for other in chosen),
            )
    return chosen


def _adapter(cache: Cache | str | os.PathLike[str] | None) -> Adapter:
    from guardcache.torch._adapter import Adapter

    return Adapter(cache if isinstance(cache, Cache) else _open(cache), own=not isinstance(cache, Cache))


def _open(directory: str | os.PathLike[str] | None) -> Cache:
    """As PyTorch's own files, entries aren't synced: what a power cut takes is compiled again, never misread. Nor are
    they compressed: that would take as long as all the rest of an insert, and some of each hit.

    Settings that somebody made count here as for the command, those two included.
    """
    chosen = guardcache.default_directory() if directory is None else directory
    options: dict[str, Any] = {"durability": Durability.NONE, "compression_level": -1, **guardcache.settings(chosen)}
    return Cache(chosen, **options, log=_warn)


def _warn(line: str) -> None:
    log.warning("%s", line)
