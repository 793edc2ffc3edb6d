"""guardcache under ``torch.compile``.

>>> import guardcache.torch
>>> guardcache.torch.install()
>>> model = torch.compile(model)            # as before; misses can now be explained
>>> print(guardcache.torch.explain())

For scripts that can't be edited: ``GUARDCACHE_TORCH=1 python script.py``. The variable `GUARDCACHE_DIR` names the
cache directory, as it does for the command; ``GUARDCACHE_TORCH_KEY=canonical`` selects the key.
"""

from __future__ import annotations

from guardcache.torch._install import (
    NotInstalledError,
    SeamsMovedError,
    current,
    install,
    is_installed,
    moved,
    uninstall,
)
from guardcache.torch._records import Lookup, Statistics

__all__ = [
    "Lookup",
    "NotInstalledError",
    "SeamsMovedError",
    "Statistics",
    "explain",
    "install",
    "is_installed",
    "lookups",
    "moved",
    "statistics",
    "uninstall",
]


def explain(last: int = 1) -> str:
    """Says why the `last` compiles of this process were needed, newest first: a miss, or a bypass."""
    adapter = current()
    # What it imports of PyTorch is there where the adapter could be installed.
    from guardcache.torch import _explain

    return _explain.explain(adapter, last)


def lookups() -> list[Lookup]:
    """The lookups of this process, oldest first; the last thousand are kept."""
    return list(current().records)


def statistics() -> Statistics:
    """What the adapter did in this process."""
    return current().statistics()
