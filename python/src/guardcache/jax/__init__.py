"""guardcache under `jax.jit`.

>>> import guardcache.jax
>>> guardcache.jax.install()
>>> step = jax.jit(step)                   # as before; misses can now be explained
>>> print(guardcache.jax.explain())

For scripts that can't be edited: ``GUARDCACHE_JAX=1 python script.py``. The variable `GUARDCACHE_DIR` names the cache
directory, as it does for the command.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from guardcache.adapter import Lookup, NotInstalledError, SeamsMovedError, Statistics
from guardcache.jax._install import current, install, is_installed, moved, uninstall, usable_exports

if TYPE_CHECKING:
    from guardcache.jax._export import Exported

__all__ = [
    "Lookup",
    "NotInstalledError",
    "SeamsMovedError",
    "Statistics",
    "explain",
    "export",
    "install",
    "is_installed",
    "lookups",
    "moved",
    "statistics",
    "uninstall",
]


def explain(last: int = 1, *, label: str | None = None, everything: bool = False) -> str:
    """Says why the `last` compiles were needed, newest first, by any process: a miss, or a bypass.

    `label` selects modules whose names contain it: ``jit_step``.
    """
    return current().explain(last, label=label, everything=everything)


def lookups() -> list[Lookup]:
    """The lookups of this process, oldest first; the last thousand are kept."""
    return list(current().lookups)


def statistics() -> Statistics:
    """What the adapter did in this process."""
    return current().statistics()


def export(function: Callable[..., Any], *specs: Any) -> Exported:
    """The function, lowered once for all sizes that its symbolic shapes allow, by whichever process comes first.

    `specs` are as `jax.export` takes them, and what is returned is called with arguments of such shapes.

    >>> batch, = jax.export.symbolic_shape("b", constraints=["b >= 2"])
    >>> step = guardcache.jax.export(step, jax.ShapeDtypeStruct((batch, 16), "float32"))
    >>> step(x)
    """
    adapter = current()
    usable_exports()
    from guardcache.jax._export import Exported

    return Exported(adapter, function, specs)
