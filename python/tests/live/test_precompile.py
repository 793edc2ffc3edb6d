"""Dynamo's frames: found in another process where everything is the same, and never where something differs."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import similar

pytestmark = pytest.mark.live

HERE = Path(__file__).parent


def run(place: Path, number: int) -> dict[str, Any]:
    cases = similar.cases()
    random.Random(number).shuffle(cases)
    done = subprocess.run(
        [sys.executable, str(HERE / "similar.py"), str(place / f"work{number}"), json.dumps(cases)],
        env={
            **os.environ,
            "TORCHINDUCTOR_CACHE_DIR": str(place / f"inductor{number}"),
            "GUARDCACHE_DIR": str(place / "guardcache"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.rstrip().rpartition("\n")[2])
    return found


def test_functions_that_are_hard_to_tell_apart(tmp_path: Path) -> None:
    """Each process has them in other files and another order, and both share a cache."""
    first, second = run(tmp_path, 1), run(tmp_path, 2)
    assert len(first) >= 200
    for found in (first, second):
        assert [case for case, one in found.items() if not one["right"]] == []
    # Hooks are never kept.
    assert {case.partition(":")[0] for case, one in second.items() if not one["hits"]} == {"hook"}


def test_what_changes_while_a_process_runs(tmp_path: Path) -> None:
    """Globals, closures, sources, code, hooks, classes, modes: three processes, each with other passes."""
    (tmp_path / "work").mkdir()
    reports = []
    for number in range(3):
        done = subprocess.run(
            [sys.executable, str(HERE / "frames.py"), str(tmp_path / "work")],
            env={
                **os.environ,
                "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / f"inductor{number}"),
                "GUARDCACHE_DIR": str(tmp_path / "guardcache"),
                "TORCHINDUCTOR_COMPILE_THREADS": "1",
                "NUMBER": str(number),
                "PYTHONHASHSEED": str(number + 1),
            },
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        reports.append(json.loads(done.stdout.rstrip().rpartition("\n")[2]))
    for report in reports:
        assert [case for case, told in report.items() if not told["right"]] == []
    never = {"case_assumed_constant", "case_passes", "case_replaced_method", "case_an_operator_of_ones_own"}
    never |= {"case_a_method_of_another_name", "case_a_backward_without_a_graph"}
    # In the second process something differs from the first, and in the third perhaps from the second.
    other = {
        "case_passes",
        "case_sets_are_walked",
        "case_a_builtin_is_shadowed",
        "case_one_object_after_the_first_process",
    }
    other |= {"case_overlapping_after_the_first_process", "case_keys_of_the_first_process"}
    other |= {"case_relations_after_the_first_process", "case_sizes_of_served_frames_count"}
    never |= other
    for report in reports[1:]:
        assert {case: told["stored"] for case, told in report.items() if told["stored"]}.keys() <= other
        assert [case for case, told in report.items() if case not in never and not told["hits"]] == []
    for case in ("case_assumed_constant", "case_an_operator_of_ones_own"):
        assert [report[case]["stored"] for report in reports] == [0, 0, 0]
    assert reports[1]["case_a_builtin_is_shadowed"]["hits"] == 0
    assert [report["case_sizes_of_served_frames_count"]["hits"] for report in reports] == [0, 1, 2]
    assert [report["case_ways_through_a_function"]["hits"] for report in reports] == [0, 2, 2]
    # Passes with another uuid are other passes.
    assert [report["case_passes"]["hits"] for report in reports] == [0, 0, 0]
