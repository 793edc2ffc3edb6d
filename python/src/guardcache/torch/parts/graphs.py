"""Inductor's graph cache, and what surrounds its lookups: inputs and component lines, bypasses, the compile itself."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch._inductor import compile_fx, config
from torch._inductor.codecache import FxGraphCache
from torch._inductor.virtualized import V
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from guardcache.adapter import Patches
from guardcache.torch import _entries as entries
from guardcache.torch.parts import _guarded as guarded

if TYPE_CHECKING:
    from guardcache.torch._adapter import Adapter


def plan(patches: Patches, adapter: Adapter) -> None:
    adapter.evaluators.add(ShapeEnv.evaluate_guards_expression)
    guarded.plan(patches, adapter, FxGraphCache, entries.FX, "_save_graph")
    _plan_lookup(patches, adapter)
    _plan_compile(patches, adapter)


def _plan_lookup(patches: Patches, adapter: Adapter) -> None:
    load_with_key = vars(FxGraphCache)["load_with_key"].__func__
    prepare_key = vars(FxGraphCache)["prepare_key"].__func__

    @functools.wraps(load_with_key)
    def load(key: str, lines: list[str], inputs: Sequence[Any], *arguments: Any, **named: Any) -> Any:
        inside = named.get("evaluate_guards") is not None
        # Behind AOT's hit a hit is all but certain: then what the key was made of isn't worth its time.
        known = () if inside else lines
        suffix = " (backward)" if named.get("is_backward") else ""
        inputs_name = "inputs" if entries.canonical_key(key) is not None else "example_inputs"
        with adapter.asking(inputs, known, suffix, inputs_name):
            return load_with_key(key, lines, inputs, *arguments, **named)

    @functools.wraps(prepare_key)
    def prepare(*arguments: Any, **named: Any) -> Any:
        key, info = prepare_key(*arguments, **named)
        if key is None:
            adapter.bypassed(entries.FX, info.get("cache_bypass_reason", ""))
        return key, info

    patches.set(FxGraphCache, "load_with_key", staticmethod(load))
    patches.set(FxGraphCache, "prepare_key", staticmethod(prepare))


def _plan_compile(patches: Patches, adapter: Adapter) -> None:
    compile_graph = compile_fx._compile_fx_inner

    @functools.wraps(compile_graph)
    def compile_once(*arguments: Any, **named: Any) -> Any:
        if (reason := _switched_off()) is not None:
            adapter.passed_by(reason)
        with adapter.compiling():
            return compile_graph(*arguments, **named)

    patches.set(compile_fx, "_compile_fx_inner", compile_once)


def _switched_off() -> str | None:
    """Why PyTorch won't ask its graph cache about a compile."""
    if config.force_disable_caches:
        return "PyTorch's caches are switched off (force_disable_caches)"
    if not config.fx_graph_cache:
        return "Inductor's graph cache is switched off (fx_graph_cache)"
    return "PyTorch doesn't cache what AOTInductor exports" if V.aot_compilation else None
