"""What tests of the JAX adapter share: programs in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

# A function that takes XLA a while, and what became of its compile.
SLOW = """
    import json, sys, time
    from pathlib import Path
    import jax, jax.numpy as jnp, numpy
    import guardcache.jax

    def slow(x):
        for step in range(12):
            x = jnp.tanh(x @ x.T / 8) + jnp.sort(x) * step
        return x

    x = numpy.linspace(-1, 1, 256, dtype=numpy.float32).reshape(16, 16)
    guardcache.jax.install(sys.argv[1])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
"""

TELL = """
    lookups = [lookup for lookup in guardcache.jax.lookups() if lookup.label == "jit_slow"]
    print(json.dumps({
        "result": numpy.asarray(result).tobytes().hex(),
        "outcomes": [lookup.outcome for lookup in lookups],
        "reasons": [lookup.reason for lookup in lookups],
        "notes": [lookup.note for lookup in lookups],
        "stored": sum(1 for lookup in lookups if lookup.outcome == "miss" and not lookup.note),
    }))
"""

CALL = "    result = jax.jit(slow)(x)\n"


def environment(**variables: str) -> dict[str, str]:
    """This process's, without what would change what JAX or guardcache do."""
    ours = ("GUARDCACHE", "JAX", "XLA")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | variables


def start(program: str, *arguments: str | Path, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], timeout: float = 120) -> str:
    """What it prints."""
    try:
        output, errors = process.communicate(timeout=timeout)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    return output


def run(program: str, *arguments: str | Path, **variables: str) -> str:
    return finish(start(program, *arguments, **variables))


def told(output: str) -> dict[str, Any]:
    """What `TELL` has printed, last."""
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found
