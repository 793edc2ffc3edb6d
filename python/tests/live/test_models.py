"""Models: cold, warm, and warm on a machine that has nothing but the guardcache directory, not even a compiler."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from machines import Machines, digests, programs, right, total

import guardcache

pytestmark = pytest.mark.live

MODELS = ["mlp", "bert", "gpt2", "llama", "vit", "resnet18"]


@pytest.mark.parametrize("model", MODELS)
def test_a_warm_process_needs_no_compiler(machines: Machines, model: str) -> None:
    scenario: dict[str, Any] = {"model": model, "batches": [4], "backward": True}
    here = machines.new()
    cold = here.run(**scenario)
    assert right(cold)
    assert cold["hits"] == 0
    assert cold["stored"] >= 3, "AOT's entry, a forward and a backward graph"

    warm = here.run(**scenario)
    assert right(warm)
    assert digests(warm) == digests(cold)
    assert warm["misses"] == {}
    assert warm["unpickled"] == warm["hits"] == cold["stored"]
    assert total(warm, "fxgraph_cache_hit") == cold["stored"] - total(cold, "autograd_cache_saved")

    elsewhere = machines.new(compiler=False)
    far = elsewhere.run(**scenario)
    assert right(far)
    assert digests(far) == digests(cold)
    assert far["misses"] == {}
    assert programs(far) == []


@pytest.mark.parametrize("model", MODELS)
def test_as_many_hits_as_pytorchs_own_cache(machines: Machines, model: str) -> None:
    """The same script, over PyTorch's own store and over ours."""
    scenario: dict[str, Any] = {"model": model, "batches": [2, 4, 6], "dynamic": True}
    rows = {}
    for name, adapter in (("pytorch", False), ("guardcache", True)):
        here = machines.new(shared=False)
        for process in ("cold", "warm"):
            report = here.run(**scenario, adapter=adapter)
            assert right(report)
            rows[name, process] = (total(report, "autograd_cache_hit"), total(report, "fxgraph_cache_hit"))
    for process in ("cold", "warm"):
        ours, theirs = rows["guardcache", process], rows["pytorch", process]
        print(f"{model:10} {process}   hits (AOT, FX)   PyTorch {theirs}   guardcache {ours}")
        assert ours >= theirs


def test_several_candidates_under_one_key(machines: Machines) -> None:
    scenario: dict[str, Any] = {"model": "pooling", "batches": [12, 13, 16, 17, 40, 33], "dynamic": True}
    here = machines.new()
    cold = here.run(**scenario)
    assert right(cold)
    hits = [batch["counters"].get("autograd_cache_hit", 0) for batch in cold["batches"]]
    assert hits == [0, 0, 1, 1, 1, 1]
    warm = here.run(**scenario)
    assert right(warm)
    assert warm["misses"] == {}
    assert digests(warm) == digests(cold)


def test_isomorphic_graphs_share_an_entry_with_the_canonical_key(machines: Machines) -> None:
    scenario: dict[str, Any] = {"model": "mlp", "batches": [4], "backward": True, "key": "canonical"}
    here = machines.new()
    cold = here.run(**scenario)
    assert right(cold)
    far = machines.new(compiler=False).run(**scenario)
    assert right(far)
    assert far["misses"] == {}
    assert digests(far) == digests(cold)


def test_labels_name_the_users_code(machines: Machines) -> None:
    report = machines.new().run(model="pooling", batches=[12, 13], dynamic=True)
    assert any(label.startswith("models.py:") and "forward" in label for label in report["labels"])
    assert "x.size(0)" in report["explanation"]


def test_the_start_hook(machines: Machines) -> None:
    """A script that knows nothing of guardcache, under GUARDCACHE_TORCH=1, compiling in more than one thread."""
    environment = {"GUARDCACHE_TORCH": "1", "TORCHINDUCTOR_COMPILE_THREADS": "2"}
    scenario: dict[str, Any] = {"model": "mlp", "batches": [4], "adapter": False}
    here = machines.new()
    assert right(here.run(environment, **scenario))
    there = machines.new(compiler=False).run(environment, **scenario)
    assert right(there)
    assert total(there, "autograd_cache_hit") == 1
    assert programs(there) == []


def test_equal_compiles_make_equal_entries(machines: Machines) -> None:
    """Timings and addresses differ from process to process; entries are known by what they are."""
    stored = []
    for _ in range(2):
        machine = machines.new(shared=False)
        machine.run(model="mlp", batches=[4], backward=True)
        with guardcache.open(machine.guardcache) as cache:
            stored.append({(entry.kind, entry.key, entry.id) for entry in cache.entries()})
    assert stored[0] == stored[1]
    assert len(stored[0]) == 3


def test_the_example() -> None:
    example = Path(__file__).parents[3] / "examples" / "pytorch_explain.py"
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    cold, warm, guards, key = done.stdout.split("====")[1:]
    assert "miss: no_key" in cold
    assert "hit" in warm
    assert "miss: guard_false" in guards
    assert "would hit" in guards
    assert "t2 is x.size(2)" in guards
    assert "config.max_fusion_size" in key
    assert "2 hits" in done.stdout
