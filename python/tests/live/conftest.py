"""Live tests: real compiles in fresh processes. They need PyTorch, transformers and g++."""

from __future__ import annotations

from pathlib import Path

import pytest
from machines import Machines


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """An Inductor directory for the whole session: compilers are probed, and equal kernels compiled, once.

    Where pytest-xdist runs several files at a time, it is the same for all of its workers.
    """
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if hasattr(request.config, "workerinput") else base) / "workshop"
    shared.mkdir(exist_ok=True)
    return shared


@pytest.fixture
def machines(tmp_path: Path, workshop: Path) -> Machines:
    return Machines(tmp_path, workshop)


@pytest.fixture(autouse=True)
def _needs_pytorch() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
