"""ONNX Runtime with its optimised models in guardcache.

    python examples/adapters/onnxruntime_cache.py DIRECTORY    optimises a small network, runs it, says what that took

ONNX Runtime optimises a model each time a session is made. In your program:

    sessions = OnnxSessions()
    session = sessions.session(model)    # the bytes of an ONNX model; an `onnxruntime.InferenceSession`
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
import onnx
import onnxruntime
from guardcache import Graph, Hit
from guardcache.adapter import Adapter, Compiled, Task, host_cpu
from onnx import TensorProto, helper, numpy_helper

KINDS = Path(__file__).parent / "kinds"
CPU = ("CPUExecutionProvider",)


class OnnxSessions:
    """Sessions of models that ONNX Runtime has optimised before, in any process."""

    def __init__(self, cache: guardcache.Cache | str | None = None, providers: tuple[str, ...] = CPU) -> None:
        guardcache.load_kinds(KINDS)
        self.adapter = Adapter("onnxruntime", cache, kind="onnxruntime")
        self.providers = providers

    def session(self, model: bytes, *, label: str = "model") -> onnxruntime.InferenceSession:
        def build() -> tuple[onnxruntime.InferenceSession, Compiled]:
            with tempfile.TemporaryDirectory() as folder:
                options = onnxruntime.SessionOptions()
                options.log_severity_level = 3  # it warns that what is optimised is for this machine: so is the key
                options.optimized_model_filepath = f"{folder}/optimised.onnx"
                made = onnxruntime.InferenceSession(model, options, providers=self.providers)
                return made, Compiled(Path(options.optimized_model_filepath).read_bytes())

        def load(hit: Hit) -> onnxruntime.InferenceSession:
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            return onnxruntime.InferenceSession(bytes(hit.payload), options, providers=self.providers)

        task = Task(describe=lambda: describe(model, self.providers), label=label)
        return self.adapter.compile(task, build, load)


def describe(model: bytes, providers: tuple[str, ...]) -> Graph:
    """The model node by node, so that a miss names the one that differs. What its values are called doesn't count, but
    for those of the inputs and outputs, by which sessions are run.
    """
    read = onnx.load_from_string(model)
    graph = Graph("onnxruntime")
    values: dict[str, Any] = {"": None}
    constants = {constant.name: constant for constant in read.graph.initializer}
    for name, constant in constants.items():
        if constant.data_location == TensorProto.EXTERNAL:
            raise ValueError("the model's weights lie in another file")
        content = hashlib.sha256(constant.raw_data or constant.SerializeToString()).hexdigest()
        values[name] = {"type": constant.data_type, "dims": list(constant.dims), "content": content}
    inputs = [given for given in read.graph.input if given.name not in constants]
    for given in inputs:
        tensor = given.type.tensor_type
        dims = [dim.dim_param or dim.dim_value for dim in tensor.shape.dim]
        values[given.name] = graph.input(given.name, {"type": tensor.elem_type, "dims": dims})
    for node in read.graph.node:
        attributes = {attribute.name: plain(attribute) for attribute in node.attribute}
        arguments = [values.get(name, name) for name in node.input]
        made = graph.call(f"{node.domain}:{node.op_type}", *arguments, outputs=len(node.output), **attributes)
        values.update({name: (made, place) for place, name in enumerate(node.output)})
    graph.output([values[wanted.name] for wanted in read.graph.output])
    names = {"inputs": [given.name for given in inputs], "outputs": [wanted.name for wanted in read.graph.output]}
    graph.component("names", names)
    graph.component("opsets", {opset.domain: opset.version for opset in read.opset_import})
    graph.component("options", {"providers": list(providers)})
    graph.component("environment", {"onnxruntime": onnxruntime.__version__, "cpu": host_cpu()})
    return graph


def plain(attribute: onnx.AttributeProto) -> Any:
    """Numbers and texts as they are; tensors and graphs within as the bytes they have."""
    value = helper.get_attribute_value(attribute)
    simple = isinstance(value, (int, float, bytes)) or (isinstance(value, list) and attribute.type in (6, 7, 8))
    return value if simple else hashlib.sha256(attribute.SerializeToString(deterministic=True)).hexdigest()


# ---- the demonstration ----


def network(layers: int, width: int) -> bytes:
    """Layers whose weights are products, as low-rank adapters leave them: the optimiser multiplies them."""
    numbers = np.random.default_rng(0)
    nodes, constants, last = [], [], "x"
    for n in range(layers):
        for name in ("a", "b"):
            weights = numbers.standard_normal((width, width), dtype=np.float32) / 24
            constants.append(numpy_helper.from_array(weights, f"{name}{n}"))
        nodes.append(helper.make_node("MatMul", [f"a{n}", f"b{n}"], [f"w{n}"]))
        nodes.append(helper.make_node("MatMul", [last, f"w{n}"], [f"m{n}"]))
        nodes.append(helper.make_node("Tanh", [f"m{n}"], [f"t{n}"]))
        last = f"t{n}"
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["b", width]) for name in ("x", last))
    made = helper.make_graph(nodes, "network", [x], [y], constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return bytes(model.SerializeToString())


def main() -> None:
    sessions = OnnxSessions(sys.argv[1])
    models = [network(layers, width=512) for layers in (8, 16)]
    numbers = np.random.default_rng(1).standard_normal((4, 512), dtype=np.float32)
    began = time.perf_counter()
    outputs = [sessions.session(model).run(None, {"x": numbers})[0].tobytes() for model in models]
    seconds = time.perf_counter() - began
    statistics = sessions.adapter.statistics()
    told = {"seconds": round(seconds, 4), "hits": statistics.hits, "lookups": statistics.lookups}
    print(json.dumps({**told, "sha256": hashlib.sha256(b"".join(outputs)).hexdigest()}))
    sessions.adapter.close()


if __name__ == "__main__":
    main()
