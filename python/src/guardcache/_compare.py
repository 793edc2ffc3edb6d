"""How two descriptions differ: of a cache, of no cache, or of their canonical forms alone."""

from __future__ import annotations

import json
from typing import Any, TypeAlias, Union

from guardcache import _native
from guardcache._checked import whole
from guardcache._classes import NamedTuple
from guardcache._graph import Graph

Subject: TypeAlias = Union[Graph, str]
"""One side of a comparison: a description, or a key that the cache holds."""

_TEXT, _JSON = 0, 1


class Comparison(NamedTuple):
    """How two descriptions differ."""

    text: str
    """Which components, then the exact paths; empty if nothing differs."""
    differences: int
    """How many there are, also where the text has fewer."""


def _native_side(side: Subject) -> _native.Graph | str:
    return side if isinstance(side, str) else side._native


def compare_in(cache: _native.Cache | None, stored: Subject, asked: Subject, max_items: int) -> Comparison:
    return Comparison(
        *_native.compare(cache, _native_side(stored), _native_side(asked), whole("max_items", max_items), _TEXT)
    )


def compare_data_in(cache: _native.Cache | None, stored: Subject, asked: Subject, max_items: int) -> dict[str, Any]:
    text, _ = _native.compare(cache, _native_side(stored), _native_side(asked), whole("max_items", max_items), _JSON)
    found: dict[str, Any] = json.loads(text)
    return found


def compare(stored: Graph, asked: Graph, *, max_items: int = 0) -> Comparison:
    """How two descriptions differ, in at most `max_items` differences (0: 50). `Cache.compare` takes keys, too."""
    return compare_in(None, stored, asked, max_items)


def compare_data(stored: Graph, asked: Graph, *, max_items: int = 0) -> dict[str, Any]:
    """The same for programs: ``equal``, ``components``, ``differs``, ``left_out``."""
    return compare_data_in(None, stored, asked, max_items)


def diff(stored: bytes, asked: bytes, *, max_items: int = 0) -> Comparison:
    """The same of two canonical forms, what `Graph.canonical` gives. `CorruptError` for what is none."""
    return Comparison(*_native.diff(stored, asked, whole("max_items", max_items), _TEXT))
