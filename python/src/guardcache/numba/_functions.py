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

Original = Callable[[Any, Any], Any]

# Seconds that one who wants what another compiles waits at most: who compiles may have been stopped, and all of numba
# in this process is locked meanwhile.
_PATIENCE = 10.0

# Whoever compiles something himself waits for nobody: the other may be waiting for him.
_NO_PATIENCE = 0.001


class Functions:
    """The functions of this process."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._describer = _description.Describer()
        self._depth = 0
        """Of compiles within compiles, of all threads: numba's lock has them take turns."""

    def plan(self, patches: Patches) -> None:
        original = Dispatcher.compile

        def compile(dispatcher: Any, sig: Any) -> Any:
            return self.compile(dispatcher, sig, original)

        def enable_caching(dispatcher: Any) -> None:
            dispatcher._cache = AskedFor(self._adapter.cache.directory, dispatcher.py_func)

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
            call = _Call(self._adapter, self._describer, dispatcher, signature, original)
            self._depth += 1
            try:
                return call.run(_PATIENCE if self._depth == 1 else _NO_PATIENCE)
            finally:
                self._depth -= 1


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
        self._own = dispatcher._cache
        self._handover = _Handover(adapter.cache.directory)
        self._refused = ""
        """Why it isn't cached here."""

    def run(self, patience: float) -> Any:
        task = Task(
            describe=self._describe,
            label=_description.label(self._dispatcher, self._signature),
            # A hit gets names of its own, whatever the producer's were.
            accept_renames=True,
            lease_timeout=patience,
        )
        self._dispatcher._cache = self._handover
        try:
            return self._adapter.compile(task, self._build, self._load)
        finally:
            self._dispatcher._cache = self._own
            if self._refused and isinstance(self._own, (AskedFor, FunctionCache)):
                self._warn(self._refused)

    def _describe(self) -> Graph:
        try:
            graph, self._functions = self._describer.describe(self._dispatcher, self._signature)
        except Exception as error:  # as a rule `Unkeyed`
            self._refused = str(error) or type(error).__name__
            raise
        return graph

    def _build(self) -> tuple[Any, Compiled]:
        if self._refused:
            return self._by_numba(), Compiled(b"", do_not_store=self._refused)
        self._handover.ready = None  # what numba wouldn't take is compiled
        entry_point = self._original(self._dispatcher, self._signature)
        try:
            return entry_point, Compiled(_entries.dump(self._handover.compiled, self._functions))
        except Exception as reason:  # whatever it is, it mustn't cost what was compiled
            self._refused = str(reason) or type(reason).__name__
            return entry_point, Compiled(b"", do_not_store=self._refused)

    def _by_numba(self) -> Any:
        """With numba's own cache, where the program has asked for one: it may know what can't be told here."""
        numbas = self._own.numbas() if isinstance(self._own, AskedFor) else self._own
        if isinstance(numbas, FunctionCache):
            self._dispatcher._cache, self._refused = numbas, ""
        return self._original(self._dispatcher, self._signature)

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

    def __init__(self, directory: str, function: FunctionType) -> None:
        self._directory = directory
        self._function = function
        self._numbas: FunctionCache | None = None

    @property
    def cache_path(self) -> str:
        return self._directory

    def numbas(self) -> FunctionCache | None:
        """What numba would have here, made when it is needed; None if numba has no place for it."""
        if self._numbas is None:
            try:
                self._numbas = FunctionCache(self._function)
            except RuntimeError:
                return None
        return self._numbas
