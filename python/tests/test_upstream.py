"""The driver of PyTorch's own cache tests: what it compares, and how it goes on behind a test that hangs or dies."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from upstream import OURS, BrokenError, Driver, Run, complaints, differences, file_in, read_results

USED = {"hits": 3, "stored": 4}


def test_only_other_outcomes_are_differences() -> None:
    plain = Run({"f::a": "passed", "f::b": "passed", "f::c": "skipped", "f::d": "passed", "f::e": "failed"})
    ours = Run({"f::a": "passed", "f::b": "failed", "f::c": "skipped", "f::e": "passed"}, {"f::b": "assert 1 == 2"})
    found = differences(plain, ours, {"f::b": "counts files"})
    assert [(each.name, each.plain, each.ours) for each in found] == [
        ("f::b", "passed", "failed"),
        ("f::d", "passed", "absent"),
        ("f::e", "failed", "passed"),
    ]
    assert found[0].said == "assert 1 == 2"
    assert [each.reason for each in found] == ["counts files", "", ""]


def test_an_expected_difference_is_no_complaint_and_any_other_is() -> None:
    plain = Run({"f.py::T::test_a_cpu": "passed", "f.py::T::test_b": "passed"})
    ours = Run({"f.py::T::test_a_cpu": "failed", "f.py::T::test_b": "passed"}, **USED)
    assert complaints(plain, ours, {"f.py::T::test_a_*": "why"}) == []
    assert complaints(plain, ours, {"f.py::T::test_b": "why"}) == [
        "f.py::T::test_a_cpu: passed without, failed with guardcache"
    ]


@pytest.mark.parametrize(("hits", "stored"), [(0, 0), (0, 4), (3, 0)])
def test_a_run_that_never_came_to_guardcache_proves_nothing(hits: int, stored: int) -> None:
    alike = {"f::a": "passed"}
    assert len(complaints(Run(alike), Run(alike, hits=hits, stored=stored), {})) == 1
    assert complaints(Run(alike), Run(alike, **USED), {}) == []


def test_a_run_of_nothing_is_a_complaint() -> None:
    assert complaints(Run(), Run(**USED), {}) == ["no test was run"]


def test_results_are_added_up_and_what_was_begun_is_told(tmp_path: Path) -> None:
    ended = {"outcome": "passed", "said": "", "asked": 3, "hits": 1, "stored": 2}
    lines = [{"begun": "a"}, {"ended": "a", **ended}, {"begun": "b"}, {"ended": "b", **ended}, {"begun": "c"}]
    path = tmp_path / "results"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = Run()
    assert read_results(path, run) == "c"
    assert (run.outcomes, run.hits, run.stored) == ({"a": "passed", "b": "passed"}, 2, 4)
    assert read_results(tmp_path / "none", run) == ""


def test_a_checkout_and_its_folder_are_both_sources(tmp_path: Path) -> None:
    file = tmp_path / "test" / "inductor" / "test_x.py"
    file.parent.mkdir(parents=True)
    file.touch()
    assert file_in(tmp_path, "inductor/test_x.py") == file
    assert file_in(tmp_path / "test", "inductor/test_x.py") == file
    assert file_in(tmp_path, "inductor/test_y.py") is None


# Stands for the process with PyTorch: begins each test of a list that isn't done yet, and does what the list says.
PROCESS = """
import json, os, sys, time
done = set(json.load(open(os.environ["UPSTREAM_DONE"])))
def tell(**what):
    with open(os.environ["UPSTREAM_RESULTS"], "a") as results:
        results.write(json.dumps(what) + "\\n")
for name, does in json.loads(sys.argv[1]):
    if name not in done:
        tell(begun=name)
        if does == "hang": time.sleep(600)
        if does == "die": os.abort()
        tell(ended=name, outcome=does, said="", asked=0, hits=0, stored=0)
sys.exit(int(sys.argv[2]))
"""


class Pretended(Driver):
    tests: tuple[tuple[str, str], ...] = ()
    status = 0

    def _command(self) -> list[str]:
        return [sys.executable, "-c", PROCESS, json.dumps(self.tests), str(self.status)]


def pretended(directory: Path, *tests: tuple[str, str], status: int = 0) -> Driver:
    file = directory / "test_x.py"
    driver = Pretended(sys.executable, file, OURS, directory, "", timeout=2)
    driver.tests, driver.status = tests, status
    return driver


def test_the_run_goes_on_behind_tests_that_hang_or_die(tmp_path: Path) -> None:
    driver = pretended(tmp_path, ("a", "passed"), ("b", "hang"), ("c", "die"), ("d", "failed"), status=1)
    assert driver.all().outcomes == {"a": "passed", "b": "hung", "c": "died", "d": "failed"}


def test_a_file_that_cannot_be_run_is_an_error_and_no_run_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(BrokenError, match="status 2"):
        pretended(tmp_path, status=2).all()
