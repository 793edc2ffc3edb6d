"""Live tests: real compiles in fresh processes. They need PyTorch 2.13, transformers and g++."""

from __future__ import annotations

from pathlib import Path

import pytest
from machines import Machine, Machines


@pytest.fixture
def machines(tmp_path: Path) -> Machines:
    return Machines(tmp_path)


@pytest.fixture
def machine(machines: Machines) -> Machine:
    return machines.new()


@pytest.fixture(autouse=True)
def _needs_pytorch() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
