"""Ways in which people compile, other than a model on one thread: cold, warm, and beside PyTorch without guardcache."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from machines import Machine, Machines

pytest.importorskip("torch")

from torch._functorch import config as functorch_config

pytestmark = pytest.mark.live

HERE = Path(__file__).parent


# What a case of its kind has seen already.
LONG = os.environ.get("GUARDCACHE_LONG") == "1"

# A case takes a minute on a busy machine.
_SECONDS_MAX = 300


def run(machine: Machine, case: str, *, adapter: bool = True) -> dict[str, Any]:
    process = subprocess.Popen(
        [sys.executable, str(HERE / "cases.py"), case, *(["guardcache"] if adapter else [])],
        env=machine.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with its workers and ranks
        raise AssertionError(f"{case} hangs: {process.communicate()[1][-4000:]}") from None
    assert process.returncode == 0, errors[-4000:]
    report: dict[str, Any] = json.loads(output.rstrip().rpartition("\n")[2])
    report["stderr"] = errors
    return report


CASES = ["regional", "threads", "fork", "spawn", "adamw", *(["nested", "sgd"] if LONG else [])]


@pytest.mark.parametrize("case", CASES)
def test_a_second_process_hits(case: str, machines: Machines) -> None:
    here = machines.used()
    plain = run(here, case, adapter=False)
    cold, warm = run(here, case), run(here, case)
    assert plain["digest"] == cold["digest"] == warm["digest"]
    assert Counter(cold["outcomes"])["miss"] > 0
    assert set(warm["outcomes"]) == {"hit"}, warm["explanation"]
    assert warm["bypasses"] == {}


def test_what_pytorch_cant_cache_is_a_bypass(machines: Machines) -> None:
    here = machines.used()
    plain, ours = run(here, "cond", adapter=False), run(here, "cond")
    assert plain["digest"] == ours["digest"]
    assert any("cond" in reason for reason in ours["bypasses"])
    assert "cond" in ours["explanation"]


def test_an_export_goes_past_and_says_so(machines: Machines) -> None:
    here = machines.used()
    plain = run(here, "aoti", adapter=False)
    ours = run(here, "aoti")
    assert plain["digest"] == ours["digest"]
    (reason,) = ours["passed_by"]
    assert "AOTInductor" in reason


def test_vllms_way_works_as_without(machines: Machines) -> None:
    """Standalone artifacts are files in PyTorch's own layout: their graphs are kept by PyTorch itself."""
    here = machines.used()
    plain = run(here, "standalone", adapter=False)
    ours = [run(here, "standalone") for _ in range(2)]
    assert {plain["digest"]} == {report["digest"] for report in ours}
    for report in ours:
        assert any("standalone artifact" in reason for reason in report["passed_by"])


def test_what_is_found_by_a_key_that_the_caller_kept(machines: Machines) -> None:
    here = machines.new()
    plain = [run(here, "by_key", adapter=False) for _ in range(2)]
    cold, warm = run(here, "by_key"), run(here, "by_key")
    assert {report["digest"] for report in (*plain, cold, warm)} == {plain[0]["digest"]}
    assert (cold["outcomes"], warm["outcomes"]) == (["miss"], ["hit"])


def _decisions(report: dict[str, Any]) -> list[list[str]]:
    """Of each rank, about AOT's entries."""
    return [[outcome.strip() for outcome in outcomes if outcome.startswith("aot")] for outcomes in report["ranks"]]


def _without_unused(decisions: list[str]) -> list[str]:
    """Without the hits that PyTorch dropped, each told by the decision behind it."""
    return [each for each, then in zip(decisions, [*decisions[1:], ""], strict=True) if "unused" not in then]


TOGETHER = hasattr(functorch_config, "_sync_cache_decision_cross_ranks")

# Four ranks on two cores take two minutes.
JOBS = ["ddp", "fsdp", *(["ddp4"] if LONG else [])]


@pytest.mark.parametrize("case", JOBS)
def test_all_ranks_decide_alike(case: str, machines: Machines) -> None:
    """Before PyTorch lets them decide together, one may find what another has just stored."""
    here = machines.used()
    plain = run(here, case, adapter=False)
    cold, warm = run(here, case), run(here, case)
    assert plain["digest"] == cold["digest"] == warm["digest"]
    assert {outcome.split()[1] for outcomes in warm["ranks"] for outcome in outcomes} == {"hit"}
    if TOGETHER:
        # A hit that isn't used is told behind the hit: without both, each rank has misses only.
        used = {each for decisions in _decisions(cold) for each in _without_unused(decisions) if "unused" not in each}
        assert used == {"aot miss no_key"}


def test_a_rank_with_an_empty_cache(machines: Machines) -> None:
    """Where PyTorch lets the ranks decide together, none uses its hit; elsewhere each decides for itself."""
    here = machines.used()
    run(here, "ddp")
    report = run(here, "apart")
    assert report["digest"] == run(here, "apart", adapter=False)["digest"]
    first, *others = _decisions(report)
    assert ("aot unused another rank missed" in first) == TOGETHER
    assert "aot hit" in first
    assert others == [["aot miss no_key"] * len(others[0])] * 2
