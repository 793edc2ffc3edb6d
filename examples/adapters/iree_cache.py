"""IREE with its compiled modules in guardcache.

    python examples/adapters/iree_cache.py DIRECTORY    compiles a small network, runs it, and says what that took

IREE's compiler has no cache: each process compiles again. In your program:

    compiler = IreeCompiler()
    flatbuffer = compiler.compile(mlir, input_type="stablehlo", target_backends=["llvm-cpu"])
    module = iree.runtime.load_vm_flatbuffer(flatbuffer, driver="local-task")
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import guardcache
import iree.compiler
import iree.compiler.version
import iree.runtime
import numpy as np
from guardcache import Graph
from guardcache.adapter import Adapter, Compiled, Task, host_cpu

KINDS = Path(__file__).parent / "kinds"


class IreeCompiler:
    """`iree.compiler.compile_str`, which finds what it has compiled before, in any process."""

    def __init__(self, cache: guardcache.Cache | str | None = None) -> None:
        guardcache.load_kinds(KINDS)
        self.adapter = Adapter("iree", cache, kind="iree")

    def compile(self, module: str, *, label: str | None = None, **options: Any) -> bytes:
        """The flatbuffer of an MLIR module; the options are those of `compile_str`."""

        def build() -> tuple[bytes, Compiled]:
            flatbuffer: bytes = iree.compiler.compile_str(module, **options)
            return flatbuffer, Compiled(flatbuffer)

        task = Task(describe=lambda: describe(module, options), label=label or module_name(module))
        return self.adapter.compile(task, build, load=lambda hit: bytes(hit.payload))


def describe(module: str, options: dict[str, Any]) -> Graph:
    """All that decides what the compiler makes of it. That the module's name counts is the kind's rules' business: it
    is how the runtime finds the module, so it stays, while locations in the user's source go.
    """
    graph = Graph("iree")
    graph.component("module", module)
    graph.component("options", {name: plain(value) for name, value in options.items()})
    graph.component("environment", {"iree": iree.compiler.version.VERSION, "cpu": host_cpu()})
    return graph


def plain(value: Any) -> Any:
    """Enumerations by their names. What else can't be described is refused by `Graph`: a bypass, with that reason."""
    return value.name if isinstance(value, iree.compiler.InputType | iree.compiler.OutputFormat) else value


def module_name(module: str) -> str:
    head = module.partition("{")[0]
    return head[head.index("@") :].strip() if "@" in head else "module"


# ---- the demonstration ----


def network(name: str, width: int, layers: int) -> str:
    shape = f"tensor<{width}x{width}xf32>"
    lines = [f"module @{name} {{", f"  func.func @main(%x: {shape}, %w: {shape}) -> {shape} {{"]
    last = "%x"
    for layer in range(layers):
        lines.append(
            f"    %d{layer} = stablehlo.dot_general {last}, %w, contracting_dims = [1] x [0] "
            f": ({shape}, {shape}) -> {shape}"
        )
        lines.append(f"    %t{layer} = stablehlo.tanh %d{layer} : {shape}")
        last = f"%t{layer}"
    return "\n".join([*lines, f"    return {last} : {shape}", "  }", "}"])


def run(flatbuffer: bytes, width: int) -> bytes:
    module = iree.runtime.load_vm_flatbuffer(flatbuffer, driver="local-task")
    numbers = np.random.default_rng(0).standard_normal((2, width, width), dtype=np.float32) / 16
    return bytes(module.main(*numbers).to_host().tobytes())


def main() -> None:
    compiler = IreeCompiler(sys.argv[1])
    began = time.perf_counter()
    outputs = [
        run(
            compiler.compile(
                network("net", width, layers=4),
                input_type="stablehlo",
                target_backends=["llvm-cpu"],
                extra_args=["--iree-llvmcpu-target-cpu=host"],
            ),
            width,
        )
        for width in (32, 64)
    ]
    seconds = time.perf_counter() - began
    statistics = compiler.adapter.statistics()
    told = {"seconds": round(seconds, 4), "hits": statistics.hits, "lookups": statistics.lookups}
    print(json.dumps({**told, "sha256": hashlib.sha256(b"".join(outputs)).hexdigest()}))
    compiler.adapter.close()


if __name__ == "__main__":
    main()
