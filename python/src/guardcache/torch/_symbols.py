"""What a graph's symbols are called in this process, for keys that don't count names.

Under other names: an entry's only strings over symbols that are evaluated later are its output strides. Every symbol
of a graph is a SymInt input of it, so stored and present inputs, slot by slot, say what each is called now.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from guardcache import Graph

# Graphs between their key and their insert: a handful, unless inserts never come.
_REMEMBERED_MAX = 64

_SYMBOL = re.compile(r"[A-Za-z_]\w*(?!\w|\()")


def symbol_inputs(inputs: Sequence[Any]) -> tuple[str, ...]:
    """What the symbolic inputs are called, slot by slot."""
    return tuple(str(s.node.expr) for s in inputs if isinstance(s, torch.SymInt))


# Parts of an entry that may have symbols inside; the graph itself is serialized from 2.13 on.
_WITH_NAMES = ("cudagraph_info", "_serialized_original_gm", "_original_gm", "partition_maps")


def rename_entry(graph: Any, stored: Sequence[str], current: Sequence[str]) -> bool:
    """Makes an entry of other symbol names usable here; False if that can't be done for certain."""
    if list(stored) == list(current):
        return True
    if any(getattr(graph, name, None) for name in _WITH_NAMES):
        return False
    if len(stored) != len(current):
        return False
    # Inputs that are expressions of others (s0*s1) name nothing.
    pairs = {(old, new) for old, new in zip(stored, current, strict=True) if old.isidentifier() and new.isidentifier()}
    names = dict(pairs)
    if len(names) != len(pairs) or len(set(names.values())) != len(names):
        return False
    unknown = False

    def current_name(match: re.Match[str]) -> str:
        nonlocal unknown
        name = match.group()
        unknown |= name not in names
        return names.get(name, name)

    strides = [
        None if stride is None else tuple(_SYMBOL.sub(current_name, text) for text in stride)
        for stride in graph.output_strides or ()
    ]
    if not unknown and graph.output_strides is not None:
        graph.output_strides = strides
    return not unknown


class Described(NamedTuple):
    """A graph whose key was computed lately, and what its symbolic inputs are called in this process."""

    graph: Graph
    symbols: tuple[str, ...]


class Descriptions:
    """By key text."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._graphs: OrderedDict[str, Described] = OrderedDict()

    def remember(self, key: str, described: Described) -> None:
        with self._lock:
            self._graphs[key] = described
            self._graphs.move_to_end(key)
            while len(self._graphs) > _REMEMBERED_MAX:
                self._graphs.popitem(last=False)

    def get(self, key: str) -> Described | None:
        with self._lock:
            return self._graphs.get(key)
