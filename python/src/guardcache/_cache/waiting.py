"""Look up or compile for asyncio: the event loop goes on while others' compiles are waited for."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress

from guardcache._cache.compiles import Compiled, Compiles, Fresh
from guardcache._cache.options import CompileAsked
from guardcache._cache.results import Hit
from guardcache._graph import Graph
from guardcache._values import Hints


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

    async def outcome(self) -> Hit | Fresh:
        threading.Thread(target=self._look, name="guardcache", daemon=True).start()
        try:
            return await self._done
        except asyncio.CancelledError:
            self._cancelled.set()
            if self._compiling is not None:
                self._compiling.cancel()
            raise

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
        return self._compiling.result()

    async def _awaited(self) -> Compiled:
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
        if not self._done.done():
            self._done.set_exception(error)
