"""What is told of AOT's and Inductor's lookups: names, causes, and whose compile it was."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch._inductor.codecache import PyCodeCache  # noqa: E402

import guardcache.torch  # noqa: E402

pytestmark = pytest.mark.live


@pytest.fixture(scope="module", autouse=True)
def _inductor_directory(workshop: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(workshop))
        patch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")
        yield


@pytest.fixture(autouse=True)
def cache(tmp_path: Path) -> Iterator[guardcache.Cache]:
    with guardcache.open(tmp_path / "guardcache") as cache:
        guardcache.torch.install(cache)
        yield cache
        guardcache.torch.uninstall()
        torch._dynamo.reset()


def run(function: Callable[..., Any], *inputs: Any) -> Any:
    """A first call in what might be a new process."""
    torch._dynamo.reset()
    PyCodeCache.cache_clear()
    return torch.compile(function)(*inputs)


def told_of_aot(cache: guardcache.Cache) -> str:
    """What is told of AOT's lookup that missed last."""
    missed = [lookup for lookup in guardcache.torch.lookups() if lookup.kind == "aot" and lookup.outcome == "miss"]
    key = guardcache.torch._adapter.entries.stored_key("aot", missed[-1].key)
    return " ".join(cache.explain_past(key=key).split())


def scale(image: Any, gain: Any) -> Any:
    return image * gain


def scale_renamed(picture: Any, gain: Any) -> Any:
    return picture * gain


def test_inserts_have_the_labels_of_their_lookups(cache: guardcache.Cache) -> None:
    run(scale, torch.randn(3, requires_grad=True), torch.randn(3)).sum().backward()
    asked = sorted(lookup.label for lookup in guardcache.torch.lookups())
    assert sorted(entry.label for entry in cache.entries()) == asked
    assert sum(label.endswith("scale(image, gain) (backward)") for label in asked) == 1
    assert sum(label.endswith("scale(image, gain)") for label in asked) == 2


def test_aots_key_is_explained(cache: guardcache.Cache) -> None:
    with torch.no_grad():
        run(scale, torch.randn(3), torch.randn(3))
    run(scale, torch.randn(3), torch.randn(3))
    told = told_of_aot(cache)
    assert "the same function" in told
    assert "grad_enabled stored False asked True" in told
    assert "one of the two ran under torch.no_grad()" in told
    run(scale_renamed, torch.randn(3), torch.randn(3))
    told = told_of_aot(cache)
    assert "arguments[0] stored image asked picture" in told
    assert "names of variables" in told
    run(scale, torch.randn(4), torch.randn(3, 4))
    told = told_of_aot(cache)
    assert "image (example_inputs[0]) stored f32[3][1]cpu asked f32[4][1]cpu" in told


def test_a_forward_whose_backward_never_runs(tmp_path: Path, workshop: Path) -> None:
    """PyTorch stores AOT's entry with the backward: without one each process compiles it again."""
    script = (
        "import torch, guardcache, guardcache.torch, sys\n"
        "guardcache.torch.install(sys.argv[1])\n"
        "torch.compile(torch.nn.Linear(3, 3))(torch.ones(2, 3))\n"
        "(missed,) = [each for each in guardcache.torch.lookups() if each.kind == 'aot']\n"
        "cache = guardcache.torch._install.current().cache\n"
        "print(cache.explain_past(key=guardcache.torch._adapter.entries.stored_key('aot', missed.key)))\n"
    )
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(workshop)}
    command = [sys.executable, "-c", script, str(tmp_path / "own")]
    first, second = (
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout for _ in range(2)
    )
    assert "first compile of this graph" in first
    assert "another process missed it at" in second
    assert "first compile" not in second


def test_a_hit_isnt_asked_what_its_key_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    adapter = guardcache.torch._install.current()
    original = adapter._lines_of

    def lines_of(key: str) -> Sequence[str]:
        asked.append(key)
        return original(key)

    monkeypatch.setattr(adapter, "_lines_of", lines_of)
    run(scale, torch.randn(3), torch.randn(3))
    assert len([key for key in asked if key.startswith("a")]) == 1
    run(scale, torch.randn(3), torch.randn(3))
    assert len([key for key in asked if key.startswith("a")]) == 1


@pytest.mark.parametrize("reason", ["Cannot cache a graph with freezing enabled", "mkldnn tensors unpickleable"])
def test_both_bypasses_of_a_frozen_model_have_advice(cache: guardcache.Cache, reason: str) -> None:
    assert "torch._inductor.config.freezing" in cache.explain_data(guardcache.Graph("fx"), bypass=reason)["advice"]
