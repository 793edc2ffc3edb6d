"""guardcache under numba: what was jitted once isn't compiled again, by any process.

>>> import guardcache.numba
>>> guardcache.numba.install()

Every ``@njit`` function of the process is then known by its code and by what that reads: constants, globals, closures,
other functions, options, argument types. Its file, its lines, its name and the order of compilation don't count.
``GUARDCACHE_NUMBA=1`` installs it in a program that can't be edited. docs/numba.md has the rest.
"""

from __future__ import annotations

from guardcache.adapter import Lookup, NotInstalledError, SeamsMovedError, Statistics
from guardcache.numba._install import current, install, is_installed, moved, uninstall

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
    """Why the last functions had to be compiled, newest first, by any process; `label` selects those whose label
    (``area.py:12 area(float64)``) contains a text.
    """
    return current().explain(last, label=label, everything=everything)


def statistics() -> Statistics:
    """What the adapter did in this process."""
    return current().statistics()
