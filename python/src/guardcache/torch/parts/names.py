"""What AOT's keys are made of. PyTorch says so in its debug log only; here it is asked when a key was missed."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch._functorch._aot_autograd import autograd_cache
from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCacheDetails, AOTAutogradCachePickler

from guardcache.adapter import Patches
from guardcache.torch import _labels as labels

if TYPE_CHECKING:
    from guardcache.torch._adapter import Adapter


def plan(patches: Patches, adapter: Adapter) -> None:
    get_hash = AOTAutogradCachePickler.get_hash

    @functools.wraps(get_hash)
    def hash_of(self: Any, obj: Any) -> str:
        if isinstance(obj, AOTAutogradCacheDetails):
            adapter.key_asked(functools.partial(_lines, self, obj))
        return get_hash(self, obj)

    patches.set(AOTAutogradCachePickler, "get_hash", hash_of)


def _lines(pickler: Any, details: Any) -> Sequence[str]:
    """What an AOT key is made of, as it was when the key was made: a part of the graph doesn't count."""
    with autograd_cache.sanitize_gm_for_cache(details.gm):
        lines = pickler.debug_lines(details)
        return [readable for line in lines for readable in _readable(line, pickler, details)]


def _readable(line: str, pickler: Any, details: Any) -> Sequence[str]:
    """PyTorch writes AOT's options as the bytes of a pickle, and its configuration as values without names."""
    digest, end, rest = line.partition("] ")
    name = rest.partition(": ")[0]
    if name == "autograd_config":
        options = pickle.loads(details.autograd_config)
        return [f"{digest}{end}{name}: " + "\n".join(f"{option} = {value}" for option, value in options.items())]
    if name == "aot_config":
        return labels.of_aot_config(details.aot_config, pickler.get_hash)
    return [line]
