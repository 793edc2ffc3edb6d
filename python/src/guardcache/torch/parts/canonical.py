"""guardcache's own keys for Inductor's graphs: ``install(key="canonical")``."""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch._inductor import codecache
from torch.fx import GraphModule

import guardcache
from guardcache.adapter import Patches
from guardcache.torch import _entries as entries
from guardcache.torch._canonical import UndescribableError, describe
from guardcache.torch._symbols import Described, symbol_inputs

if TYPE_CHECKING:
    from guardcache.torch._adapter import Adapter

log = logging.getLogger("guardcache.torch")


def plan(patches: Patches, adapter: Adapter) -> None:
    original = codecache.compiled_fx_graph_hash

    @functools.wraps(original)
    def graph_hash(
        gm: GraphModule, example_inputs: Sequence[Any], fx_kwargs: Any, inputs_to_check: Sequence[int]
    ) -> tuple[str, list[str]]:
        if adapter.at_home():
            try:
                graph = describe(gm, example_inputs, fx_kwargs, inputs_to_check)
                key = entries.canonical_key_text(graph.key)
            except (UndescribableError, guardcache.Error) as reason:
                log.info("PyTorch's own key is used: %s", reason)
            else:
                adapter.descriptions.remember(key, Described(graph, symbol_inputs(example_inputs)))
                return key, [f"[{digest}] {name}: " for name, digest in graph.components.items()]
        return original(gm, example_inputs, fx_kwargs, inputs_to_check)

    patches.set(codecache, "compiled_fx_graph_hash", graph_hash)
