"""What PyTorch keeps for GPUs, with its own classes: kernels bundled with a graph.

Records of best configurations are in `test_pieces.py`. No device is needed but for the last test. Kernels are files
laid out as Triton's cache directory lays them out.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

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


def run(function: Callable[[Any], Any] = lambda x: (x * 5).cos()) -> Any:
    """A first call in what might be a new process."""
    torch._dynamo.reset()
    PyCodeCache.cache_clear()
    with torch.no_grad():
        return torch.compile(function)(torch.ones(4))


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


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_kernels_are_attached_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What two graphs share is stored once, beside their payloads; small files stay inside."""
    files = made_by_triton(tmp_path / "triton" / HASH)
    with config.patch(bundle_triton_into_fx_graph_cache=True):
        bundling(monkeypatch, tmp_path / "triton")
        run()
        run(lambda x: (x * 7).sin())
    kernel = files["kernel.cubin"]
    content = [path.read_bytes() for path in files_below(tmp_path / "cache")]
    assert guardcache.torch.statistics().stored == 4
    assert content.count(kernel) == 1
    assert sum(kernel[100:600] in each for each in content) == 1


def test_an_exported_entry_has_its_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's own artifacts are whole, also of a hit: who loads them may have no guardcache."""
    files = made_by_triton(tmp_path / "triton" / HASH)
    with config.patch(bundle_triton_into_fx_graph_cache=True):
        bundling(monkeypatch, tmp_path / "triton")
        run()
        torch.compiler._cache.CacheArtifactManager.clear()
        run()
        saved = torch.compiler.save_cache_artifacts()
    assert saved is not None
    assert guardcache.torch.statistics().hits == 2
    assert files["kernel.cubin"] in saved[0]


