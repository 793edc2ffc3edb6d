"""Descriptions that the tests use."""

from __future__ import annotations

import guardcache
from guardcache import Graph, Tensor


def matmul(columns: int = 4, **options: guardcache.Value) -> Graph:
    """A small description: x @ w, with w of so many columns."""
    graph = Graph("mycompiler/1")
    x = graph.input("x", Tensor("float32", ["s0", 16]))
    w = graph.input("w", Tensor("float32", [16, columns]))
    graph.output(graph.call("matmul", x, w, allow_tf32=False))
    graph.component("options", dict(options))
    return graph
