from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import guardcache
from guardcache import Cache


@pytest.fixture(autouse=True, scope="session")
def _interrupts() -> None:
    """A run in the background may have been told to ignore Ctrl-C, and its children with it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def cache(directory: Path) -> Iterator[Cache]:
    with guardcache.open(directory) as opened:
        yield opened
