"""The operators that a frame's graph calls. What is made of PyTorch's own is known by its version.

Others may be taken apart, or have their backward traced, while the graph is compiled: what they are made of is then in
the result, and no guard looks at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from guardcache.torch.precompile.content import UnprovableError

# Namespaces of the operators that come with PyTorch.
_OWN = frozenset(
    [
        "aten",
        "prim",
        "prims",
        "inductor",
        "inductor_prims",
        "rngprims",
        "debugprims",
        "higher_order",
        "quantized",
        "quantized_decomposed",
        "mkldnn",
        "mkl",
        "mkldnn_prepacked",
        "onednn",
        "sparse",
        "profiler",
        "flex_lib",
    ]
)


def require_known(graph: torch.fx.Graph, modules: Iterable[Any]) -> None:
    """`UnprovableError` if the graph, or one within it, calls an operator that isn't PyTorch's own."""
    for node in _nodes(graph, modules):
        target = node.target
        if isinstance(target, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
            namespace = str(target).partition(".")[0]
            if namespace not in _OWN:
                raise UnprovableError(f"the operator {target}, which isn't PyTorch's own")


def _nodes(graph: torch.fx.Graph, modules: Iterable[Any]) -> Iterator[torch.fx.Node]:
    yield from graph.nodes
    for module in modules:
        for inner in module.modules() if isinstance(module, torch.fx.GraphModule) else ():
            if isinstance(inner, torch.fx.GraphModule):
                yield from inner.graph.nodes
