"""Live tests: real compiles in fresh processes. They need PyTorch, transformers and g++."""

from __future__ import annotations

from pathlib import Path

import pytest
from machines import Machines


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An Inductor directory for the whole session: compilers are probed, and equal kernels compiled, once.

    Each worker of pytest-xdist has one of its own: some tests clear PyTorch's own store in it, which others count.
    """
    return tmp_path_factory.mktemp("workshop")


@pytest.fixture
def machines(tmp_path: Path, workshop: Path) -> Machines:
    return Machines(tmp_path, workshop)


@pytest.fixture(autouse=True)
def _needs_pytorch() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
