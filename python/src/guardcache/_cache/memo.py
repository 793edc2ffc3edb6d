"""`Cache.memoize`: a compile function whose results are looked up first."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Generic, ParamSpec, Protocol, Unpack

from guardcache._cache.compiles import Compiled, Compiles, Fresh
from guardcache._cache.options import CompileAsked
from guardcache._cache.results import Hit
from guardcache._fingerprint import Fingerprint
from guardcache._graph import Graph
from guardcache._values import Hint, Value

P = ParamSpec("P")


class Memoized(Generic[P]):
    """What `Cache.memoize` makes of a compile function: takes what that takes, returns what `Cache.get_or_compile`
    does.
    """

    def __init__(
        self,
        cache: Compiles,
        compile: Callable[P, Compiled],
        describe: Callable[P, Graph] | None,
        hints: Callable[P, Mapping[str, Hint]] | None,
        version: Value,
        asked: CompileAsked,
    ) -> None:
        functools.update_wrapper(self, compile)
        self.compile = compile
        """The function itself."""
        self._cache, self._hints, self._asked = cache, hints, asked
        self._environment = version if isinstance(version, (Mapping, Fingerprint)) else {"version": version}
        self._signature = inspect.signature(compile)
        self.describe: Callable[P, Graph] = describe or self._describe
        """What the arguments are described by."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Hit | Fresh:
        graph = self.describe(*args, **kwargs)
        hints = None if self._hints is None else self._hints(*args, **kwargs)
        return self._cache.get_or_compile(graph, lambda: self.compile(*args, **kwargs), hints, **self._asked)

    def _describe(self, *args: Any, **kwargs: Any) -> Graph:
        """The arguments themselves, whichever way they were given."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        graph = Graph()
        graph.component("function", f"{self.compile.__module__}.{self.compile.__qualname__}")
        graph.component("arguments", bound.arguments)
        graph.component("environment", self._environment)
        return graph


class Memoize(Protocol):
    """What `Cache.memoize` returns: a decorator for functions of any arguments."""

    def __call__(self, compile: Callable[P, Compiled], /) -> Memoized[P]: ...


class Memoizes(Compiles):
    __slots__ = ()

    def memoize(
        self,
        describe: Callable[..., Graph] | None = None,
        *,
        hints: Callable[..., Mapping[str, Hint]] | None = None,
        version: Value = None,
        **asked: Unpack[CompileAsked],
    ) -> Memoize:
        """A decorator for compile functions: calls look up first, and compile once among all threads and processes.

        >>> @cache.memoize(version=mycompiler.__version__)
        ... def compile(source: str, *, fast: bool = False) -> Compiled:
        ...     return Compiled(mycompiler.compile(source, fast))
        >>> found = compile("x + 1")

        `describe` takes the function's arguments and describes them; without it they are the description themselves,
        with the function's name and `version`, which may be a `Fingerprint`: whatever else decides what comes out.
        `hints` gives the present sizes. Options are those of `CompileAsked`.
        """

        def decorate(compile: Callable[P, Compiled]) -> Memoized[P]:
            return Memoized(self, compile, describe, hints, version, asked)

        return decorate
