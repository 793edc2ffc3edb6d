"""One process of bench/frameworks/jax.py: compiles what a program has, through JAX's own store or guardcache, and says
what it took, what was found, and what came out.

    python process.py PROGRAMS CASE own|ours DIRECTORY ORDER
"""

from __future__ import annotations

import gc
import hashlib
import importlib.util
import json
import sys
import time
from typing import Any

import numpy as np
from jax._src import monitoring

import jax


def load(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("programs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["programs"] = module
    spec.loader.exec_module(module)
    return module


def use(way: str, directory: str) -> None:
    """What a user does: it is part of what is measured."""
    if way == "own":
        jax.config.update("jax_compilation_cache_dir", directory)
        return
    import guardcache.jax

    guardcache.jax.install(directory)


def digest(results: list[Any]) -> str:
    found = hashlib.sha256()
    for leaf in jax.tree.leaves(results):
        found.update(np.asarray(leaf).tobytes())
    return found.hexdigest()


def main() -> None:
    programs, case, way, directory, order = sys.argv[1:]
    counted: dict[str, int] = {}
    monitoring.register_event_listener(lambda event, **_: counted.update({event: counted.get(event, 0) + 1}))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    jax.devices()
    calls = list(load(programs).CASES[case]())
    counted.clear()
    # Else a collection of what the imports left falls into one way's time and not into the other's.
    gc.collect()

    began, cpu_began = time.perf_counter(), time.process_time()
    use(way, directory)
    numbered = list(enumerate(calls))
    results: dict[int, Any] = {}
    for place, (function, arguments) in reversed(numbered) if order == "reversed" else numbered:
        results[place] = jax.block_until_ready(jax.jit(function)(*arguments))
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began

    events = "/jax/compilation_cache/"
    told = {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "hits": counted.get(events + "cache_hits", 0),
        "total": counted.get(events + "compile_requests_use_cache", 0),
        "digest": digest([results[place] for place in range(len(calls))]),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
