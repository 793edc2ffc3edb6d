"""Many modules at once: look each up, compile the misses in parallel: `guardcache/bulk.h`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias, Unpack

from guardcache._cache.compiles import Call, Compiled, Fresh
from guardcache._cache.handle import Handle
from guardcache._cache.options import EachAsked, make_each_request, variant_of
from guardcache._cache.results import Hit
from guardcache._checked import INT_MAX, whole
from guardcache._classes import NamedTuple, Record
from guardcache._graph import Graph, native_of
from guardcache._values import Hints


class Module(NamedTuple):
    """One of many."""

    graph: Graph
    compile: Callable[[], Compiled]
    """Called by any thread, together with others."""
    hints: Hints | None = None
    bypass: str | None = None
    """Why this one can't be cached."""


class SoFar(NamedTuple):
    """How far a call has got, after each module."""

    modules: int
    hits: int
    compiled: int
    failed: int
    stored: int
    """Of those compiled."""
    compile_ns: int
    """Spent on compiling, summed over the modules."""
    saved_ns: int
    """What compiling the hits had taken."""


ManyProgress: TypeAlias = Callable[[SoFar], object]
"""False: begin no more modules."""


class Summary(NamedTuple):
    """What came of many modules."""

    modules: int
    hits: int
    compiled: int
    failed: int
    stored: int
    """Of those compiled."""
    cancelled: int
    """Modules that weren't begun."""
    compile_ns: int
    saved_ns: int
    elapsed_ns: int
    line: str
    """``2,000 modules, 1,990 hits (99.5 %), compiled in 1.2 s, saved 41.0 s``."""


class Many(Record):
    """Of each module, in the order they came in, a `Hit`, what was compiled, an exception, or None: it wasn't begun."""

    outcomes: tuple[Hit | Fresh | Exception | None, ...]
    summary: Summary

    def results(self) -> list[Hit | Fresh]:
        """All of them; the exception of the first that failed is raised. Those that weren't begun are left out."""
        for outcome in self.outcomes:
            if isinstance(outcome, Exception):
                raise outcome
        return [outcome for outcome in self.outcomes if isinstance(outcome, (Hit, Fresh))]


class CompilesMany(Handle):
    __slots__ = ()

    def compile_many(
        self,
        modules: Iterable[Module],
        *,
        workers: int = 0,
        progress: ManyProgress | None = None,
        **each: Unpack[EachAsked],
    ) -> Many:
        """Looks each module up and compiles the misses, on so many threads (0: one a processor); those that are equal
        are compiled once. What one module's compile raises doesn't keep the others. Options are those of `EachAsked`.
        """
        given = tuple(modules)
        request, options = make_each_request(each)
        calls = [Call(self._strict, variant_of(each), each.get("label"), module.compile) for module in given]
        natives = tuple(
            (native_of(module.graph), module.hints, module.bypass, call)
            for module, call in zip(given, calls, strict=True)
        )
        heard = None if progress is None else lambda *numbers: progress(SoFar(*numbers))
        threads = whole("workers", workers, INT_MAX)
        found, summary = self._native.compile_many(natives, request, options, threads, heard)
        outcomes = (call.settled(outcome) for call, outcome in zip(calls, found, strict=True))
        return Many(tuple(outcomes), Summary(*summary))
