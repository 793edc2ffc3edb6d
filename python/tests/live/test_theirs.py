"""The driver of PyTorch's own cache tests, on a file that is written as theirs are: python/tests/upstream.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from upstream import complaints, differences, run_file

pytestmark = pytest.mark.live

# As PyTorch's are: one base class, a fresh directory for each test, further ones inside of tests. The last one looks
# for a file of PyTorch's own store, which isn't written where guardcache is in its place.
FILE = """
import os
import subprocess
import sys
import tempfile

import torch
from torch._dynamo.utils import counters
from torch._inductor import config
from torch._inductor.runtime.runtime_utils import cache_dir
from torch._inductor.test_case import TestCase
from torch._inductor.utils import fresh_cache
from torch.testing._internal.inductor_utils import requires_triton


def twice(x):
    return x * 2


def compiled_hits():
    torch._dynamo.reset()
    before = counters["inductor"]["fxgraph_cache_hit"]
    torch.compile(twice)(torch.ones(7))
    return counters["inductor"]["fxgraph_cache_hit"] - before


class Theirs(TestCase):
    def test_hits(self):
        self.assertEqual([compiled_hits(), compiled_hits()], [0, 1])

    def test_is_alone(self):
        self.assertEqual([compiled_hits(), compiled_hits()], [0, 1])

    def test_a_fresh_cache_is_fresh(self):
        compiled_hits()
        with fresh_cache():
            self.assertEqual([compiled_hits(), compiled_hits()], [0, 1])
        self.assertEqual(compiled_hits(), 1)

    @requires_triton()
    def test_does_without_triton(self):
        self.assertEqual(compiled_hits(), 0)

    def test_in_processes(self):
        script = "import sys, torch; from torch._dynamo.utils import counters; f = torch.compile(lambda x: x + 1); "
        script += "f(torch.ones(3)); print(counters['inductor']['fxgraph_cache_hit'], 'guardcache' in sys.modules)"
        with tempfile.TemporaryDirectory() as directory:
            environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": directory}
            command = [sys.executable, "-c", script]
            told = [subprocess.check_output(command, env=environment, text=True) for _ in range(2)]
        ours = os.environ["UPSTREAM_WAY"] == "guardcache"
        self.assertEqual([line.split() for line in told], [["0", str(ours)], ["1", str(ours)]])

    def test_skips(self):
        self.skipTest("as in both ways")

    def test_fails(self):
        self.assertEqual(1, 2)

    def test_finds_a_file(self):
        compiled_hits()
        self.assertTrue(os.path.isdir(os.path.join(cache_dir(), "fxgraph")))
"""


def test_each_outcome_is_compared_and_only_the_look_into_pytorchs_files_differs(tmp_path: Path) -> None:
    file = tmp_path / "test_theirs.py"
    file.write_text(FILE)
    plain, ours = run_file(sys.executable, file, tmp_path / "work", "", timeout=120)
    name = "test_theirs.py::Theirs::test_"
    outcomes = {test.removeprefix(name): outcome for test, outcome in plain.outcomes.items()}
    wanted = dict.fromkeys(
        ["hits", "is_alone", "a_fresh_cache_is_fresh", "does_without_triton", "in_processes", "finds_a_file"], "passed"
    )
    assert outcomes == wanted | {"skips": "skipped", "fails": "failed"}
    found = differences(plain, ours, {})
    assert [(each.name, each.plain, each.ours) for each in found] == [(name + "finds_a_file", "passed", "failed")]
    assert "False is not true" in found[0].said
    assert (plain.hits, plain.stored) == (0, 0)
    # Each hit is one of AOT's and one of the graph that it refers to.
    assert [ours.asked[name + test] for test in ("hits", "is_alone")] == [4, 4]
    assert complaints(plain, ours, {name + "finds_*": "PyTorch's file"}) == []
