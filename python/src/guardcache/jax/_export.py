"""Exported functions: lowered once for all the sizes that their symbolic shapes allow.

What is kept is the exported module; its guards are the shape constraints. The key is of the function as JAX traces it,
so a hit saves the lowering, and what XLA compiles of it for a size is a compile as any other.

How to differentiate isn't kept. The function is at hand, so JAX exports its derivative when somebody asks for it, with
a stored export as with one that was made just now.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.export
from jax._src import core
from jax._src.lib import version_str as jaxlib_version

from guardcache import Compiled, Graph, Guards, Hit, Tensor, Value
from guardcache.adapter import Adapter, Task
from guardcache.jax._constraints import guards_of, name_of, sizes_of, sources_of
from guardcache.jax._jaxpr import check_sharding, write
from guardcache.jax._settings import settings
from guardcache.jax._trees import structure

# A program of endlessly many sizes must not fill its memory with them.
_REMEMBERED = 1024


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
        if any(core.is_symbolic_dim(size) for shape in shapes for size in shape):
            # It is called by what is being exported itself, for all sizes.
            return self._own
        found = self._found.get(shapes)
        if found is None:
            if len(self._found) >= _REMEMBERED:
                self._found.clear()
            found = self._found[shapes] = self._find(sizes_of(shapes), sources_of(shapes))
        return found

    @functools.cached_property
    def _own(self) -> Any:
        """As JAX exports it."""
        return self._export()

    def _export(self) -> Any:
        return jax.export.export(self._jitted, platforms=[self._platform])(*self._specs)

    def _find(self, sizes: dict[str, int], sources: dict[str, str]) -> Any:
        def build() -> tuple[Any, Compiled]:
            exported = self._export()
            return exported, _compiled(exported, sizes)

        def load(hit: Hit) -> Any:
            if hit.entry not in self._loaded:
                loaded = jax.export.deserialize(bytearray(hit.payload))
                self._loaded[hit.entry] = dataclasses.replace(loaded, _get_vjp=lambda _: self._own.vjp())
            return self._loaded[hit.entry]

        task = Task(describe=self._describe, label=self._label, hints=sizes, sources=sources, accept_renames=True)
        return self._adapter.compile(task, build, load)

    def _describe(self) -> Graph:
        for leaf in jax.tree.leaves(self._specs):
            check_sharding(leaf)
        traced = self._jitted.trace(*self._specs)
        avals = traced.jaxpr.in_avals
        graph = Graph("stablehlo")
        for argument, aval in enumerate(avals):
            shape = [
                size if isinstance(size, int) else name_of(argument, place) for place, size in enumerate(aval.shape)
            ]
            graph.input(f"args[{argument}]", Tensor(str(aval.dtype), shape))
        graph.component("traced", write(traced.jaxpr, traced._params))
        takes, returns = (structure(jax.tree.structure(info)) for info in (traced.args_info, traced.out_info))
        graph.component("structure", f"{takes} -> {returns}")
        graph.component("constraints", _scopes(avals))
        graph.component("settings", settings())
        graph.component(
            "environment",
            {"jax": jaxlib_version, "exporter": jax.__version__, "platform": self._platform},
        )
        return graph


def _scopes(avals: Sequence[Any]) -> list[Value]:
    """What the user's symbolic shapes assume, beside what they look like."""
    scopes = {id(size.scope): size.scope for aval in avals for size in aval.shape if not isinstance(size, int)}
    shapes = [str(aval.shape) for aval in avals]
    return [*shapes, *(str(constraint) for scope in scopes.values() for constraint in scope._explicit_constraints)]


def _compiled(exported: Any, sizes: dict[str, int]) -> Compiled:
    """What isn't described may be something that can't be stored either; the caller has it all the same."""
    try:
        guards = guards_of(exported)
        allowed = bool(Guards(guards).evaluate(sizes))
        payload = bytes(exported.serialize())
    except Exception as error:
        return Compiled(b"", do_not_store=f"it can't be serialized: {error}")
    return Compiled(payload, guards=guards, do_not_store=None if allowed else "its shapes don't allow these sizes")
