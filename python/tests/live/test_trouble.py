"""Processes that race, die, run out of space, or find damaged entries: never a wrong number, never a failed compile."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from machines import Machine, Machines, digests, report_of, right, total

import guardcache

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.live

SCENARIO: dict[str, Any] = {"model": "mlp", "batches": [4], "backward": True}
FLIPS = int(os.environ.get("GUARDCACHE_FLIPS", "1000"))


def test_two_processes_at_once_compile_once(machines: Machines) -> None:
    # Inductor directories of their own: what they share is guardcache's.
    processes = [machine.start(**SCENARIO) for machine in (machines.new(), machines.new())]
    reports = [report_of(process) for process in processes]
    assert all(right(report) for report in reports)
    assert digests(reports[0]) == digests(reports[1])
    assert sum(total(report, "fxgraph_cache_miss") for report in reports) == 2, "a forward and a backward graph, once"


def test_a_killed_process_leaves_a_whole_cache(machines: Machines) -> None:
    machine = machines.new()
    rng = random.Random(5)
    for _ in range(5):
        process = machine.start(**SCENARIO)
        time.sleep(rng.uniform(5, 25))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert right(machine.run(**SCENARIO))
    warm = machine.run(**SCENARIO)
    assert right(warm)
    assert warm["misses"] == {}
    with guardcache.open(machine.guardcache) as cache:
        assert cache.verify()


def test_a_full_disk_stops_no_compile(machines: Machines, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=192k", "tmpfs", str(small)], check=False).returncode != 0:
        pytest.skip("a small file system can't be mounted here")
    try:
        machine = Machine(machines.new().inductor, small / "cache")
        for _ in range(2):
            assert right(machine.run(**SCENARIO))
        left = [path for path in small.rglob("*") if "tmp" in path.name.lower()]
        assert left == []
        with guardcache.open(machine.guardcache) as cache:
            assert cache.verify()
    finally:
        subprocess.run(["umount", str(small)], check=True)


# ---- damaged entries ----


def stored_files(directory: Path) -> list[Path]:
    """Everything that holds entries: records, payloads and attachments; not the index and the journal."""
    kept = {"entries", "attachments", "blobs"}
    return sorted(p for p in directory.rglob("*") if p.is_file() and kept & set(p.relative_to(directory).parts))


def flip(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    place = rng.randrange(len(content) * 8)
    content[place // 8] ^= 1 << place % 8
    path.write_bytes(bytes(content))


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache with a small graph in it."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")
    import guardcache.torch

    guardcache.torch.install(tmp_path / "whole")
    compute(torch.ones(6, 5))
    guardcache.torch.uninstall()
    yield tmp_path / "whole"
    guardcache.torch.uninstall()


def function(x: Any) -> Any:
    return (x.sin() * 3 + 1).sum(1)


def compute(x: Any) -> Any:
    from torch._inductor.codecache import PyCodeCache

    torch._dynamo.reset()
    PyCodeCache.cache_clear(purge=True)
    return torch.compile(function)(x)


def test_no_flipped_bit_gives_a_wrong_number(filled: Path, tmp_path: Path) -> None:
    """The entry has generated source inside, so a bit that went unnoticed would change what is computed."""
    import guardcache.torch

    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    x = torch.randn(6, 5)
    expected = function(x)
    unnoticed = []
    for number in range(FLIPS):
        damaged = tmp_path / f"damaged{number}"
        shutil.copytree(filled, damaged)
        path = rng.choice(stored_files(damaged))
        flip(path, rng)
        with guardcache.open(damaged, read_only=True) as cache:
            reported = not cache.verify()
        guardcache.torch.install(damaged)
        assert torch.allclose(compute(x), expected, atol=1e-6), path
        missed = any(lookup.outcome != "hit" for lookup in guardcache.torch.lookups())
        guardcache.torch.uninstall()
        if not reported and not missed:
            unnoticed.append(str(path.relative_to(damaged)))
        shutil.rmtree(damaged)
    assert unnoticed == []
