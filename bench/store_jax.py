"""JAX's own file cache under a size limit: what a put and a get cost while it grows. A peer of bench_store's rows.

    python bench/store_jax.py [ENTRIES...]      (1000 and 10000 if none are named)

JAX keeps one file an entry and one with the time of its last use; a put under a limit reads all of the latter. Prints one
line where JAX isn't installed, and ends well: a peer that isn't there is no failure.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ENTRY = b"\0\x17" * 5_000
PUTS = 5
GETS = 50


def fill(directory: str, entries: int, cache: Any) -> None:
    """Entries in the layout the cache itself writes, without a put's walk for each: that would take an hour."""
    cache.put("sample", ENTRY)
    names = [path.name for path in Path(directory).iterdir() if path.name.startswith("sample")]
    for number in range(entries - 1):
        for name in names:
            content = (Path(directory) / name).read_bytes()
            (Path(directory) / name.replace("sample", f"entry{number}", 1)).write_bytes(content)


def milliseconds(call: Any, *arguments: object) -> float:
    start = time.perf_counter()
    call(*arguments)
    return (time.perf_counter() - start) * 1e3


def measure(entries: int, cache_class: Any) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        cache = cache_class(directory, max_size=1 << 40)
        fill(directory, entries, cache)
        puts = [milliseconds(cache.put, f"put{i}", ENTRY) for i in range(PUTS)]
        gets = [milliseconds(cache.get, f"entry{i}") for i in range(min(GETS, entries - 1))]
    print(
        f"  JAX's file cache, {entries} entries of 10 kB, with a limit:"
        f" put {statistics.median(puts):.1f} ms [{min(puts):.1f} .. {max(puts):.1f}],"
        f" get {statistics.median(gets):.3f} ms"
    )


def main() -> None:
    try:
        import filelock  # noqa: F401 - what JAX needs for a limit
        from jax._src.lru_cache import LRUCache
    except ImportError as missing:
        print(f"  JAX's file cache: not measured ({missing})")
        return
    for entries in [int(word) for word in sys.argv[1:]] or [1_000, 10_000]:
        measure(entries, LRUCache)


main()
