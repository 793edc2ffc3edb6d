"""Look up or compile for asyncio: the event loop goes on while others' compiles are waited for."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar

from guardcache._cache.compiles import Compiled, Compiles, Fresh
from guardcache._cache.options import CompileAsked
from guardcache._cache.results import Hit
from guardcache._errors import ArgumentError, Error
from guardcache._graph import Graph
from guardcache._values import Hints

# What is compiled around a call: cache directory, key, and hints, from the outermost on.
_around: ContextVar[tuple[tuple[str, str, Hints], ...]] = ContextVar("guardcache_compiling", default=())

# A loop that is closed while it is waited for is noticed so soon.
_CLOSED_SECONDS = 0.5

# Nobody is waited for.
_AT_ONCE_SECONDS = 1e-9


class Waiting:
    """One call: `_look` is what its thread does, all else is the event loop's."""

    def __init__(
        self,
        cache: Compiles,
        graph: Graph,
        compile: Callable[[], Compiled | Awaitable[Compiled]],
        hints: Hints | None,
        asked: CompileAsked,
    ) -> None:
        self._cache, self._graph, self._compile, self._hints, self._asked = cache, graph, compile, hints, asked
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[Hit | Fresh] = self._loop.create_future()
        self._cancelled = threading.Event()
        self._compiling: concurrent.futures.Future[Compiled] | None = None
        self._compiled = _around.get()
        """What is compiled while `compile` runs, this included."""

    async def outcome(self) -> Hit | Fresh:
        self._look_around()
        threading.Thread(target=self._look, name="guardcache", daemon=True).start()
        try:
            return await self._done
        except asyncio.CancelledError:
            self._cancelled.set()
            if self._compiling is not None:
                self._compiling.cancel()
            raise

    def _look_around(self) -> None:
        """The library tells by their threads who would wait for himself, but here each call has one of its own."""
        try:
            this = (self._cache.directory, self._graph.key, dict(self._hints or {}))
        except Error:  # without a key nobody is waited for
            return
        around = _around.get()
        if this in around:
            raise ArgumentError("this is being compiled already by the caller", status="ERROR_ARGUMENT")
        if any(this[:2] == other[:2] for other in around):
            self._asked = {**self._asked, "lease_timeout": _AT_ONCE_SECONDS}
        self._compiled = (*around, this)

    def _look(self) -> None:
        try:
            found = self._cache.get_or_compile(self._graph, self._compile_in_loop, self._hints, **self._asked)
        except BaseException as error:
            self._tell(self._fail, error)
        else:
            self._tell(self._succeed, found)

    def _compile_in_loop(self) -> Compiled:
        self._compiling = asyncio.run_coroutine_threadsafe(self._awaited(), self._loop)
        if self._cancelled.is_set():
            self._compiling.cancel()
        while not concurrent.futures.wait([self._compiling], _CLOSED_SECONDS).done:
            if self._loop.is_closed():  # it will never be done
                raise asyncio.CancelledError
        return self._compiling.result()

    async def _awaited(self) -> Compiled:
        _around.set(self._compiled)
        compiled = self._compile()
        return await compiled if inspect.isawaitable(compiled) else compiled

    def _tell(self, function: Callable[..., None], what: object) -> None:
        # The loop may be closed by now: then nobody waits.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function, what)

    def _succeed(self, found: Hit | Fresh) -> None:
        if not self._done.done():
            self._done.set_result(found)

    def _fail(self, error: BaseException) -> None:
        if isinstance(error, StopIteration):  # no future takes it, and no coroutine raises it
            told = RuntimeError("a function of the call raised StopIteration")
            told.__cause__ = error
            error = told
        if not self._done.done():
            self._done.set_exception(error)
