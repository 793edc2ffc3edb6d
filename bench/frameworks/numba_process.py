"""One process of `numba_libraries.py`: imports a program, calls its functions, and says what came of it as JSON.

numba_process.py own|ours CACHE FOLDER MODULE [reversed]
"""

import hashlib
import importlib
import json
import sys
import time

import numba  # noqa: F401 -- its import is nobody's compile time
import numpy as np


def told(value: object) -> str:
    """A result, bit by bit."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}({', '.join(map(told, value))})"
    if isinstance(value, set):
        return f"set({', '.join(sorted(map(told, value)))})"
    return f"{type(value).__name__} {value!r}"


def main(side: str, cache: str, folder: str, module: str, order: str = "") -> None:
    sys.path.insert(0, folder)
    began, cpu = time.perf_counter(), time.process_time()
    if side == "ours":
        import guardcache.numba

        guardcache.numba.install(cache)
    program = importlib.import_module(module)
    calls = program.calls()
    results = {}
    for function, arguments in reversed(calls) if order else calls:
        result = function(*arguments)
        results[calls.index((function, arguments))] = told(list(result) if hasattr(result, "__next__") else result)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    content = hashlib.sha256(json.dumps(sorted(results.items())).encode()).hexdigest()
    hits = sum(sum(function.stats.cache_hits.values()) > 0 for function, _ in calls)
    print(
        json.dumps(
            {
                "seconds": seconds,
                "cpu": cpu,
                "hits": hits,
                "total": len(calls),
                "results": content,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
