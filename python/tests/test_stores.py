"""What else a cache keeps: blobs, artifacts, shared values, timings, best configurations, bundles."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import Any

import pytest
from descriptions import matmul

import guardcache
from guardcache import Best, Cache, Kernel, Site

# ---- blobs and directories ----


def test_blobs(cache: Cache, directory: Path) -> None:
    blob = cache.put_blob(b"int main;\n", "cpp")
    assert blob is not None
    assert Path(blob.path).read_bytes() == b"int main;\n"
    assert (blob.path.endswith(f"{blob.name}.cpp"), blob.existed) == (True, False)
    again = cache.put_blob(b"int main;\n", "cpp")
    assert again == blob._replace(existed=True)
    assert cache.get_blob(blob.name, "cpp") == b"int main;\n"
    text = cache.put_blob(b"  a \n", text=True, extra="x")
    assert text is not None
    assert text == cache.put_blob(b"a", text=True, extra="x")._replace(existed=False)  # type: ignore[union-attr]
    assert cache.get_blob(text.name, text=True, extra="x") == b"  a \n"
    own = cache.put_blob(b"mine", name="given")
    assert own is not None
    assert (own.name, cache.get_blob("given", own_name=True)) == ("given", b"mine")
    with pytest.raises(guardcache.NotFoundError):
        cache.get_blob("0" * 32)
    with guardcache.open(directory, disabled=True) as disabled:
        assert disabled.put_blob(b"x") is None


def test_a_damaged_blob_is_told(cache: Cache) -> None:
    blob = cache.put_blob(b"content")
    assert blob is not None
    Path(blob.path).write_bytes(b"contemt")
    with pytest.raises(guardcache.CorruptError):
        cache.get_blob(blob.name)


def test_blobs_expire(cache: Cache) -> None:
    cache.put_blob(b"1")
    cache.put_blob(b"2")
    assert cache.expire_blobs(3600) == 0
    assert cache.expire_blobs(0) == 2


def test_a_directory_for_a_compilers_own_cache(cache: Cache, directory: Path) -> None:
    with pytest.raises(guardcache.NotFoundError):
        cache.subdirectory("kernels", write=False)
    found = cache.subdirectory("kernels")
    assert found is not None
    assert found.may_write
    assert Path(found.path).is_dir()
    with guardcache.open(directory, read_only=True) as reader:
        assert reader.subdirectory("kernels") == found._replace(may_write=False)
    with guardcache.open(directory, bypass="why") as bypassed:
        assert bypassed.subdirectory("kernels") is None


# ---- what a run used ----


def test_what_a_run_used(cache: Cache, tmp_path: Path) -> None:
    cache.insert(matmul(1), b"before")
    cache.insert(matmul(2), b"not used")
    with cache.artifacts() as used:
        assert cache.lookup(matmul(1))
        assert not used.dirty
        cache.insert(matmul(3), b"new")
        assert used.dirty
        used.add("profile", "step", b"\x00\x01")
        with pytest.raises(guardcache.ArgumentError):
            cache.artifacts()
        saved = used.save(tmp_path / "run.gcx")
    assert (saved.entries, saved.artifacts, saved.left_out) == (2, 1, 0)
    manifest = guardcache.show_export(tmp_path / "run.gcx")
    assert manifest
    with pytest.raises(guardcache.ArgumentError):
        used.add("profile", "late", b"")

    seen: list[tuple[str, str, bytes]] = []
    progress: list[int] = []
    with guardcache.open(tmp_path / "other") as other:
        read = other.import_(
            tmp_path / "run.gcx",
            artifact=lambda *artifact: seen.append(artifact),
            progress=lambda done, total: progress.append(done),
        )
        assert (read.entries, read.artifacts) == (2, 1)
        assert {entry.key for entry in other.entries()} == {matmul(1).key, matmul(3).key}
    assert seen == [("profile", "step", b"\x00\x01")]
    assert progress

    def fail(kind: str, name: str, content: bytes) -> None:
        raise LookupError(name)

    with guardcache.open(tmp_path / "third") as third, pytest.raises(LookupError, match="step"):
        third.import_(tmp_path / "run.gcx", artifact=fail)


# ---- values for the other processes of a job ----


def test_shared_values(directory: Path) -> None:
    with guardcache.open(directory) as leader, guardcache.open(directory) as follower:
        heard: list[bytes] = []
        waiting = threading.Thread(target=lambda: heard.append(follower.share("run 1", "profile", timeout=30)))
        waiting.start()
        assert leader.share("run 1", "profile", b"\x01\x02") == b"\x01\x02"
        waiting.join()
        assert heard == [b"\x01\x02"]
        assert follower.share("run 1", "profile", b"late") == b"\x01\x02"
        with pytest.raises(guardcache.BusyError):
            follower.share("run 2", "profile", timeout=0.05)


# ---- tuning ----

SITE = Site("gpu-1", "mm", "(float32, 128x64)", None, "highest")


def test_timings_are_put_and_listed(cache: Cache, directory: Path) -> None:
    assert cache.put_timings(SITE, {"aten": 2.5, "triton": math.inf})
    assert cache.timings(SITE, ["triton", "aten"]) == (math.inf, 2.5)
    assert {(t.site.op, t.choice, t.timing) for t in cache.all_timings()} == {
        ("mm", "aten", 2.5),
        ("mm", "triton", math.inf),
    }
    assert all(timing.at_ns > 0 for timing in cache.all_timings())
    with pytest.raises(guardcache.ArgumentError):
        cache.put_timings(SITE, {"aten": math.nan})
    with guardcache.open(directory, disabled=True) as disabled:
        assert not disabled.put_timings(SITE, {"aten": 1.0})


KERNEL = Kernel("5f" * 32, toolchain="triton-3")
SMALL, LARGE = {"BLOCK": 16, "num_warps": 4}, {"BLOCK": 64, "num_warps": 8}


def test_best_configurations(cache: Cache) -> None:
    nothing = cache.find_best(KERNEL, [SMALL, LARGE], "h1")
    assert not nothing
    assert (nothing.verdict, nothing.record, nothing.index) == ("no_record", None, None)
    best = Best({"BLOCK": "64", "num_warps": "8", "num_stages": "2"}, "h1", tuning_ns=7)
    assert cache.put_best(KERNEL, best)
    found = cache.find_best(KERNEL, [SMALL, LARGE], "h1")
    assert found
    assert (found.verdict, found.index, found.record, found.why) == ("used", 1, best, "")
    other = cache.find_best(KERNEL, [SMALL, LARGE], "h2")
    assert (bool(other), other.verdict, other.record) == (False, "configs_hash", best)
    assert "h1" in other.why
    assert [(kernel._replace(backend=None), record) for kernel, record, _ in cache.all_best()] == [(KERNEL, best)]
    descent = Best({"BLOCK": "48"}, "h1", by_descent=True)
    cache.put_best(KERNEL, descent)
    assert cache.find_best(KERNEL, [SMALL], "h1", allow_descent=True).verdict == "descent"
    wrong: Any = [3]
    with pytest.raises(AttributeError):
        cache.find_best(KERNEL, wrong, "h1")


def test_bundles(cache: Cache) -> None:
    with cache.bundle("x = 1  # once\n") as bundle:
        assert not bundle.found
        cache.put_best(KERNEL, Best({"BLOCK": "16"}, "h1", tuning_ns=5))
    with cache.bundle("x = 1  # twice\n") as bundle:
        assert (bundle.found, bundle.records, bundle.saved_ns) == (True, 1, 5)
        record = cache.find_best(KERNEL, [SMALL], "h1").record
        assert record is not None
        assert record.config == {"BLOCK": "16"}
    named = guardcache.source_hash("x = 1  # thrice\n")
    assert named == guardcache.source_hash("x = 1 \n") or len(named) == 64
    with cache.bundle(source_hash=named) as bundle:
        assert bundle.found
    with pytest.raises(guardcache.ArgumentError), cache.bundle():
        pytest.fail("a bundle without a source")
