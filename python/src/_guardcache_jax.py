"""The start hook: ``GUARDCACHE_JAX=1`` installs the JAX adapter in a script that wasn't written for it.

JAX imports this module, an entry point in the group ``jax_plugins``, and calls `initialize` before it makes its first
backend, so before anything is compiled. Every JAX process pays for this file, so it imports nothing until it is asked.
"""

import os
import sys


def initialize() -> None:
    """JAX's entry point: what goes wrong is told, and the script runs without."""
    if os.environ.get("GUARDCACHE_JAX") != "1":
        return
    try:
        import guardcache.jax

        # A script that installs the adapter itself has said with which cache.
        if not guardcache.jax.is_installed():
            guardcache.jax.install()
    except Exception as error:
        _tell(error)


def _tell(error: Exception) -> None:
    """A stream that is closed or not there must not break anything either."""
    try:
        if sys.stderr is not None:
            print(f"guardcache: JAX runs without the adapter: {error}", file=sys.stderr)
    except Exception:
        return
