"""Why something of JAX isn't described."""

from __future__ import annotations


class UndescribedError(ValueError):
    """There is something that its text wouldn't say: it is compiled without the cache, and this is the reason."""
