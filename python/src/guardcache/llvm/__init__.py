"""guardcache under llvmlite: a module that was compiled once isn't compiled again, by any process.

>>> import guardcache.llvm
>>> guardcache.llvm.install()

Every MCJIT engine that is made from then on asks guardcache for a module's object code before it generates any. Names
that a compiler makes up don't count: on a hit the object's symbols get the names of the module that is asked for.
docs/numba.md has the rest.
"""

from __future__ import annotations

from guardcache.adapter import Lookup, NotInstalledError, SeamsMovedError, Statistics
from guardcache.llvm._install import current, install, is_installed, moved, uninstall

__all__ = [
    "Lookup",
    "NotInstalledError",
    "SeamsMovedError",
    "Statistics",
    "current",
    "explain",
    "install",
    "is_installed",
    "moved",
    "statistics",
    "uninstall",
]


def explain(last: int = 1, *, label: str | None = None, everything: bool = False) -> str:
    """Why the last modules had to be compiled, newest first, by any process; `label` selects those whose module's name
    contains a text.
    """
    return current().explain(last, label=label, everything=everything)


def statistics() -> Statistics:
    """What the adapter did in this process."""
    return current().statistics()
