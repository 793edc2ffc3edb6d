"""What PyTorch keeps for GPUs, with its own classes: kernels bundled with a graph.

Records of best configurations are in `test_pieces.py`. No device is needed but for the last test. Kernels are files
laid out as Triton's cache directory lays them out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch._inductor import config  # noqa: E402
from torch._inductor.codecache import PyCodeCache  # noqa: E402
from torch._inductor.triton_bundler import TritonBundler  # noqa: E402

import guardcache.torch  # noqa: E402

pytestmark = pytest.mark.live

HASH = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567ABCDEFGHIJKLMNOPQRST"


@pytest.fixture(autouse=True)
def _places(tmp_path: Path, workshop: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(workshop))
    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")
    guardcache.torch.install(tmp_path / "cache")
    yield
    guardcache.torch.uninstall()
    torch._dynamo.reset()


def run() -> Any:
    """A first call in what might be a new process."""
    torch._dynamo.reset()
    PyCodeCache.cache_clear()
    with torch.no_grad():
        return torch.compile(lambda x: (x * 5).cos())(torch.ones(4))


def made_by_triton(folder: Path) -> dict[str, bytes]:
    """A kernel's files, of which one says where the others are."""
    group = {name: str(folder / name) for name in ("kernel.cubin", "kernel.ptx", "kernel.json")}
    files = {
        "kernel.cubin": b"\x7fELF" + os.urandom(20_000),
        "kernel.ptx": b".version 8.4\n.target sm_80\n",
        "kernel.json": json.dumps({"name": "kernel", "target": {"backend": "cuda", "arch": 80}}).encode(),
        "__grp__kernel.json": json.dumps({"child_paths": group}).encode(),
    }
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return files


def bundling(monkeypatch: pytest.MonkeyPatch, triton: Path) -> None:
    """PyTorch bundles what Triton has made, as if this compile had asked for it."""
    begin = TritonBundler.begin_compile.__func__  # type: ignore[attr-defined]

    def begin_compile(cls: Any) -> None:
        begin(cls)
        TritonBundler.put(HASH, 0)

    monkeypatch.setenv("TRITON_CACHE_DIR", str(triton))
    monkeypatch.setattr(TritonBundler, "begin_compile", classmethod(begin_compile))


def content_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("key", ["pytorch", "canonical"])
def test_kernels_travel_with_their_graph(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their files come to a machine whose Triton has none, and say where they are there."""
    here, elsewhere = tmp_path / "triton", tmp_path / "elsewhere"
    files = made_by_triton(here / HASH)
    guardcache.torch.install(tmp_path / "cache", key=key)
    with config.patch(bundle_triton_into_fx_graph_cache=True):
        bundling(monkeypatch, here)
        cold = run()
        assert guardcache.torch.statistics().stored == 2
        monkeypatch.setenv("TRITON_CACHE_DIR", str(elsewhere))
        warm = run()
    assert guardcache.torch.statistics().hits == 2
    assert torch.equal(cold, warm)
    found = content_of(elsewhere / HASH)
    assert found.keys() == files.keys()
    paths = json.loads(found.pop("__grp__kernel.json"))["child_paths"]
    assert paths == {name: str(elsewhere / HASH / name) for name in paths}
    assert found == {name: content for name, content in files.items() if name in found}


def test_kernels_that_are_there_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_by_triton(tmp_path / "triton" / HASH)
    with config.patch(bundle_triton_into_fx_graph_cache=True):
        bundling(monkeypatch, tmp_path / "triton")
        run()
        before = content_of(tmp_path / "triton" / HASH)
        run()
    assert content_of(tmp_path / "triton" / HASH) == before


def test_damaged_kernels_are_a_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They lie in the entry's payload, which is verified as a whole before anything of it is used."""
    files = made_by_triton(tmp_path / "triton" / HASH)
    with config.patch(bundle_triton_into_fx_graph_cache=True):
        bundling(monkeypatch, tmp_path / "triton")
        run()
        guardcache.torch.uninstall()
        needle, harmed = files["kernel.cubin"][5000:5064], 0
        for path in (tmp_path / "cache").rglob("*"):
            if path.is_file() and needle in (content := path.read_bytes()):
                path.write_bytes(content.replace(needle, needle[:-1] + bytes([needle[-1] ^ 1])))
                harmed += 1
        assert harmed > 0
        guardcache.torch.install(tmp_path / "cache")
        monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "elsewhere"))
        run()
    assert "corrupt" in guardcache.torch.statistics().misses
    assert not (tmp_path / "elsewhere" / HASH / "kernel.cubin").exists()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU is here: nothing of this has run on one")
def test_a_second_process_on_a_gpu(tmp_path: Path) -> None:
    def on_gpu() -> Any:
        torch._dynamo.reset()
        PyCodeCache.cache_clear()
        return torch.compile(lambda x: (x * 5).cos())(torch.ones(4, device="cuda"))

    with config.patch(bundle_triton_into_fx_graph_cache=True):
        assert torch.equal(on_gpu(), on_gpu())
    assert guardcache.torch.statistics().hits == 2
