"""Processes that race, die, run out of space, or find damaged entries: never a wrong number, never a failed compile."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from machines import Machine, Machines, digests, report_of, right, total

import guardcache

torch = pytest.importorskip("torch")

from torch._inductor.codecache import GuardedCache, PyCodeCache  # noqa: E402
from torch._inductor.runtime.cache_dir_utils import cache_dir  # noqa: E402

pytestmark = pytest.mark.live

SCENARIO: dict[str, Any] = {"model": "mlp", "batches": [4], "backward": True}
# Compiles over a damaged entry: each takes a second.
FLIPS = int(os.environ.get("GUARDCACHE_FLIPS", "40"))


def test_two_processes_at_once_compile_once(machines: Machines) -> None:
    # Inductor directories of their own: what they share is guardcache's.
    processes = [machine.start(**SCENARIO) for machine in (machines.new(), machines.new())]
    reports = [report_of(process) for process in processes]
    assert all(right(report) for report in reports)
    assert digests(reports[0]) == digests(reports[1])
    assert sum(total(report, "fxgraph_cache_miss") for report in reports) == 2, "a forward and a backward graph, once"


def wait_for(process: subprocess.Popen[str], directory: Path, pattern: str) -> None:
    """Until a file of that kind is there, or the process has ended."""
    while process.poll() is None and not any(directory.glob(pattern)):
        time.sleep(0.01)


# What a compile leaves behind on its way, in this order: a lease, the first shared object, the first entry.
STAGES = ("locks/leases/*", "attachments/*/*", "entries/*/*")


def test_killed_processes_leave_a_whole_cache(machines: Machines) -> None:
    machine = machines.new()
    for stage in STAGES:
        process = machine.start(**SCENARIO)
        wait_for(process, machine.guardcache, stage)
        assert process.poll() is None, stage
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert right(machine.run(**SCENARIO))
    warm = machine.run(**SCENARIO)
    assert right(warm)
    assert warm["misses"] == {}
    assert list((machine.guardcache / "tmp").iterdir()) == []
    with guardcache.open(machine.guardcache) as cache:
        assert cache.verify()


def test_a_full_disk_stops_no_compile(machines: Machines, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=192k", "tmpfs", str(small)], check=False).returncode != 0:
        pytest.skip("a small file system can't be mounted here")
    try:
        machine = Machine(machines.used().inductor, small / "cache")
        for _ in range(2):
            assert right(machine.run(**SCENARIO))
        assert list((small / "cache" / "tmp").iterdir()) == []
        with guardcache.open(machine.guardcache, read_only=True) as cache:
            assert cache.verify()
    finally:
        subprocess.run(["umount", str(small)], check=True)


# ---- damaged entries ----


def stored_files(directory: Path) -> list[Path]:
    """Everything that holds entries: records, payloads and attachments; not the index and the journal."""
    kept = {"entries", "attachments", "blobs"}
    files = (path for path in directory.rglob("*") if path.is_file() and path.stat().st_size > 0)
    return sorted(path for path in files if kept & set(path.relative_to(directory).parts))


def flip(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    place = rng.randrange(len(content) * 8)
    content[place // 8] ^= 1 << place % 8
    path.write_bytes(bytes(content))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache with a small graph in it."""
    root = tmp_path_factory.mktemp("filled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(root / "inductor"))
        patch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")
        torch.set_num_threads(1)
        with installed(root / "whole"):
            compute(torch.ones(6, 5))
        yield root / "whole"


@contextmanager
def installed(directory: Path) -> Iterator[None]:
    import guardcache.torch

    guardcache.torch.install(directory)
    try:
        yield
    finally:
        guardcache.torch.uninstall()


def function(x: Any) -> Any:
    return (x.sin() * 3 + 1).sum(1)


def compute(x: Any) -> Any:
    torch._dynamo.reset()
    PyCodeCache.cache_clear(purge=True)
    return torch.compile(function)(x)


@dataclass(frozen=True)
class Asked:
    """A lookup as PyTorch made it, and the bytes it got."""

    cls: Any
    key: str
    hints: list[int]
    content: bytes


def what_a_hit_asks(directory: Path) -> list[Asked]:
    """The lookups of a warm compile: AOT's entry, then the graph."""
    asked = []
    with installed(directory), pytest.MonkeyPatch.context() as patch:
        original = vars(GuardedCache)["find_guarded_entry"]

        def find(cls: Any, key: str, local: bool, remote: Any, evaluate: Any, hints: list[int]) -> Any:
            found = original.__func__(cls, key, local, remote, evaluate, hints)
            asked.append(Asked(cls, key, hints, found[1]))
            return found

        patch.setattr(GuardedCache, "find_guarded_entry", classmethod(find))
        compute(torch.ones(6, 5))
    assert all(lookup.content for lookup in asked)
    return asked


def damage(whole: Path, damaged: Path, rng: random.Random) -> tuple[Path, bool]:
    """A copy with a flipped bit somewhere: which file has it, and whether verifying reports it."""
    shutil.copytree(whole, damaged)
    path = rng.choice(stored_files(damaged))
    flip(path, rng)
    with guardcache.open(damaged, read_only=True) as cache:
        return path, not cache.verify()


def serves(damaged: Path, asked: list[Asked]) -> bool:
    """Asks as PyTorch does. True if everything was a hit; what is served must be what was stored, byte for byte."""
    for shared_object in Path(cache_dir()).rglob("*.so"):
        shared_object.unlink()
    with installed(damaged):
        found = [a.cls.find_guarded_entry(a.key, True, None, lambda text, hints: True, a.hints)[1] for a in asked]
    assert all(content in (None, a.content) for content, a in zip(found, asked, strict=True))
    return None not in found


def test_no_flipped_bit_is_served(filled: Path, tmp_path: Path) -> None:
    """The entry has generated source inside, so a bit that went unnoticed would change what is computed."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    asked = what_a_hit_asks(filled)
    binaries = {path.name: path.read_bytes() for path in Path(cache_dir()).rglob("*.so")}
    assert binaries
    unnoticed = []
    for number in range(1000):
        damaged = tmp_path / f"damaged{number}"
        path, reported = damage(filled, damaged, rng)
        hit = serves(damaged, asked)
        placed = {path.name: path.read_bytes() for path in Path(cache_dir()).rglob("*.so")}
        assert placed.items() <= binaries.items(), path
        if not reported and hit:
            unnoticed.append(str(path.relative_to(damaged)))
        shutil.rmtree(damaged)
    assert unnoticed == []


def test_no_flipped_bit_gives_a_wrong_number(filled: Path, tmp_path: Path) -> None:
    """The same to the end: what is missed is compiled again."""
    import guardcache.torch

    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    x = torch.randn(6, 5)
    expected = function(x)
    unnoticed = []
    for number in range(FLIPS):
        damaged = tmp_path / f"damaged{number}"
        path, reported = damage(filled, damaged, rng)
        with installed(damaged):
            assert torch.allclose(compute(x), expected, atol=1e-6), path
            missed = any(lookup.outcome != "hit" for lookup in guardcache.torch.lookups())
        if not reported and not missed:
            unnoticed.append(str(path.relative_to(damaged)))
        shutil.rmtree(damaged)
    assert unnoticed == []
