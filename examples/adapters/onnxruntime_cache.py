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
from google.protobuf.json_format import MessageToDict
from guardcache import Graph, Hit
from guardcache.adapter import Adapter, Compiled, Task, host_cpu
from onnx import TensorProto, helper, numpy_helper

KINDS = Path(__file__).parent / "kinds"
CPU = ("CPUExecutionProvider",)
# What is described by itself, or doesn't count.
NODE = ("name", "doc_string", "op_type", "input", "output", "attribute")
GRAPH = ("name", "doc_string", "node", "input", "output", "initializer")


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
    """The model node by node, so that a miss names the one that differs, and all the rest of it as it is. What inner
    values are called doesn't count, unless something may mean them by that: graphs within nodes, notes on values.
    """
    read = onnx.load_from_string(model)
    if outside(read):
        raise ValueError("the model's weights lie in another file")
    graph, whole = Graph("onnxruntime"), read.graph
    within = any(attribute.HasField("g") or attribute.graphs for node in whole.node for attribute in node.attribute)
    constants = {c.name: {"type": c.data_type, "dims": list(c.dims), "content": digest(c)} for c in whole.initializer}
    values: dict[str, Any] = {**constants, "": None}
    for given in whole.input:  # a constant that is an input too may be given, or not
        values[given.name] = graph.input(given.name, [MessageToDict(given.type), constants.get(given.name)])
    for node in whole.node:
        arguments, made = [values.get(name, name) for name in node.input], list(node.output)
        attributes = {each.name: plain(each) for each in node.attribute}
        more: dict[str, Any] = {"attributes": attributes, "made": list(map(bool, made)), "rest": rest(node, NODE)}
        called = graph.node("call_function", node.op_type, arguments, more)
        values.update({name: (called, place) for place, name in enumerate(made) if name})
    graph.output([[values.get(wanted.name), MessageToDict(wanted.type)] for wanted in whole.output])
    names = {"inputs": [given.name for given in whole.input], "outputs": [wanted.name for wanted in whole.output]}
    graph.component("names", {**names, "graph": [whole.name, whole.doc_string]})
    if rest(whole, GRAPH) or within or read.training_info:
        graph.component("inner", {"names": list(values), "constants": constants})
    graph.component("model", rest(read))
    graph.component("options", {"providers": list(providers)})
    graph.component("environment", {"onnxruntime": onnxruntime.__version__, "cpu": host_cpu()})
    return graph


def outside(message: Any) -> bool:
    """Whether a tensor anywhere in it lies in another file."""
    if isinstance(message, TensorProto):
        return bool(message.data_location == TensorProto.EXTERNAL)
    parts = [part for field, part in message.ListFields() if field.message_type is not None]
    return any(outside(one) for part in parts for one in (part if hasattr(part, "__len__") else [part]))


def digest(message: Any) -> str:
    message.ClearField("name")
    return hashlib.sha256(message.SerializeToString(deterministic=True)).hexdigest()


def plain(attribute: onnx.AttributeProto) -> Any:
    """Numbers and texts as they are; tensors and graphs within as the bytes they have."""
    value = helper.get_attribute_value(attribute)
    return value if isinstance(value, (int, float, bytes)) or attribute.type in (6, 7, 8) else digest(attribute)


def rest(message: Any, described: tuple[str, ...] = ()) -> dict[str, Any]:
    for field in described:
        message.ClearField(field)
    return dict(MessageToDict(message))


# ---- the demonstration ----


def network(layers: int, width: int) -> bytes:
    """Layers whose weights are products, as low-rank adapters leave them: the optimiser multiplies them."""
    weights = np.random.default_rng(0).standard_normal((layers, 2, width, width), dtype=np.float32) / 24
    constants = [numpy_helper.from_array(weights[n, of], f"{'ab'[of]}{n}") for n in range(layers) for of in (0, 1)]
    nodes, last = [], "x"
    for n in range(layers):
        calls = [("MatMul", f"a{n}", f"b{n}", f"w{n}"), ("MatMul", last, f"w{n}", f"m{n}"), ("Tanh", f"m{n}", f"t{n}")]
        nodes += [helper.make_node(op, arguments, [made]) for op, *arguments, made in calls]
        last = f"t{n}"
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["b", width]) for name in ("x", last))
    made = helper.make_graph(nodes, "network", [x], [y], constants)
    return bytes(
        helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()
    )


def main() -> None:
    sessions = OnnxSessions(sys.argv[1])
    models = [network(layers, width=512) for layers in (8, 16)]
    numbers = {"x": np.random.default_rng(1).standard_normal((4, 512), dtype=np.float32)}
    began = time.perf_counter()
    outputs = [sessions.session(model).run(None, numbers)[0].tobytes() for model in models]
    seconds = time.perf_counter() - began
    did, digested = sessions.adapter.statistics(), hashlib.sha256(b"".join(outputs)).hexdigest()
    print(json.dumps({"seconds": round(seconds, 4), "hits": did.hits, "lookups": did.lookups, "sha256": digested}))
    sessions.adapter.close()


if __name__ == "__main__":
    main()
