"""Exported functions: lowered once for all the sizes that their symbolic shapes allow.

What is kept is the exported module; its guards are the shape constraints. The key is of the function as JAX traces it,
so a hit saves the lowering, and what XLA compiles of it for a size is a compile as any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.export
from jax._src.lib import version_str as jaxlib_version

from guardcache import Compiled, Graph, Guards, Hit, Tensor, Value
from guardcache.adapter import Adapter, Task
from guardcache.jax._constraints import guards_of, name_of, sizes_of, sources_of
from guardcache.jax._jaxpr import write


class Exported:
    """A function that is exported when it is first called, or found exported; any thread may call it."""

    def __init__(self, adapter: Adapter, function: Callable[..., Any], specs: tuple[Any, ...]) -> None:
        self._adapter = adapter
        self._jitted: Any = function if hasattr(function, "lower") else jax.jit(function)
        self._specs = specs
        self._platform: str = jax.default_backend()
        self._label = f"export {getattr(function, '__qualname__', repr(function))}"
        self._found: dict[tuple[tuple[int, ...], ...], Any] = {}
        """By the arguments' shapes."""
        self._loaded: dict[str, Any] = {}
        """By the entry they are from."""

    def __call__(self, *arguments: Any) -> Any:
        """What the function returns. `ValueError`, JAX's own, if the sizes are none that the export allows."""
        return self.of(*arguments).call(*arguments)

    def of(self, *arguments: Any) -> Any:
        """The `jax.export.Exported` for arguments of these shapes."""
        shapes = tuple(tuple(jax.numpy.shape(leaf)) for leaf in jax.tree.leaves(arguments))
        found = self._found.get(shapes)
        if found is None:
            found = self._found[shapes] = self._find(sizes_of(shapes), sources_of(shapes))
        return found

    def _find(self, sizes: dict[str, int], sources: dict[str, str]) -> Any:
        def build() -> tuple[Any, Compiled]:
            exported = jax.export.export(self._jitted, platforms=[self._platform])(*self._specs)
            return exported, _compiled(exported, sizes)

        def load(hit: Hit) -> Any:
            if hit.entry not in self._loaded:
                self._loaded[hit.entry] = jax.export.deserialize(bytearray(hit.payload))
            return self._loaded[hit.entry]

        task = Task(describe=self._describe, label=self._label, hints=sizes, sources=sources, accept_renames=True)
        return self._adapter.compile(task, build, load)

    def _describe(self) -> Graph:
        traced, results = jax.make_jaxpr(self._jitted, return_shape=True)(*self._specs)
        graph = Graph("stablehlo")
        leaves, structure = jax.tree.flatten(self._specs)
        for argument, leaf in enumerate(leaves):
            shape = [
                size if isinstance(size, int) else name_of(argument, place) for place, size in enumerate(leaf.shape)
            ]
            graph.input(f"args[{argument}]", Tensor(str(leaf.dtype), shape))
        graph.component("traced", write(traced))
        graph.component("structure", f"{structure} -> {jax.tree.structure(results)}")
        graph.component("constraints", _scopes(leaves))
        graph.component(
            "environment",
            {"jax": jaxlib_version, "exporter": jax.__version__, "platform": self._platform},
        )
        return graph


def _scopes(leaves: list[Any]) -> list[Value]:
    """What the user's symbolic shapes assume, beside what they look like."""
    scopes = {id(size.scope): size.scope for leaf in leaves for size in leaf.shape if not isinstance(size, int)}
    shapes = [str(leaf.shape) for leaf in leaves]
    return [*shapes, *(str(constraint) for scope in scopes.values() for constraint in scope._explicit_constraints)]


def _compiled(exported: Any, sizes: dict[str, int]) -> Compiled:
    guards = guards_of(exported)
    refused = None if Guards(guards).evaluate(sizes) else "its shapes don't allow these sizes"
    return Compiled(bytes(exported.serialize()), guards=guards, do_not_store=refused)
