"""Models: cold, warm, and warm on a machine that has nothing but the guardcache directory, not even a compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from machines import Machines, digests, programs, reports_of, right, total

import guardcache

models = pytest.importorskip("models", reason="PyTorch isn't here", exc_type=ImportError)

pytestmark = pytest.mark.live

# One script for both stores, forward and backward. GUARDCACHE_LONG=1 takes all models.
LONG = os.environ.get("GUARDCACHE_LONG") == "1"
USUAL = ("mlp", "llama", "resnet18")
MODELS = [name for name in models.MODELS if name != "pooling" and (LONG or name in USUAL)]
SCRIPT: dict[str, Any] = {"models": MODELS, "batches": [4], "backward": True}

# The table in docs/pytorch.md stands between these lines; GUARDCACHE_ACCEPT=1 writes it again.
MANUAL = Path(__file__).parents[3] / "docs" / "pytorch.md"
TABLE_BEGIN, TABLE_END = "<!-- hits: written by the live tests -->\n", "<!-- end of hits -->\n"

Reports = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Runs:
    """The same script in fresh processes, each a report by model."""

    theirs_cold: Reports
    theirs_warm: Reports
    cold: Reports
    warm: Reports
    far: Reports
    """On a machine that has nothing but the guardcache directory: an empty Inductor directory, no compiler on PATH."""
    canonical_warm: Reports
    canonical_far: Reports


def _together(*processes: subprocess.Popen[str]) -> list[Reports]:
    """Pipes are drained by a thread each, so that none waits for the other."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(reports_of, processes))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, workshop: Path) -> Runs:
    """The machine with a compiler keeps its Inductor directory, so that each kernel is compiled once; of PyTorch's own
    store and ours each looks only into its own.
    """
    machines = Machines(tmp_path_factory.mktemp("models"), workshop)
    here, far = machines.used(), machines.new(compiler=False)
    (theirs_cold,) = _together(here.start(**SCRIPT, adapter=False))
    theirs_warm, cold = _together(here.start(**SCRIPT, adapter=False), here.start(**SCRIPT))
    warm, elsewhere = _together(here.start(**SCRIPT), far.start(**SCRIPT))
    own, own_far = machines.used(shared=False), machines.new(compiler=False, shared=False)
    own_far.guardcache = own.guardcache
    reports_of(own.start(**SCRIPT, key="canonical"))
    canonical = _together(own.start(**SCRIPT, key="canonical"), own_far.start(**SCRIPT, key="canonical"))
    return Runs(theirs_cold, theirs_warm, cold, warm, elsewhere, *canonical)


@pytest.mark.parametrize("model", MODELS)
def test_a_warm_process_needs_no_compiler(runs: Runs, model: str) -> None:
    cold, warm, far = runs.cold[model], runs.warm[model], runs.far[model]
    assert right(cold)
    assert cold["stored"] >= 2, "a forward and a backward graph, or a forward and AOT's entry"

    assert right(warm)
    assert digests(warm) == digests(cold)
    assert warm["misses"] == {}
    assert warm["unpickled"] == warm["hits"]

    assert right(far)
    assert digests(far) == digests(cold)
    assert far["misses"] == {}
    assert programs(far) == []


@pytest.mark.parametrize("model", MODELS)
def test_numbers_are_those_of_the_uncached_run(runs: Runs, model: str) -> None:
    """The compiled numbers, bit by bit, with and without a cache; `right` compares with eager mode."""
    assert right(runs.theirs_cold[model])
    assert digests(runs.cold[model]) == digests(runs.theirs_cold[model])


def _hits(report: dict[str, Any]) -> tuple[int, int]:
    return total(report, "autograd_cache_hit"), total(report, "fxgraph_cache_hit")


