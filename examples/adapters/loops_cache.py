"""A compiler of one's own, and its adapter: the example that docs/adapters.md takes apart.

    python examples/adapters/loops_cache.py DIRECTORY    compiles a few loops, runs them, says what that took

The compiler makes a shared object of an expression such as ``x * x + 1``, by the C compiler: for lengths that are
multiples of eight a loop without a remainder, for all others a plain one.
"""

from __future__ import annotations

import array
import ctypes
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import guardcache
from guardcache import Graph, Hit
from guardcache.adapter import Adapter, Compiled, Task, host_cpu

KINDS = Path(__file__).parent / "kinds"
VERSION = "1"
LOOPS = {
    True: "for (long i = 0; i < n; i += 8) for (long j = i; j < i + 8; j++) { float x = xs[j]; ys[j] = EXPRESSION; }",
    False: "for (long i = 0; i < n; i++) { float x = xs[i]; ys[i] = EXPRESSION; }",
}
FLAGS = ("-O3", "-march=native")

Loop = Callable[["array.array[float]"], "array.array[float]"]

# ---- the compiler ----


def compile_loop(expression: str, by_eight: bool) -> bytes:
    """The bytes of a shared object."""
    code = "\n".join(line.partition("#")[0] for line in expression.split("\n"))
    source = f"void loop(const float *xs, float *ys, long n) {{ {LOOPS[by_eight]} }}".replace("EXPRESSION", code)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "loop.so"
        command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", *FLAGS, "-x", "c", "-", "-o", str(made)]
        subprocess.run(command, input=source, text=True, check=True)
        return made.read_bytes()


def load_loop(shared_object: bytes) -> Loop:
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(shared_object)
        file.flush()
        function = ctypes.CDLL(file.name).loop

    def loop(values: array.array[float]) -> array.array[float]:
        results = array.array("f", bytes(4 * len(values)))
        addresses = (ctypes.c_void_p(numbers.buffer_info()[0]) for numbers in (values, results))
        function(*addresses, ctypes.c_long(len(values)))
        return results

    return loop


# ---- the adapter ----


class LoopCompiler:
    """Loops for expressions, compiled once for all processes."""

    def __init__(self, cache: guardcache.Cache | str | None = None) -> None:
        guardcache.load_kinds(KINDS)
        self.adapter = Adapter("loops", cache, kind="loops")

    def loop(self, expression: str, length: int, *, label: str | None = None) -> Loop:
        """For arrays of this length; another length is another call of this."""

        def build() -> tuple[Loop, Compiled]:
            by_eight = length % 8 == 0
            shared_object = compile_loop(expression, by_eight)
            guards = ["n % 8 == 0"] if by_eight else ["n % 8 != 0"]
            return load_loop(shared_object), Compiled(shared_object, guards=guards)

        def load(hit: Hit) -> Loop:
            return load_loop(bytes(hit.payload))

        task = Task(
            describe=lambda: describe(expression),
            label=label or expression.partition("\n")[0],
            hints={"n": length},
            sources={"n": "len(values)"},
        )
        return self.adapter.compile(task, build, load)


def describe(expression: str) -> Graph:
    if "__" in expression:
        raise ValueError("the compiler's own names, as __TIME__, may be others each second")
    graph = Graph("loops")
    graph.component("module", expression)
    graph.component("options", {"flags": list(FLAGS)})
    graph.component("environment", {"loops": VERSION, "cc": c_compiler(), "cpu": host_cpu()})
    return graph


@functools.cache
def c_compiler() -> str:
    command = [os.environ.get("CC", "cc"), "--version"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.partition("\n")[0]


# ---- the demonstration ----


def main() -> None:
    compiler = LoopCompiler(sys.argv[1])
    began = time.perf_counter()
    sums = []
    for expression in ("x * x + 1", "x / (1 + x) # squash"):
        for length in (64, 63, 8):  # the last is served by what was compiled for the first
            loop = compiler.loop(expression, length)
            sums.append(sum(loop(array.array("f", range(length)))))
    seconds = time.perf_counter() - began
    statistics = compiler.adapter.statistics()
    told = {"seconds": round(seconds, 4), "hits": statistics.hits, "lookups": statistics.lookups}
    print(json.dumps({**told, "sha256": repr(sums)}))
    compiler.adapter.close()


if __name__ == "__main__":
    main()
