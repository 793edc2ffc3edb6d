"""How examples of this kind run: JAX lowers, guardcache keeps what XLA compiles."""

from __future__ import annotations

from typing import Any

import jax

import guardcache

KEYS = ("guardcache",)

_cache: guardcache.Cache
_found: list[tuple[str, str]] = []
_texts: list[str] = []
_version = jax.__version__


def prepare() -> None:
    """Nothing is needed."""


def start(directory: str, key: str) -> None:
    global _cache
    _cache = guardcache.open(directory)


def compile(function: Any, *arguments: Any, version: str = _version) -> None:
    """Finds or makes what XLA makes of a function for these arguments."""
    lowered = jax.jit(function).lower(*arguments)
    graph = guardcache.Graph("stablehlo")
    graph.component("module", lowered.as_text())
    graph.component("environment", {"jax": version, "backend": jax.default_backend()})
    found = _cache.lookup(graph)
    if isinstance(found, guardcache.Hit):
        _found.append(("hit", ""))
        return
    _found.append(("miss", str(found.reason)))
    _texts.append(_cache.explain(graph))
    _cache.insert(graph, lowered.compile().as_text().encode())


def lookups() -> list[tuple[str, str]]:
    return _found


def explain() -> str:
    return "\n".join(_texts)
