"""One process of bench/frameworks/compilers.py: compiles its programs, as without an adapter or with it, and says what it
took, what was found, and what came out.

    python compilers_process.py FRAMEWORK own|ours DIRECTORY CHANGE
"""

from __future__ import annotations

import hashlib
import json
import resource
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[2] / "examples" / "adapters"))

Call = Callable[[], Any]
"""Compiles, or finds, one program and runs it; an array."""


class Iree:
    """Modules; there is no cache of its own."""

    def __init__(self, change: str) -> None:
        import iree_cache

        self.example = iree_cache
        self.modules = [self.source(change, width, layers) for width in (16, 32, 64) for layers in (1, 3)]

    def source(self, change: str, width: int, layers: int) -> tuple[int, str]:
        text = self.example.network(f"net_{width}_{layers}", width, layers)
        if change == "renamed":
            text = text.replace("%d", "%dense_").replace("%t", "%tanh_").replace("%w", "%weights")
        if change == "moved":
            text = "// Some lines more.\n" * 7 + text.replace("xf32>\n", 'xf32> loc("elsewhere.py":70:1)\n')
        return width, text

    def use(self, way: str, directory: str) -> Iterator[Call]:
        options = {
            "input_type": "stablehlo",
            "target_backends": ["llvm-cpu"],
            "extra_args": ["--iree-llvmcpu-target-cpu=host"],
        }
        self.compiler = self.example.IreeCompiler(directory) if way == "ours" else None
        compile = self.compiler.compile if self.compiler else self.example.iree.compiler.compile_str

        def call(text: str, width: int) -> Any:
            return self.example.run(compile(text, **options), width)

        return (partial(call, text, width) for width, text in self.modules)

    def hits(self) -> int | None:
        return self.compiler.adapter.statistics().hits if self.compiler else None


class OpenVino:
    """Models of a bounded batch, under CACHE_DIR or the adapter."""

    def __init__(self, change: str) -> None:
        import openvino_cache

        self.example = openvino_cache
        self.compiler: Any = None
        self.from_cache = 0
        if change == "moved":
            openvino_cache.network(8, 20)  # so that whatever is numbered has other numbers
        self.models = [openvino_cache.network(width, layers) for width in (64, 128, 192) for layers in (8, 24)]
        for place, model in enumerate(self.models):
            model.set_friendly_name(f"net_{place}")
            if change == "renamed":
                model.set_friendly_name(f"renamed_{place}")
                for number, layer in enumerate(model.get_ops()):
                    if layer.get_type_name() not in ("Parameter", "Result"):
                        layer.set_friendly_name(f"renamed_{number}_layer")

    def use(self, way: str, directory: str) -> Iterator[Call]:
        openvino = self.example.openvino
        if way == "ours":
            self.compiler = self.example.OpenVinoCompiler(directory)
            return (partial(self.find, model) for model in self.models)
        core = openvino.Core()
        core.set_property({"CACHE_DIR": directory})

        def compile(model: Any) -> Any:
            compiled = core.compile_model(self.example.bounded(model, 1, 8), "CPU")
            self.from_cache += bool(compiled.get_property("LOADED_FROM_CACHE"))
            return self.run(model, compiled)

        return (partial(compile, model) for model in self.models)

    def find(self, model: Any) -> bytes:
        return self.run(model, self.compiler.compile(model, 4))

    def run(self, model: Any, compiled: Any) -> bytes:
        shape = (4, model.inputs[0].partial_shape[1].get_length())
        return bytes(compiled(np.random.default_rng(1).standard_normal(shape, dtype=np.float32))[0].tobytes())

    def hits(self) -> int | None:
        return self.compiler.adapter.statistics().hits if self.compiler else self.from_cache


class OnnxRuntime:
    """Models whose weights are computed; there is no cache of its own."""

    def __init__(self, change: str) -> None:
        import onnxruntime_cache

        self.example = onnxruntime_cache
        self.sessions: Any = None
        self.models = [self.source(change, layers, width) for width in (256, 512) for layers in (4, 8)]

    def source(self, change: str, layers: int, width: int) -> tuple[int, bytes]:
        model = self.example.onnx.load_from_string(self.example.network(layers, width))
        for node in model.graph.node:
            node.name = f"{node.output[0]}_{change}"
            if change == "moved":
                node.doc_string = "elsewhere.py, line 70"
            if change == "renamed":
                for names in (node.input, node.output):
                    names[:] = [f"inner_{name}" if name[0] in "wm" else name for name in names]
        return width, bytes(model.SerializeToString())

    def use(self, way: str, directory: str) -> Iterator[Call]:
        if way == "ours":
            self.sessions = self.example.OnnxSessions(directory)
        make = self.sessions.session if self.sessions else self.example.onnxruntime.InferenceSession

        def call(model: bytes, width: int) -> Any:
            numbers = np.random.default_rng(1).standard_normal((4, width), dtype=np.float32)
            return make(model).run(None, {"x": numbers})[0].tobytes()

        return (partial(call, model, width) for width, model in self.models)

    def hits(self) -> int | None:
        return self.sessions.adapter.statistics().hits if self.sessions else None


FRAMEWORKS: dict[str, Callable[[str], Any]] = {"iree": Iree, "openvino": OpenVino, "onnxruntime": OnnxRuntime}


def processor_seconds() -> float:
    """Children's included: IREE's compiler is a program."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(times.ru_utime + times.ru_stime for times in used)


def main() -> None:
    framework, way, directory, change = sys.argv[1:]
    programs = FRAMEWORKS[framework](change)
    began = processor_seconds()
    calls = list(enumerate(programs.use(way, directory)))
    results = {place: call() for place, call in (reversed(calls) if change == "reordered" else calls)}
    seconds = processor_seconds() - began
    digest = hashlib.sha256(b"".join(results[place] for place in range(len(calls)))).hexdigest()
    print(json.dumps({"seconds": seconds, "hits": programs.hits(), "total": len(calls), "digest": digest}))


if __name__ == "__main__":
    main()
