"""A client of the package, as strict types see it: test_types runs mypy over it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import guardcache
from guardcache import (
    Attachment,
    CacheOptions,
    Compiled,
    Fingerprint,
    Fresh,
    Graph,
    Hit,
    Miss,
    Module,
    Reason,
    Tensor,
    Variant,
    log_event,
)


def describe(shape: Sequence[int | str], flags: Mapping[str, bool]) -> Graph:
    graph = Graph("mycompiler/1")
    x = graph.input("x", Tensor("float32", shape))
    graph.output(graph.call("f", x, flags=flags))
    graph.component("options", flags)
    made_by = Fingerprint()
    made_by.fact("version", "1.0")
    graph.component("environment", made_by)
    return graph


def compile() -> Compiled:
    return Compiled(b"code", guards=["s0 % 8 == 0"], attachments=[Attachment("a.so", b"")], deltas={"kernels": 1})


def use(directory: str) -> bytes:
    options: CacheOptions = {"durability": guardcache.Durability.NONE, "listener": log_event}
    with guardcache.open(directory, **options) as cache:
        graph = describe(["s0", 16], MappingProxyType({"fast": True}))
        found: Hit | Miss = cache.lookup(graph, {"s0": 48}, label="client", sources={"s0": "x.size(0)"})
        if not found:
            reason: Reason = found.reason
            print(reason.text)
        made: Hit | Fresh = cache.get_or_compile(
            graph, compile, {"s0": 48}, compile_as=Variant("tuned", 1), flight="all", post_load=lambda hit: hit.payload
        )
        later = asyncio.run(cache.get_or_compile_async(graph, compile, {"s0": 48}))
        many = cache.compile_many([Module(graph, compile, {"s0": 8})], workers=2)
        found_again, begun = cache.begin(graph)
        if begun is not None:
            with begun:
                begun.end(compile())
        top: str = cache.top("guards", last=100)
        for entry in cache.journal(misses_only=True):
            print(entry.reason, entry.hints.get("s0"), top)

        @cache.memoize(version="1.0")
        def memoized(source: str, *, fast: bool = False) -> Compiled:
            return Compiled(source.encode())

        print(memoized("x", fast=True).payload, bytes(later.payload), len(many.results()), bool(found_again))
        return bytes(made.payload)