@pytest.mark.parametrize("model", MODELS)
def test_as_many_hits_as_pytorchs_own_cache(runs: Runs, model: str) -> None:
    for ours, theirs in ((runs.cold, runs.theirs_cold), (runs.warm, runs.theirs_warm)):
        for mine, its in zip(_hits(ours[model]), _hits(theirs[model]), strict=True):
            assert mine >= its


@pytest.mark.parametrize("model", MODELS)
def test_canonical_keys_hit_as_often(runs: Runs, model: str) -> None:
    for canonical, usual in (
        (runs.canonical_warm[model], runs.warm[model]),
        (runs.canonical_far[model], runs.far[model]),
    ):
        assert _hits(canonical) == _hits(usual)
        assert canonical["misses"] == {}
        assert right(canonical)
        assert digests(canonical) == digests(runs.theirs_cold[model])
    assert programs(runs.canonical_far[model]) == []


def _row(runs: Runs, model: str) -> str:
    shown = (
        runs.theirs_cold,
        runs.cold,
        runs.theirs_warm,
        runs.warm,
        runs.far,
        runs.canonical_warm,
        runs.canonical_far,
    )
    return f"| {model} | " + " | ".join("{} + {}".format(*_hits(reports[model])) for reports in shown) + " |"


def _table(runs: Runs) -> str:
    rows = [
        "| hits (AOT + graphs) | cold: PyTorch | guardcache | warm: PyTorch | guardcache | elsewhere "
        "| canonical, warm | canonical, elsewhere |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    return "\n".join([*rows, *(_row(runs, model) for model in MODELS), ""])


def test_the_manuals_table_is_what_was_counted(runs: Runs) -> None:
    """The rows of the models that are run; all models have one."""
    before, _, rest = MANUAL.read_text().partition(TABLE_BEGIN)
    shown, _, after = rest.partition(TABLE_END)
    if os.environ.get("GUARDCACHE_ACCEPT") == "1" and LONG:
        shown = _table(runs)
        MANUAL.write_text(before + TABLE_BEGIN + shown + TABLE_END + after)
    lines = shown.splitlines()
    assert [row for model in MODELS if (row := _row(runs, model)) not in lines] == []
    assert len([line for line in lines if line.startswith("| ")]) == len(models.MODELS) - 1 + 2


def test_several_candidates_under_one_key(machines: Machines) -> None:
    scenario: dict[str, Any] = {"model": "pooling", "batches": [12, 13, 16, 17, 40, 33], "dynamic": True}
    here = machines.used()
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
    here = machines.used()
    cold = here.run(**scenario)
    assert right(cold)
    far = machines.new(compiler=False).run(**scenario)
    assert right(far)
    assert far["misses"] == {}
    assert digests(far) == digests(cold)


def test_labels_name_the_users_code(machines: Machines) -> None:
    report = machines.used().run(model="pooling", batches=[12, 13], dynamic=True)
    assert any(label.startswith("models.py:") and ".forward(x)" in label for label in report["labels"])
    assert "x.size(0)" in report["explanation"]


def test_the_start_hook(machines: Machines) -> None:
    """A script that knows nothing of guardcache, under GUARDCACHE_TORCH=1, compiling in more than one thread."""
    environment = {"GUARDCACHE_TORCH": "1", "TORCHINDUCTOR_COMPILE_THREADS": "2"}
    scenario: dict[str, Any] = {"model": "mlp", "batches": [4], "adapter": False}
    here = machines.used()
    assert right(here.run(environment, **scenario))
    there = machines.new(compiler=False).run(environment, **scenario)
    assert right(there)
    assert total(there, "autograd_cache_hit") == 1
    assert programs(there) == []


def test_equal_compiles_make_equal_entries(machines: Machines) -> None:
    """Timings and addresses differ from process to process; entries are known by what they are."""
    stored = []
    for _ in range(2):
        machine = machines.used(shared=False)
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
    assert "x.size(2)=" in guards
    assert "config.max_fusion_size" in key
    assert "2 hits" in done.stdout
