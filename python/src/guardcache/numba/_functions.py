"""``Dispatcher.compile``, asked for a function and argument types it hasn't compiled yet in this process.

numba asks a dispatcher's cache before it compiles, and hands it what it has compiled. `_Handover` stands in that place
for the time of one call, so that numba itself adds what is loaded to the dispatcher, counts hits and misses, and fires
its events.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

from numba.core import sigutils
from numba.core.caching import FunctionCache, NullCache, _Cache
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaWarning
from numba.core.registry import cpu_target

from guardcache import Compiled, Graph, Hit
from guardcache.adapter import Adapter, Patches, Task
from guardcache.numba import _description, _entries, _packages
from guardcache.numba._unkeyed import Unkeyed

Original = Callable[[Any, Any], Any]


class Functions:
    """The functions of this process."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._describer = _description.Describer()

    def plan(self, patches: Patches) -> None:
        original = Dispatcher.compile

        def compile(dispatcher: Any, sig: Any) -> Any:
            return self.compile(dispatcher, sig, original)

        def enable_caching(dispatcher: Any) -> None:
            dispatcher._cache = AskedFor(self._adapter.cache.directory)

        patches.set(Dispatcher, "compile", compile)
        patches.set(Dispatcher, "enable_caching", enable_caching)

    def compile(self, dispatcher: Any, signature: Any, original: Original) -> Any:
        if not _users(dispatcher):
            return original(dispatcher, signature)
        with global_compiler_lock:
            arguments, _ = sigutils.normalize_signature(signature)
            if tuple(arguments) in dispatcher.overloads or not dispatcher._can_compile:
                return original(dispatcher, signature)
            self._describer.history.compiled(dispatcher.py_func)
            return _Call(self._adapter, self._describer, dispatcher, signature, original).run()


def _users(dispatcher: Any) -> bool:
    """Whether it is a function of a program. numba's own are in the code of those that call them."""
    module = dispatcher.py_func.__module__ or ""
    numbas = (_packages.version(module) or "").startswith("numba ")
    return dispatcher.targetdescr is cpu_target and not numbas


class _Call:
    """One call of ``Dispatcher.compile``, under numba's lock."""

    def __init__(
        self, adapter: Adapter, describer: _description.Describer, dispatcher: Any, signature: Any, original: Original
    ) -> None:
        self._adapter, self._describer = adapter, describer
        self._dispatcher, self._signature, self._original = dispatcher, signature, original
        self._functions: tuple[FunctionType, ...] = ()
        self._handover = _Handover(adapter.cache.directory)

    def run(self) -> Any:
        task = Task(
            describe=self._describe,
            label=_description.label(self._dispatcher, self._signature),
            # A hit gets names of its own, whatever the producer's were.
            accept_renames=True,
        )
        own, self._dispatcher._cache = self._dispatcher._cache, self._handover
        try:
            return self._adapter.compile(task, self._build, self._load)
        finally:
            self._dispatcher._cache = own
            if self._handover.refused and isinstance(own, (AskedFor, FunctionCache)):
                self._warn(self._handover.refused)

    def _describe(self) -> Graph:
        try:
            graph, self._functions = self._describer.describe(self._dispatcher, self._signature)
        except Unkeyed as unkeyed:
            self._handover.refused = str(unkeyed)
            raise
        return graph

    def _build(self) -> tuple[Any, Compiled]:
        self._handover.ready = None  # what numba wouldn't take is compiled
        entry_point = self._original(self._dispatcher, self._signature)
        result = self._handover.compiled
        try:
            return entry_point, Compiled(_entries.dump(result, self._functions))
        except Exception as reason:  # whatever it is, it mustn't cost what was compiled
            self._handover.refused = str(reason) or self._handover.refused or type(reason).__name__
            return entry_point, Compiled(b"", do_not_store=self._handover.refused)

    def _load(self, hit: Hit) -> Any:
        self._handover.ready = _entries.load(hit.payload, self._functions, self._dispatcher.targetctx)
        return self._original(self._dispatcher, self._signature)

    def _warn(self, reason: str) -> None:
        """As numba's own cache does where ``cache=True`` was asked for in vain."""
        function = self._dispatcher.py_func
        code = function.__code__
        text = f'Cannot cache compiled function "{function.__name__}" as {reason}'
        warnings.warn_explicit(text, NumbaWarning, code.co_filename, code.co_firstlineno)


class _Handover(_Cache):  # type: ignore[misc]
    """A dispatcher's cache during one call."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self.ready: CompileResult | None = None
        """What numba finds."""
        self.compiled: CompileResult | None = None
        """What it has compiled."""
        self.refused = ""
        """Why that isn't stored."""

    @property
    def cache_path(self) -> str:
        return self._directory

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        return self.ready

    def save_overload(self, sig: Any, data: CompileResult) -> None:
        self.compiled = data

    def enable(self) -> None:
        """There is nothing to enable."""

    def disable(self) -> None:
        """Nor to disable."""

    def flush(self) -> None:
        """What numba would recompile has another key."""


class AskedFor(NullCache):  # type: ignore[misc]
    """The cache of a dispatcher with ``cache=True``, between calls."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    @property
    def cache_path(self) -> str:
        return self._directory
