"""OpenVINO with its compiled models in guardcache, a model for a range of batch sizes.

    python examples/adapters/openvino_cache.py DIRECTORY    compiles a small network, runs it, says what that took

A model is compiled for the eight batch sizes around the one that is asked for, and its guards say so: ``1 <= b`` and
``b <= 8``. In your program:

    compiler = OpenVinoCompiler()
    compiled = compiler.compile(model, batch=3)    # also serves 1 to 8, in every process
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import guardcache
import numpy as np
import openvino
from guardcache import Graph, Hit
from guardcache.adapter import Adapter, Compiled, Task, host_cpu
from openvino import opset13 as ops

KINDS = Path(__file__).parent / "kinds"
STEP = 8
# Files that are read at once and forgotten; on a disk they would take longer than the hash.
MEMORY = Path("/dev/shm")


class OpenVinoCompiler:
    """`Core.compile_model`, which finds what it has compiled before, in any process."""

    def __init__(
        self, cache: guardcache.Cache | str | None = None, device: str = "CPU", config: dict[str, Any] | None = None
    ) -> None:
        guardcache.load_kinds(KINDS)
        self.adapter = Adapter("openvino", cache, kind="openvino")
        self.core = openvino.Core()
        self.device, self.config = device, config or {}

    def compile(self, model: openvino.Model, batch: int, *, label: str | None = None) -> openvino.CompiledModel:
        """Of a model whose inputs have the batch as their first dimension, which is dynamic. Outputs without a name of
        the user's are called #0, #1, ... by their places: OpenVINO calls them otherwise in each process.
        """
        named = numbered(model)

        def build() -> tuple[openvino.CompiledModel, Compiled]:
            low = (batch - 1) // STEP * STEP + 1
            compiled = self.core.compile_model(bounded(named, low, low + STEP - 1), self.device, self.config)
            payload = compiled.export_model().getvalue()
            return compiled, Compiled(payload, guards=[f"{low} <= b", f"b <= {low + STEP - 1}"])

        def load(hit: Hit) -> openvino.CompiledModel:
            blob = openvino.Tensor(np.frombuffer(hit.payload, np.uint8))
            return self.core.import_model(blob, self.device, self.config)

        task = Task(
            describe=lambda: self._describe(named),
            label=label or model.get_friendly_name(),
            hints={"b": batch},
            sources={"b": "batch"},
        )
        return self.adapter.compile(task, build, load)

    def _describe(self, model: openvino.Model) -> Graph:
        """The model as OpenVINO writes it: layers as text, so that a miss shows what differs, and weights as a hash."""
        graph = Graph("openvino")
        with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
            file = Path(folder) / "model.xml"
            openvino.save_model(model, file, compress_to_fp16=False)
            graph.component("model", file.read_text(encoding="utf-8"))
            with file.with_suffix(".bin").open("rb") as weights:
                graph.component("weights", hashlib.file_digest(weights, "sha256").hexdigest())
        graph.component("options", {"device": self.device, "step": STEP, **self.config})
        graph.component("environment", {"openvino": openvino.get_version(), "cpu": host_cpu()})
        return graph


def numbered(model: openvino.Model) -> openvino.Model:
    copy = model.clone()
    # By the names that OpenVINO makes up.
    numbers = {port.get_node().get_name(): f"#{place}" for place, port in enumerate(model.outputs)}
    for port in copy.outputs:
        port.get_tensor().set_names({numbers.get(name, name) for name in port.get_names()})
    return copy


def bounded(model: openvino.Model, low: int, high: int) -> openvino.Model:
    copy = model.clone()
    sizes = {port: [openvino.Dimension(low, high), *list(port.get_partial_shape())[1:]] for port in copy.inputs}
    copy.reshape({port: openvino.PartialShape(shape) for port, shape in sizes.items()})
    return copy


# ---- the demonstration ----


def network(width: int, layers: int) -> openvino.Model:
    numbers = np.random.default_rng(0)
    start = last = ops.parameter([-1, width], np.float32, name="x")
    for _ in range(layers):
        weights = ops.constant(numbers.standard_normal((width, width), dtype=np.float32) / 16)
        last = ops.tanh(ops.matmul(last, weights, False, False))
    return openvino.Model([last], [start], "network")


def main() -> None:
    compiler = OpenVinoCompiler(sys.argv[1])
    networks = [network(width, layers=24) for width in (64, 128)]
    began = time.perf_counter()
    outputs = []
    for model in networks:
        for batch in (3, 8, 12):  # the first two are served by one compile
            numbers = np.random.default_rng(batch).standard_normal(
                (batch, model.inputs[0].partial_shape[1].get_length())
            )
            outputs.append(compiler.compile(model, batch)(numbers.astype(np.float32))[0].tobytes())
    seconds = time.perf_counter() - began
    statistics = compiler.adapter.statistics()
    told = {"seconds": round(seconds, 4), "hits": statistics.hits, "lookups": statistics.lookups}
    print(json.dumps({**told, "sha256": hashlib.sha256(b"".join(outputs)).hexdigest()}))
    compiler.adapter.close()


if __name__ == "__main__":
    main()
