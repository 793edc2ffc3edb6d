"""Ctrl-C, and what else is no `Exception`: it ends waits and calls, and is never lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from descriptions import matmul

from guardcache import Cache, Compiled, Event, Fresh, Module

HOLDER = """
import sys, time, guardcache
sys.path.insert(0, sys.argv[2])
from descriptions import matmul

cache = guardcache.open(sys.argv[1])
found, compile = cache.begin(matmul())
print("begun", flush=True)
time.sleep(4)
"""


@pytest.fixture
def held(directory: Path) -> Iterator[None]:
    """Another process compiles what `matmul()` describes, and doesn't get done."""
    here = str(Path(__file__).parent)
    with subprocess.Popen([sys.executable, "-c", HOLDER, directory, here], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"begun\n"
        yield
        holder.kill()


def build() -> Compiled:
    return Compiled(b"code")


# What waits for another process; of many modules also where a thread besides the main one does.
WAITS: dict[str, Callable[[Cache], object]] = {
    "get_or_compile": lambda cache: cache.get_or_compile(matmul(), build),
    "begin": lambda cache: cache.begin(matmul()),
    "follow": lambda cache: cache.get_or_compile(matmul(), build, reader=True, follow=True),
    "compile_many": lambda cache: cache.compile_many([Module(matmul(), build)]),
    "compile_many, a thread": lambda cache: cache.compile_many(
        [Module(matmul(), build), Module(matmul(), build), Module(matmul(5), build)], workers=3
    ),
}


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.usefixtures("held")
def test_a_wait_ends(cache: Cache, wait: str) -> None:
    began = time.monotonic()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        WAITS[wait](cache)
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("workers", [1, 2])
def test_many_modules_end(cache: Cache, raised: type[BaseException], workers: int) -> None:
    compiled: list[int] = []

    def compile(number: int) -> Compiled:
        if number == 3:
            raise raised("enough")
        compiled.append(number)
        return build()

    modules = [Module(matmul(number), partial(compile, number)) for number in range(1, 40)]
    with pytest.raises(raised, match="enough"):
        cache.compile_many(modules, workers=workers)
    assert len(compiled) < 20
    assert isinstance(cache.get_or_compile(matmul(3), build), Fresh)


def test_a_listeners_is_not_lost(directory: Path) -> None:
    def listen(event: Event) -> None:
        signal.raise_signal(signal.SIGINT)

    def look() -> None:
        cache.lookup(matmul())
        time.sleep(1)

    with Cache(directory, listener=listen) as cache, pytest.raises(KeyboardInterrupt):
        look()
    with Cache(directory) as again:
        assert isinstance(again.get_or_compile(matmul(), build), Fresh)
