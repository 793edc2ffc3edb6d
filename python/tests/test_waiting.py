"""`Cache.get_or_compile_async`: the event loop goes on, and no call waits for itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from descriptions import matmul

import guardcache
from guardcache import Cache, Compiled, Fresh, Hit


def test_the_loop_goes_on_while_others_are_waited_for(cache: Cache) -> None:
    compiles: list[int] = []

    async def compile() -> Compiled:
        compiles.append(1)
        await asyncio.sleep(0.1)
        return Compiled(b"code", value="made")

    async def main() -> list[Hit | Fresh]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        found = await asyncio.gather(*(cache.get_or_compile_async(matmul(), compile) for _ in range(8)))
        ticking.cancel()
        assert ticks >= 3
        return found

    found = asyncio.run(main())
    assert len(compiles) == 1
    assert sorted(type(one).__name__ for one in found) == ["Fresh"] + ["Hit"] * 7


def test_what_is_compiled_for_asyncio_may_be_no_coroutine(cache: Cache) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()

        def compile() -> Compiled:
            assert asyncio.get_running_loop() is loop
            return Compiled(b"code")

        assert isinstance(await cache.get_or_compile_async(matmul(), compile), Fresh)

        async def fail() -> Compiled:
            raise ArithmeticError

        with pytest.raises(ArithmeticError):
            await cache.get_or_compile_async(matmul(2), fail)

    asyncio.run(main())


def test_who_is_cancelled_frees_the_others(cache: Cache) -> None:
    async def forever() -> Compiled:
        await asyncio.sleep(60)
        return Compiled(b"late")

    async def main() -> None:
        cancelled = asyncio.create_task(cache.get_or_compile_async(matmul(), forever))
        await asyncio.sleep(0.1)
        other = asyncio.create_task(cache.get_or_compile_async(matmul(), lambda: Compiled(b"code"), lease_timeout=30))
        await asyncio.sleep(0.1)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        assert bytes((await other).payload) == b"code"

    asyncio.run(main())


def raise_stop(*given: object) -> Any:
    raise StopIteration("odd")


STOPS: dict[str, Callable[[Cache], Any]] = {
    "post_load": lambda cache: cache.get_or_compile_async(matmul(), raise_stop, {"s0": 2}, post_load=raise_stop),
    "guard_test": lambda cache: cache.get_or_compile_async(matmul(), raise_stop, {"s0": 2}, guard_test=raise_stop),
    "compile": lambda cache: cache.get_or_compile_async(matmul(2), raise_stop),
}


@pytest.mark.parametrize("what", STOPS)
def test_stop_iteration_ends_the_call(cache: Cache, what: str) -> None:
    cache.insert(matmul(), b"code", guards=["s0 > 1"])
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        asyncio.run(asyncio.wait_for(STOPS[what](cache), 5))


def test_a_compile_that_needs_itself_is_told(cache: Cache) -> None:
    async def inner() -> Compiled:
        await cache.get_or_compile_async(matmul(), outer, {"s0": 1})
        return Compiled(b"inner")

    async def outer() -> Compiled:
        return Compiled((await cache.get_or_compile_async(matmul(5), inner)).payload)

    with pytest.raises(guardcache.ArgumentError, match="being compiled already"):
        asyncio.run(asyncio.wait_for(cache.get_or_compile_async(matmul(), outer, {"s0": 1}), 5))
    assert isinstance(cache.get_or_compile(matmul(), lambda: Compiled(b"code"), {"s0": 1}), Fresh)


def test_a_compile_may_need_others(cache: Cache) -> None:
    async def compile() -> Compiled:
        others = [cache.get_or_compile_async(matmul(number), lambda: Compiled(b"x")) for number in (5, 6)]
        others.append(cache.get_or_compile_async(matmul(), lambda: Compiled(b"x", guards=["s0 == 2"]), {"s0": 2}))
        assert [type(found) for found in await asyncio.gather(*others)] == [Fresh, Fresh, Fresh]
        return Compiled(b"code", guards=["s0 == 1"])

    found = asyncio.run(asyncio.wait_for(cache.get_or_compile_async(matmul(), compile, {"s0": 1}), 5))
    assert found.payload == b"code"
    assert isinstance(cache.get_or_compile(matmul(), lambda: Compiled(b"code"), {"s0": 1}), Hit)


def test_a_closed_loop_frees_the_others(cache: Cache) -> None:
    async def forever() -> Compiled:
        await asyncio.sleep(60)
        return Compiled(b"late")

    async def begin() -> asyncio.Task[Hit | Fresh]:
        task = asyncio.create_task(cache.get_or_compile_async(matmul(), forever))
        await asyncio.sleep(0.1)
        return task

    loop = asyncio.new_event_loop()
    pending = loop.run_until_complete(begin())
    loop.close()
    found = cache.get_or_compile(matmul(), lambda: Compiled(b"code"), lease_timeout=5)
    assert isinstance(found, Fresh)
    assert found.reason != guardcache.Reason.LEASE_TIMEOUT
    assert found.stored
    # Nobody awaits it any more.
    pending._log_destroy_pending = False  # type: ignore[attr-defined]
