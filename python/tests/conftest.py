from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import guardcache
from guardcache import Cache


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def cache(directory: Path) -> Iterator[Cache]:
    with guardcache.open(directory) as opened:
        yield opened
