"""JAX's settings as they count for a function that is traced and lowered. No list says which JAX reads while it does
that: all count, but for those that are known to be about something else. What is set for a while by ``with`` and isn't
a setting (a mesh, another place to compute) is refused.
"""

from __future__ import annotations

from typing import Any

import jax
from jax._src import config

from guardcache.jax._refusal import UndescribedError

# How names begin of what is about storing, telling, and how a program runs.
_NO_CONTENT = (
    "jax_compilation_cache_",
    "jax_dump_ir_",
    "jax_enable_compilation_cache",
    "jax_explain_cache_misses",
    "jax_log",
    "jax_persistent_cache_",
    "jax_pprint_",
    "jax_raise_persistent_cache_errors",
    "jax_share_binary_between_hosts",
    "jax_tracer_error_",
    "jax_traceback_",
    "jax_transfer_guard",
)

# How names end of what is set by `with`. JAX has its own state there too: how far a trace is.
_CONTEXT = ("context_manager", "device_context")


def settings() -> dict[str, str]:
    """The values of this thread."""
    _check_contexts()
    values = {**jax.config.values, **{name: state.value for name, state in config.config_states.items()}}
    return {name: str(value) for name, value in sorted(values.items()) if not name.startswith(_NO_CONTENT)}


def _check_contexts() -> None:
    for name, context in vars(config).items():
        if name.endswith(_CONTEXT) and isinstance(context, config.config_ext.Config) and not _is_empty(context.value):
            raise UndescribedError(f"it is exported within a {name}")


def _is_empty(value: Any) -> bool:
    return value is None or value is False or value == () or getattr(value, "empty", False) is True
