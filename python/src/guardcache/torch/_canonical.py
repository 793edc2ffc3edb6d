"""Inductor's graphs in guardcache's own description: ``install(key="canonical")``.

PyTorch's key is a hash of the printed graph and its names. guardcache's is built node by node: names don't count,
symbols are named by first use, so isomorphic graphs share a key, and a miss is explained down to the node that
differs. What surrounds the graph (configuration, versions, settings) is taken from PyTorch's own
`FxGraphHashDetails`, so that nothing counts less than there. What can't be described falls back to PyTorch's key.
The names of symbols don't count either: see `_symbols`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._inductor.codecache import FxGraphCachePickler, FxGraphHashDetails
from torch._inductor.freezing_utils import is_frozen_param
from torch._inductor.graph import GraphLowering
from torch.fx import GraphModule
from torch.fx.graph_module import _get_attr

from guardcache import Enum, Graph, Node, Symbolic, Tensor, Value

_PLAIN = frozenset([type(None), bool, int, float, str, bytes])
_NAMED_CONSTANTS = (torch.dtype, torch.device, torch.layout, torch.memory_format)
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


class UndescribableError(Exception):
    """Something in a graph has no place in a description."""


# ---- describing ----


@functools.lru_cache(maxsize=65_536)
def _target_name(target: Any) -> str:
    if isinstance(target, str):
        return target
    if isinstance(target, (torch._ops.OpOverload, torch._ops.HigherOrderOperator)):
        return str(target)
    module = getattr(target, "__module__", None)
    name = getattr(target, "__qualname__", None)
    if module is None or name is None or "<" in name:
        raise UndescribableError(f"a call of {target!r}")
    return f"{module}.{name}"


class _Describer:
    """Fills one description from a graph and its surroundings."""

    def __init__(self, gm: GraphModule) -> None:
        self.graph = Graph("fx")
        self._pickler = FxGraphCachePickler(gm)
        self._expressions: dict[Any, str] = {}
        self._constants: dict[str, Value] = {}

    # -- values --

    def _expression(self, expression: Any) -> str:
        """Printing a sympy expression costs more than everything else about a node: each is printed once."""
        text = self._expressions.get(expression)
        if text is None:
            # A symbol prints as its name, for which sympy needs no printer.
            text = self._expressions[expression] = expression.name if expression.is_Symbol else str(expression)
        return text

    def _size(self, size: Any) -> int | str:
        return self._expression(size.node.expr) if isinstance(size, torch.SymInt) else int(size)

    def tensor(self, tensor: torch.Tensor, values: Value = None) -> Tensor:
        more: dict[str, Value] = {
            "is_conj": tensor.is_conj(),
            "is_neg": tensor.is_neg(),
            "is_inference": tensor.is_inference(),
        }
        if values is not None:
            more["values"] = values
        stride = None
        if tensor.layout is torch.strided:
            stride = [self._size(s) for s in tensor.stride()]
        else:
            more["sparse"] = [tensor.is_coalesced(), tensor.dense_dim(), tensor.sparse_dim()]
        if tensor.is_quantized:
            raise UndescribableError("a quantized tensor")
        if hasattr(tensor, "_is_inductor_static"):
            more["static"] = True
            more["storage_offset"] = self._size(tensor.storage_offset())
        return Tensor(
            str(tensor.dtype).removeprefix("torch."),
            [self._size(s) for s in tensor.shape],
            stride,
            str(tensor.device),
            str(tensor.layout).removeprefix("torch."),
            tensor.requires_grad,
            more,
        )

    def value(self, value: Any, nodes: Mapping[Any, Node]) -> Value:
        """An argument of a node, or an option."""
        if type(value) in _PLAIN:
            return value  # type: ignore[no-any-return]
        if isinstance(value, torch.fx.Node):
            return nodes[value]
        if isinstance(value, (list, tuple)):
            items = [self.value(item, nodes) for item in value]
            return items if isinstance(value, list) else tuple(items)
        if isinstance(value, dict):
            return {str(name): self.value(item, nodes) for name, item in value.items()}
        if isinstance(value, _NAMED_CONSTANTS):
            return Enum(str(value))
        if isinstance(value, _SYMBOLIC):
            return Symbolic(self._expression(value.node.expr))
        if isinstance(value, slice):
            return {"slice": [self.value(part, nodes) for part in (value.start, value.stop, value.step)]}
        if value is Ellipsis:
            return Enum("...")
        raise UndescribableError(f"an argument of type {type(value).__qualname__}")

    def settings(self, values: Mapping[str, Any]) -> dict[str, Value]:
        return {name: value if type(value) in _PLAIN else self.setting(value) for name, value in values.items()}

    def setting(self, value: Any) -> Value:
        """A part of the surroundings; what isn't plain data counts as PyTorch hashes it."""
        try:
            return self.value(value, {})
        except (UndescribableError, KeyError):
            return {"hash": self._pickler.get_hash(value)}

    # -- nodes --

    def inputs(self, gm: GraphModule, example_inputs: Sequence[Any]) -> dict[Any, Node]:
        nodes: dict[Any, Node] = {}
        placeholders = gm.graph.find_nodes(op="placeholder")
        if len(placeholders) != len(example_inputs):
            raise UndescribableError("inputs that don't match the placeholders")
        for placeholder, example in zip(placeholders, example_inputs, strict=True):
            if isinstance(example, torch.Tensor):
                value: Value = self.tensor(example)
            else:
                value = self.value(example, {})
            nodes[placeholder] = self.graph.input(placeholder.name, value)
        return nodes

    def nodes(self, gm: GraphModule, nodes: dict[Any, Node]) -> None:
        """Everything but the inputs, which are there already; a subgraph's placeholders are nodes like others."""
        add, value = self.graph.node, self.value
        for node in gm.graph.nodes:
            if node.op == "output":
                self.graph.output(value(node.args[0], nodes))
            elif node not in nodes:
                if node.op == "get_attr":
                    self._attribute(gm, node.target, nodes)
                args = tuple([value(arg, nodes) for arg in node.args])
                kwargs = {name: value(arg, nodes) for name, arg in node.kwargs.items()} if node.kwargs else {}
                nodes[node] = add(node.op, _target_name(node.target), args, kwargs)

    def _attribute(self, gm: GraphModule, target: str, nodes: dict[Any, Node]) -> None:
        attribute = _get_attr(gm, target)
        if isinstance(attribute, GraphModule):
            with self.graph.subgraph(target):
                self.nodes(attribute, dict(nodes))
        elif isinstance(attribute, torch.Tensor):
            inlined = not is_frozen_param(attribute) or GraphLowering.can_inline_constant(attribute)
            self._constants[target] = self.tensor(attribute, attribute.tolist() if inlined else None)
        else:
            raise UndescribableError(f"an attribute of type {type(attribute).__qualname__}")

    # -- surroundings --

    def surroundings(self, details: FxGraphHashDetails) -> None:
        parts = dict(vars(details))
        del parts["gm"], parts["example_inputs"]
        self.graph.component("options", self.settings(parts.pop("fx_kwargs")))
        self._config(parts.pop("inductor_config"))
        self.graph.component("environment", self.settings(parts))
        if self._constants:
            self.graph.component("constants", self._constants)

    def _config(self, options: dict[str, Any]) -> None:
        """Six hundred options. As a rule all are plain data: translating them took a quarter of a small graph's key.

        The compiler's name is a requirement of those entries that need a compiler.
        """
        options = dict(options)
        options.pop("cpp.cxx", None)
        try:
            self.graph.component("config", options)
        except TypeError:
            self.graph.component("config", self.settings(options))


def describe(gm: GraphModule, example_inputs: Sequence[Any], fx_kwargs: Any, inputs_to_check: Sequence[int]) -> Graph:
    """The description of a graph that Inductor is about to compile. `UndescribableError` if there is none."""
    details = FxGraphHashDetails(gm, example_inputs, fx_kwargs, inputs_to_check)
    if details.user_defined_triton_source:
        raise UndescribableError("a user's Triton kernel")
    if fx_kwargs.get("cudagraphs"):
        raise UndescribableError("CUDA graphs, whose placeholders are known by name")
    describer = _Describer(gm)
    describer.nodes(gm, describer.inputs(gm, example_inputs))
    describer.surroundings(details)
    describer.graph.component("inputs_to_check", list(inputs_to_check))
    return describer.graph
