"""Python's caches and whole commands beside guardcache, in one run: rows for bench/report.py.

    build-bench/venv/bin/python bench/peers.py GUARDCACHE    (the command that is measured)

diskcache, JAX's file cache and numba's index are asked as their users ask them. A peer that isn't installed is reported as
missing, and isn't a failure. Rows go to the file that $BENCH_ROWS names, as those of the C programs do.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TURNS = 400
PROCESSES = 60
SIZES = {"4 kB": 4096, "100 kB": 102400}


def record(name: str, samples: list[float]) -> None:
    ordered = sorted(samples)
    median = statistics.median(ordered)
    row = {"name": name, "median": median, "low": ordered[0], "high": ordered[-1]}
    print(f"{name:60} {median / 1e3:12.1f} us [{ordered[0] / 1e3:.1f} .. {ordered[-1] / 1e3:.1f}]", flush=True)
    path = os.environ.get("BENCH_ROWS")
    if path:
        with open(path, "a", encoding="utf-8") as rows:
            rows.write(json.dumps(row) + "\n")


def times(call: Callable[[int], object], turns: int) -> list[float]:
    samples = []
    for turn in range(turns):
        began = time.perf_counter_ns()
        call(turn)
        samples.append(float(time.perf_counter_ns() - began))
    return samples


@contextlib.contextmanager
def peer(name: str) -> Iterator[None]:
    """What isn't installed is named, and left out."""
    try:
        yield
    except ImportError as missing:
        print(f"{name}: not measured ({missing})")


def payload(size: int, turn: int) -> bytes:
    """Half of it compresses, as code does; another one each turn."""
    return turn.to_bytes(8, "little") + os.urandom(size // 2) + bytes(size - size // 2 - 8)


# ---- Python's caches ----


def graph_of(serial: int) -> Any:
    guardcache = importlib.import_module("guardcache")
    graph = guardcache.Graph("bench/1")
    x = graph.input("x", guardcache.Tensor("float32", ["s0", 16]))
    graph.output(graph.call("matmul", x, x, serial=serial))
    return graph


def measure_guardcache(folder: str, label: str, size: int) -> None:
    cache = importlib.import_module("guardcache").open(folder)
    graphs = [graph_of(size * 1000 + turn) for turn in range(TURNS)]
    blobs = [payload(size, turn) for turn in range(TURNS)]
    hints = {"s0": 16}

    def put(turn: int) -> None:
        cache.insert(graphs[turn], blobs[turn], guards=["s0 % 8 == 0"], hints=hints)

    def get(turn: int) -> None:
        assert bytes(cache.lookup(graphs[turn], hints).payload) == blobs[turn]

    record(f"guardcache in Python, put {label}", times(put, TURNS))
    record(f"guardcache in Python, get {label}", times(get, TURNS))
    record(f"guardcache in Python, get {label} again", times(get, TURNS))
    cache.close()


def measure_diskcache(folder: str, label: str, size: int) -> None:
    cache = importlib.import_module("diskcache").Cache(folder)
    blobs = [payload(size, turn) for turn in range(TURNS)]

    def get(turn: int) -> None:
        assert cache[f"key{turn}"] == blobs[turn]

    record(f"diskcache, put {label}", times(lambda turn: cache.set(f"key{turn}", blobs[turn]), TURNS))
    record(f"diskcache, get {label}", times(get, TURNS))
    cache.close()


def measure_jax(folder: str, label: str, size: int) -> None:
    cache = importlib.import_module("jax._src.lru_cache").LRUCache(folder, max_size=1 << 40)
    blobs = [payload(size, turn) for turn in range(TURNS)]

    def get(turn: int) -> None:
        assert cache.get(f"key{turn}") == blobs[turn]

    record(f"JAX's file cache with a limit, put {label}", times(lambda turn: cache.put(f"key{turn}", blobs[turn]), TURNS))
    record(f"JAX's file cache with a limit, get {label}", times(get, TURNS))


def measure_numba(folder: str, label: str, size: int) -> None:
    caching = importlib.import_module("numba.core.caching")
    blobs = [payload(size, turn) for turn in range(TURNS)]
    files = caching.IndexDataCacheFile(folder, "bench", (0.0, 0))

    def get(turn: int) -> None:
        assert files.load(f"key{turn % 10}") == blobs[turn % 10]

    record(f"numba's index of ten, put {label}", times(lambda turn: files.save(f"key{turn % 10}", blobs[turn % 10]), TURNS))
    record(f"numba's index of ten, get {label}", times(get, TURNS))


# ---- whole commands ----


def run(arguments: list[str], environment: dict[str, str]) -> None:
    subprocess.run(arguments, env=environment, check=True, stdout=subprocess.DEVNULL)


def measure_commands(command: str, folder: str) -> None:
    """A hit as scripts see it: the process, its start and its end."""
    place = Path(folder)
    (place / "code.o").write_bytes(payload(20000, 0))
    graph = {
        "format": "guardcache-graph/1",
        "kind": "bench/1",
        "components": {"source": "int f(int x) { return x * 3; }"},
    }
    (place / "graph.json").write_text(json.dumps(graph))
    (place / "f.c").write_text("int f(int x) { return x * 3; }\n")
    environment = {**os.environ, "GUARDCACHE_DIR": str(place / "cache"), "CCACHE_DIR": str(place / "ccache")}
    described = ["--graph", str(place / "graph.json"), "--hint", "s0=16"]
    run([command, "insert", *described, "--guard", "s0 % 8 == 0", "--payload", str(place / "code.o")], environment)
    hit = [command, "lookup", *described, "--out", str(place / "out.o")]
    record("process: guardcache lookup --out, a hit", times(lambda turn: run(hit, environment), PROCESSES))
    record("process: /bin/true", times(lambda turn: run(["/bin/true"], environment), PROCESSES))
    ccache = shutil.which("ccache")
    if ccache is None:
        print("ccache: not measured (not installed)")
        return
    compiling = [ccache, "gcc", "-O2", "-c", str(place / "f.c"), "-o", str(place / "f.o")]
    run(compiling, environment)
    record("process: ccache gcc -c, a hit", times(lambda turn: run(compiling, environment), PROCESSES))


def main() -> None:
    sides = {
        "guardcache": measure_guardcache,
        "diskcache": measure_diskcache,
        "JAX's file cache": measure_jax,
        "numba's index": measure_numba,
    }
    for label, size in SIZES.items():
        for name, measure in sides.items():
            with peer(name), tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
                measure(folder, label, size)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        measure_commands(sys.argv[1], folder)


main()
