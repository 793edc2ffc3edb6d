"""`Cache.memoize`: a compile function whose results are looked up first."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any, Generic, ParamSpec, Protocol, Unpack, overload

from guardcache._cache.compiles import Compiled, Compiles, Fresh
from guardcache._cache.options import CompileAsked, check_compile_asked
from guardcache._cache.results import Hit
from guardcache._fingerprint import Fingerprint
from guardcache._graph import Graph
from guardcache._values import Hint, Value

P = ParamSpec("P")


class Memoized(Generic[P]):
    """What `Cache.memoize` makes of a compile function or method: takes what that takes, returns what
    `Cache.get_or_compile` does.
    """

    def __init__(
        self,
        cache: Compiles,
        compile: Callable[P, Compiled],
        describe: Callable[P, Graph] | None,
        hints: Callable[P, Mapping[str, Hint]] | None,
        name: str | None,
        version: Value,
        asked: CompileAsked,
    ) -> None:
        if not callable(compile):
            raise TypeError(f"memoize() decorates a function, not a {type(compile).__name__}")
        if inspect.iscoroutinefunction(compile):
            raise TypeError("memoize() decorates plain functions: for coroutines there is get_or_compile_async()")
        functools.update_wrapper(self, compile)
        self.compile = compile
        """The function itself."""
        self._cache, self._hints, self._asked = cache, hints, asked
        self._environment = version if isinstance(version, (Mapping, Fingerprint)) else {"version": version}
        self._identity: Value = None
        if describe is None:
            self._identity = name or _identity(compile)
            self._signature = inspect.signature(compile)
        self.describe: Callable[P, Graph] = describe or self._describe
        """What the arguments are described by."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Hit | Fresh:
        try:
            graph, asked = self.describe(*args, **kwargs), self._asked
        except Exception as error:
            if self._cache._strict:
                raise
            graph, asked = Graph(), {**self._asked, "bypass": f"{type(error).__name__}: {error}"}
        hints = None if self._hints is None else self._hints(*args, **kwargs)
        return self._cache.get_or_compile(graph, lambda: self.compile(*args, **kwargs), hints, **asked)

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Hit | Fresh]:
        """As of a function: it may be a method."""
        return self if instance is None else MethodType(self, instance)

    def _describe(self, *args: Any, **kwargs: Any) -> Graph:
        """The arguments themselves, whichever way they were given."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        graph = Graph()
        graph.component("function", self._identity)
        graph.component("arguments", bound.arguments)
        graph.component("environment", self._environment)
        return graph


def _identity(function: Callable[..., object]) -> Value:
    """What tells a function from any other: a name alone may be that of several. `TypeError`: nothing would."""
    if not isinstance(function, FunctionType):
        raise TypeError(f"memoize() can't tell {function!r} from others like it: give it a name, or describe")
    if function.__code__.co_freevars:
        free = ", ".join(function.__code__.co_freevars)
        raise TypeError(
            f"memoize() can't see what {function.__qualname__} takes from around it ({free}): "
            "make that arguments, or give it a name, or describe"
        )
    told: dict[str, Value] = {
        "name": f"{function.__module__}.{function.__qualname__}",
        "code": _digest(function.__code__),
    }
    if function.__module__ == "__main__":  # every script is
        told["file"] = str(getattr(sys.modules.get("__main__"), "__file__", None))
    return told


def _digest(code: CodeType) -> str:
    import hashlib

    return hashlib.sha256(_shown(code).encode("utf-8", "surrogatepass")).hexdigest()


def _shown(constant: object) -> str:
    """A constant of some code, or code itself, without what two runs may write differently: addresses, orders."""
    if isinstance(constant, CodeType):
        parts = (constant.co_code, constant.co_names, constant.co_freevars, constant.co_exceptiontable)
        return f"code {parts!r} {_shown(constant.co_consts)}"
    if isinstance(constant, tuple):
        return f"({', '.join(map(_shown, constant))})"
    if isinstance(constant, frozenset):
        return f"{{{', '.join(sorted(map(_shown, constant)))}}}"
    return repr(constant)


class Memoize(Protocol):
    """What `Cache.memoize` returns: a decorator for functions of any arguments."""

    def __call__(self, compile: Callable[P, Compiled], /) -> Memoized[P]: ...


class Memoizes(Compiles):
    __slots__ = ()

    @overload
    def memoize(self, compile: Callable[P, Compiled], /) -> Memoized[P]: ...

    @overload
    def memoize(
        self,
        /,
        *,
        describe: Callable[..., Graph] | None = None,
        hints: Callable[..., Mapping[str, Hint]] | None = None,
        name: str | None = None,
        version: Value = None,
        **asked: Unpack[CompileAsked],
    ) -> Memoize: ...

    def memoize(
        self,
        compile: Callable[..., Compiled] | None = None,
        /,
        *,
        describe: Callable[..., Graph] | None = None,
        hints: Callable[..., Mapping[str, Hint]] | None = None,
        name: str | None = None,
        version: Value = None,
        **asked: Unpack[CompileAsked],
    ) -> Memoize | Memoized[...]:
        """A decorator for compile functions: calls look up first, and compile once among all threads and processes.

        >>> @cache.memoize(version=mycompiler.__version__)
        ... def compile(source: str, *, fast: bool = False) -> Compiled:
        ...     return Compiled(mycompiler.compile(source, fast))
        >>> found = compile("x + 1")

        `describe` takes the function's arguments and describes them. Without it they are the description themselves,
        with the function's name and code and with `version`, which may be a `Fingerprint`: whatever else decides what
        comes out, as what the function calls. `name` stands for the function's own name and code; a function that uses
        variables of a function around it needs one, since nobody sees what is in those. What can't be described is
        compiled without the cache; on a strict cache it raises. `hints` gives the present sizes. Options are those of
        `CompileAsked`.
        """
        check_compile_asked("memoize", asked)

        def decorate(compile: Callable[P, Compiled]) -> Memoized[P]:
            return Memoized(self, compile, describe, hints, name, version, asked)

        return decorate if compile is None else decorate(compile)
