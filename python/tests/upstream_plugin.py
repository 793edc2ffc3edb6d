"""Inside the process that runs PyTorch's own tests: installs the adapter if asked to, and tells what became of each.

PyTorch's tests work in a directory of Inductor's that `fresh_cache()` makes for each of them, and some in several. The
adapter keeps to the directory of its installation; so here it is installed again, over a new guardcache directory, in
each: what PyTorch expects of a fresh directory is then expected of guardcache. Processes that a test starts install it
by the start hook.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch._inductor.utils
import torch.testing._internal.inductor_utils as inductor_utils

OURS = os.environ["UPSTREAM_WAY"] == "guardcache"


class Adapter:
    """guardcache in whichever directory PyTorch works in; what it did in all of them together."""

    def __init__(self) -> None:
        self.directory = ""
        self.before = (0, 0)

    def use(self, directory: str) -> None:
        import guardcache.torch

        self.before = self.done()
        self.directory = directory
        guardcache.torch.install(directory)
        # For processes that a test starts.
        os.environ.update(GUARDCACHE_TORCH="1", GUARDCACHE_DIR=directory)

    def done(self) -> tuple[int, int]:
        """Hits and inserts."""
        if not self.directory:
            return 0, 0
        import guardcache.torch

        now = guardcache.torch.statistics()
        return self.before[0] + now.hits, self.before[1] + now.stored + now.duplicates


adapter = Adapter()


def follow(fresh_cache: Callable[..., Any]) -> Callable[..., Any]:
    """PyTorch's `fresh_cache`, with the adapter going along into the new directory and back."""

    @contextmanager
    @functools.wraps(fresh_cache)
    def followed(*arguments: Any, **named: Any) -> Iterator[None]:
        outer, inner = adapter.directory, tempfile.mkdtemp(prefix="guardcache-")
        try:
            with fresh_cache(*arguments, **named):
                adapter.use(inner)
                yield
        finally:
            adapter.use(outer)
            shutil.rmtree(inner, ignore_errors=True)

    return followed


def tell(**what: Any) -> None:
    with open(os.environ["UPSTREAM_RESULTS"], "a") as results:
        results.write(json.dumps(what) + "\n")


def name_of(nodeid: str) -> str:
    return nodeid.rsplit("/", 1)[-1]


def pytest_configure() -> None:
    if not inductor_utils.HAS_TRITON:
        # Tests for several devices ask for Triton although the CPU's cases do without; the GPU's skip themselves.
        inductor_utils.requires_triton = lambda *_: lambda test: test
    if OURS:
        adapter.use(os.environ["UPSTREAM_CACHE"])
        torch._inductor.utils.fresh_cache = follow(torch._inductor.utils.fresh_cache)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    with open(os.environ["UPSTREAM_DONE"]) as done:
        known = set(json.load(done))
    items[:] = [item for item in items if name_of(item.nodeid) not in known]


class Outcome:
    """Of the test that runs."""

    def __init__(self) -> None:
        self.outcome, self.said, self.done = "passed", "", (0, 0)


current = Outcome()


def pytest_runtest_logstart(nodeid: str) -> None:
    current.__init__()  # type: ignore[misc]
    current.done = adapter.done()
    tell(begun=name_of(nodeid))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.outcome == "passed" or current.outcome not in ("passed", "skipped"):
        return
    current.outcome = report.outcome if report.when == "call" or report.outcome == "skipped" else "error"
    lines = [line for line in report.longreprtext.splitlines() if line.startswith("E  ")] or [""]
    current.said = lines[0][1:].strip()[:500]


def pytest_runtest_logfinish(nodeid: str) -> None:
    hits, stored = (now - then for now, then in zip(adapter.done(), current.done, strict=True))
    outcome = {"outcome": current.outcome, "said": current.said, "asked": hits + stored}
    tell(ended=name_of(nodeid), **outcome, hits=hits, stored=stored)
