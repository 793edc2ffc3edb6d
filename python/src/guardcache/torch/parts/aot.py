"""AOTAutograd's cache, and what surrounds its lookups: arguments, bypasses, hits that PyTorch doesn't use."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch._dynamo.utils import counters
from torch._functorch._aot_autograd import autograd_cache
from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCache

from guardcache.adapter import Patches
from guardcache.torch import _entries as entries
from guardcache.torch.parts import _guarded as guarded

if TYPE_CHECKING:
    from guardcache.torch._adapter import Adapter


def plan(patches: Patches, adapter: Adapter) -> None:
    adapter.evaluators.add(AOTAutogradCache.evaluate_guards)
    guarded.plan(patches, adapter, AOTAutogradCache, entries.AOT, "save")
    _plan_lookup(patches, adapter)
    _plan_key(patches, adapter)


def _plan_lookup(patches: Patches, adapter: Adapter) -> None:
    try_load = vars(AOTAutogradCache)["try_load"].__func__

    @functools.wraps(try_load)
    def load_result(mod: Any, inputs: list[Any], *arguments: Any, **named: Any) -> Any:
        adapter.arguments(named.get("aot_config", arguments[0] if arguments else None))
        others = _missed_elsewhere()
        with adapter.asking(inputs) as question:
            found = try_load(mod, inputs, *arguments, **named)
        # Up to 2.12 PyTorch returns the function alone.
        compiled = found[0] if isinstance(found, tuple) else found
        if compiled is None and question.hit:
            another = _missed_elsewhere() > others
            adapter.unused("another rank missed" if another else "a graph that it refers to can't be used")
        return found

    patches.set(AOTAutogradCache, "try_load", staticmethod(load_result))


def _missed_elsewhere() -> int:
    """How often PyTorch dropped a hit because a rank of the same job had none (from 2.15 on)."""
    return int(counters["aot_autograd"]["autograd_cache_cross_rank_miss"])


def _plan_key(patches: Patches, adapter: Adapter) -> None:
    autograd_cache_key = autograd_cache.autograd_cache_key

    @functools.wraps(autograd_cache_key)
    def key_of_result(*arguments: Any, **named: Any) -> Any:
        try:
            if adapter.frames is None:
                found = autograd_cache_key(*arguments, **named)
            else:
                found = _key_of_bundle(autograd_cache_key, *arguments, **named)
        except Exception as reason:
            adapter.bypassed(entries.AOT, str(reason))
            raise
        adapter.key_made(found[0])
        return found

    patches.set(autograd_cache, "autograd_cache_key", key_of_result)


def _key_of_bundle(make_key: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Results that have their graphs inside are entries of their own. What Dynamo calls them here says nothing."""
    place = inspect.signature(make_key).bind(*arguments, **named)
    place.arguments["config"] = dataclasses.replace(place.arguments["config"], precompile_backend_id=None)
    found = make_key(*place.args, **place.kwargs)
    return (found[0] + "b", *found[1:])