@pytest.mark.parametrize("harm", ["damaged", "gone"])
def test_kernels_that_cannot_be_had_are_a_miss(harm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the entry is used, nothing is written, and the compile that follows stores it anew."""
    kernel = made_by_triton(tmp_path / "triton" / HASH)["kernel.cubin"]
    with config.patch(bundle_triton_into_fx_graph_cache=True):
        bundling(monkeypatch, tmp_path / "triton")
        cold = run()
        guardcache.torch.uninstall()
        harmed = [path for path in files_below(tmp_path / "cache") if path.read_bytes() == kernel]
        assert harmed
        for path in harmed:
            path.chmod(0o600)
            path.unlink() if harm == "gone" else path.write_bytes(kernel[:5000] + b"?" + kernel[5001:])
        guardcache.torch.install(tmp_path / "cache")
        elsewhere = tmp_path / "elsewhere"
        monkeypatch.setenv("TRITON_CACHE_DIR", str(elsewhere))
        assert torch.equal(run(), cold)
        assert "corrupt" in guardcache.torch.statistics().misses
        assert not (elsewhere / HASH / "kernel.cubin").exists()
        before = guardcache.torch.statistics().hits
        run()
    assert guardcache.torch.statistics().hits == before + 2


def test_a_frame_has_its_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = made_by_triton(tmp_path / "triton" / HASH)
    guardcache.torch.install(tmp_path / "cache", precompile=True)
    with config.patch(bundle_triton_into_fx_graph_cache=True):
        bundling(monkeypatch, tmp_path / "triton")
        cold = run()
        monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "elsewhere"))
        assert torch.equal(run(), cold)
    assert guardcache.torch.statistics().frames == 1
    assert content_of(tmp_path / "elsewhere" / HASH)["kernel.cubin"] == files["kernel.cubin"]
    content = [path.read_bytes() for path in files_below(tmp_path / "cache")]
    assert content.count(files["kernel.cubin"]) == 1


# ---- with Triton itself, for a device that isn't here ----

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)
"""
SIGNATURE = {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}


class Launched(NamedTuple):
    """A kernel for an A100, and what starts it without Triton."""

    hash: str
    name: str
    cubin: bytes
    autotuner: Any


def compiled_for_a100(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Launched:
    """Compiled by Triton, with PyTorch's classes around it."""
    triton = pytest.importorskip("triton", reason="Triton isn't installed")
    from torch._inductor.runtime import hints, runtime_utils, static_triton_launcher, triton_heuristics
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    source = folder / "kernels_of_test.py"
    source.write_text(KERNEL)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(folder / "triton"))
    double = importlib.import_module(source.stem).double
    monkeypatch.delitem(sys.modules, source.stem)
    kernel = triton.compile(ASTSource(double, SIGNATURE, constexprs={(3,): 128}), target=GPUTarget("cuda", 80, 32))
    name = runtime_utils.triton_hash_to_path_key(kernel.hash)
    kernel._cubin_path = str(folder / "triton" / name / "double.cubin")
    device = hints.DeviceProperties("cuda", 0, 108, 80, 8, 65536, 2048, 32)
    choice = triton_heuristics.Config({"BLOCK": 128}, num_warps=4, num_stages=1)
    autotuner = triton_heuristics.CachingAutotuner(
        double,
        triton_meta={"signature": SIGNATURE, "device": device, "constants": {}, "configs": [{}]},
        configs=[choice],
        save_cache_hook=False,
        mutated_arg_names=["y"],
        optimize_mem=True,
        heuristic_type=hints.HeuristicType.POINTWISE,
        size_hints={"x": 128},
        inductor_meta={"kernel_name": "double"},
        filename=str(source),
    )
    launcher = static_triton_launcher.StaticallyLaunchedCudaKernel(kernel)
    meta, how = {"device": 0, "device_type": "cuda"}, {"kernel_name": "double"}
    autotuner.compile_results = [triton_heuristics.StaticTritonCompileResult(launcher, choice, meta, how)]
    return Launched(name, "of the test", kernel.asm["cubin"], autotuner)


@pytest.mark.parametrize("precompile", [False, True])
def test_static_launchers_travel(precompile: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second machine has the launcher and its kernel in place before anything asks Triton. Nothing is launched."""
    made = compiled_for_a100(tmp_path, monkeypatch)
    from torch._inductor.async_compile import CompiledTritonKernels

    begin = TritonBundler.begin_compile.__func__  # type: ignore[attr-defined]

    def begin_compile(cls: Any) -> None:
        begin(cls)
        TritonBundler.put(made.hash, 0)
        TritonBundler.put_static_autotuner(made.name, made.autotuner)

    guardcache.torch.install(tmp_path / "cache", precompile=precompile)
    with config.patch(bundle_triton_into_fx_graph_cache=True, use_static_triton_launcher=True):
        with monkeypatch.context() as bundled:
            bundled.setattr(TritonBundler, "begin_compile", classmethod(begin_compile))
            cold = run()
        CompiledTritonKernels._cache.pop(made.name, None)
        monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "elsewhere"))
        assert torch.equal(run(), cold)
        found = CompiledTritonKernels._cache.pop(made.name).static_autotuner  # type: ignore[attr-defined]
    statistics = guardcache.torch.statistics()
    assert (statistics.frames, statistics.hits) == ((1, 0) if precompile else (0, 2))
    assert (tmp_path / "elsewhere" / made.hash / "double.cubin").read_bytes() == made.cubin
    assert [each.kernel.cubin_path for each in found.compile_results] == [
        str(tmp_path / "elsewhere" / made.hash / "double.cubin")
    ]
    content = [path.read_bytes() for path in files_below(tmp_path / "cache")]
    assert content.count(made.cubin) == 1
    assert sum(made.cubin in each for each in content) == 1


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU is here: nothing of this has run on one")
def test_a_second_process_on_a_gpu(tmp_path: Path) -> None:
    def on_gpu() -> Any:
        torch._dynamo.reset()
        PyCodeCache.cache_clear()
        return torch.compile(lambda x: (x * 5).cos())(torch.ones(4, device="cuda"))

    with config.patch(bundle_triton_into_fx_graph_cache=True):
        assert torch.equal(on_gpu(), on_gpu())
    assert guardcache.torch.statistics().hits == 2
