"""tinygrad with its kernels in guardcache.

    DEV=CPU python examples/adapters/tinygrad_cache.py DIRECTORY    runs a small network, and says what that took

tinygrad keeps what its C compiler made, by source text. To get there it lowers each kernel in Python again, in every
process, which takes most of a start. Here the whole kernel is kept. tinygrad doesn't ask anybody: its function
`lower_and_compile` is replaced, if it is as this adapter knows it. In your program, before the first kernel runs:

    tinygrad_cache.install()
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import logging
import os
import pickle
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import guardcache
import numpy as np
from guardcache import Graph
from guardcache.adapter import Adapter, Compiled, Installation, Part, Patches, Seam, Task, host_cpu, usable
from tinygrad.codegen import to_program_cache, to_program_config, to_program_key
from tinygrad.engine import realize
from tinygrad.tensor import Tensor
from tinygrad.uop import Ops

KINDS = Path(__file__).parent / "kinds"

LOWER = "tinygrad.engine.realize:lower_and_compile"
KERNELS = Part(
    "kernels",
    "tinygrad's kernels",
    (
        Seam(LOWER, "function", "linear"),
        Seam("tinygrad.engine.realize:_get_call_to_compile", "function", "c", used_in=LOWER),
        Seam("tinygrad.engine.realize:_compile_kernel", "function", "x", used_in=LOWER),
        Seam("tinygrad.codegen:to_program_key", "function", "ast, renderer"),
        Seam("tinygrad.codegen:to_program_cache", used_in=LOWER),
        Seam("tinygrad.codegen:to_program_config"),
    ),
)

_installation: Installation[Adapter] = Installation("tinygrad_cache")


def install(cache: guardcache.Cache | str | None = None) -> Adapter:
    project = f"tinygrad {importlib.metadata.version('tinygrad')}"
    usable([KERNELS], project=project, log=logging.getLogger("guardcache.adapter"))
    guardcache.load_kinds(KINDS)
    adapter = Adapter("tinygrad", cache, kind="tinygrad")
    _installation.put(adapter, lambda patches: plan(patches, adapter))
    return adapter


def uninstall() -> None:
    _installation.remove()


def plan(patches: Patches, adapter: Adapter) -> None:
    original = realize.lower_and_compile

    def lower_and_compile(linear: Any) -> Any:
        """Whatever is found, or compiled now, is where tinygrad looks first; so it has nothing left to compile."""
        for call in linear.toposort():
            found = realize._get_call_to_compile(call) if call.op is Ops.CALL else None
            # What a search among candidates timed here isn't another process's business.
            if found is None or getattr(found[0].arg, "beam", None):
                continue
            key = to_program_key(*found)
            if key not in to_program_cache:
                to_program_cache[key] = compile_kernel(adapter, *found)
        return original(linear)

    patches.set(realize, "lower_and_compile", lower_and_compile)


def compile_kernel(adapter: Adapter, kernel: Any, renderer: Any) -> Any:
    def build() -> tuple[Any, Compiled]:
        context = {variable.key: variable.value for variable in to_program_config}
        program = realize._compile_kernel((0, (kernel, renderer), context))[1]
        return program, Compiled(pickle.dumps(program))

    label = f"kernel of {len(kernel.toposort())} operations"
    task = Task(describe=lambda: describe(kernel, renderer), label=label)
    return adapter.compile(task, build, load=lambda hit: pickle.loads(hit.payload))


def describe(kernel: Any, renderer: Any) -> Graph:
    graph = Graph("tinygrad")
    graph.component("kernel", repr(kernel))
    graph.component("identity", kernel.key.hex())  # of what `repr` may leave out
    graph.component("options", {variable.key: variable.value for variable in to_program_config})
    target = {"renderer": type(renderer).__qualname__, "target": repr(renderer.target)}
    compiler = {"tinygrad": importlib.metadata.version("tinygrad"), "compiler": c_compiler()}
    graph.component("environment", {"cpu": host_cpu(), **target, **compiler})
    return graph


@functools.cache
def c_compiler() -> str:
    """The version too, which tinygrad's own key doesn't have."""
    compiler = shutil.which(os.environ.get("CC", "clang"))
    if compiler is None:
        return "none"
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout.partition("\n")[0]


# ---- the demonstration ----


def main() -> None:
    adapter = install(sys.argv[1])
    numbers = np.random.default_rng(0).standard_normal((3, 64, 64), dtype=np.float32)
    x, w, v = (Tensor(part) for part in numbers)
    began = time.perf_counter()
    output = ((x @ w).relu() @ v).softmax().sum(axis=0).numpy()
    seconds = time.perf_counter() - began
    statistics = adapter.statistics()
    told = {"seconds": round(seconds, 4), "hits": statistics.hits, "lookups": statistics.lookups}
    print(json.dumps({**told, "sha256": hashlib.sha256(output.tobytes()).hexdigest()}))
    uninstall()


if __name__ == "__main__":
    main()
