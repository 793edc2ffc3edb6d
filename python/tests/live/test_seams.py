"""A PyTorch that isn't as the adapter knows it: parts are left out one by one, and told by the name of what moved."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from machines import Machines, programs, right, total

torch = pytest.importorskip("torch")

from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCache  # noqa: E402
from torch._inductor import codecache, config  # noqa: E402
from torch._inductor.codecache import CppCodeCache, FxGraphCache, PersistentCache  # noqa: E402
from torch.fx.experimental.symbolic_shapes import ShapeEnv  # noqa: E402

import guardcache.torch  # noqa: E402
from guardcache.adapter import Part, Seam  # noqa: E402
from guardcache.torch import _entries as entries  # noqa: E402
from guardcache.torch import parts  # noqa: E402

pytestmark = pytest.mark.live

KEY = "f" + "b" * 51


@pytest.fixture(autouse=True)
def _clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    yield
    guardcache.torch.uninstall()
    torch._dynamo.reset()


def other(*_arguments: Any, changed: Any = None) -> Any:
    raise AssertionError("a moved function isn't called")


# Of each part a seam, as a later PyTorch may have it.
MOVED: dict[str, tuple[Any, str, Any]] = {
    "graphs": (FxGraphCache, "load_with_key", staticmethod(other)),
    "aot": (AOTAutogradCache, "evaluate_guards", classmethod(other)),
    "names": (codecache.FxGraphCachePickler, "debug_lines", other),
    "binaries": (CppCodeCache, "load_async", staticmethod(other)),
    "tuning": (PersistentCache, "lookup", other),
    "triton": (torch.utils._triton, "has_triton_package", other),
    "canonical": (codecache, "compiled_fx_graph_hash", other),
    "dynamo": (torch._dynamo.pgo, "update_automatic_dynamic", other),
    "precompile": (torch._dynamo.guards, "convert_int_to_concrete_values", other),
}

ALL = (*parts.PARTS, parts.CANONICAL, parts.PRECOMPILE)


def test_this_pytorch_has_all_seams() -> None:
    assert guardcache.torch.moved() == {part.name: [] for part in (parts.BASE, *ALL)}
    assert set(MOVED) == {part.name for part in ALL}


def test_seams_are_what_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a part replaces without having it in the table would break unseen."""
    replaced: set[tuple[str, str]] = set()
    original = guardcache.adapter.Patches.set

    def watched(self: Any, owner: Any, name: str, value: Any) -> None:
        replaced.add((getattr(owner, "__qualname__", owner.__name__), name))
        original(self, owner, name, value)

    monkeypatch.setattr(guardcache.adapter.Patches, "set", watched)
    guardcache.torch.install(tmp_path / "cache", key="canonical", precompile=True)
    known = set()
    for part in ALL:
        for seam in part.seams:
            for where in seam.where.split("|"):
                module, _, name = where.partition(":")
                owner, _, attribute = name.rpartition(".")
                known.add((owner or module, attribute))
    assert replaced - known == {("LocalAutotuneCache", "backend_override_cls")}


@pytest.mark.parametrize("name", sorted(MOVED))
def test_a_moved_part_is_left_out_by_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    owner, attribute, value = MOVED[name]
    monkeypatch.setattr(owner, attribute, value)
    moved = {part: told for part, told in guardcache.torch.moved().items() if told}
    assert list(moved) == [name]
    assert attribute in moved[name][0]
    with caplog.at_level("WARNING", logger="guardcache.torch"):
        guardcache.torch.install(tmp_path / "cache", key="canonical", precompile=True)
    (told,) = [record.getMessage() for record in caplog.records]
    assert moved[name][0] in told
    assert torch.__version__ in told
    rest = [part for part in ALL if part.name != name and not (name == "aot" and part.name in ("names", "precompile"))]
    assert told.endswith("Still works: " + ", ".join(part.what for part in rest))
    assert vars(owner)[attribute] is value or name in ("names",)


def test_the_other_cache_still_hits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AOTAutogradCache, "try_load", staticmethod(other_try_load()))
    guardcache.torch.install(tmp_path / "cache")

    def f(x: Any) -> Any:
        return (x * 2).relu()

    for _ in range(2):
        torch._dynamo.reset()
        assert torch.equal(torch.compile(f)(torch.ones(7)), torch.full((7,), 2.0))
    told = guardcache.torch.statistics()
    assert (told.hits, told.misses) == (1, {"no_key": 1})
    assert {lookup.kind for lookup in guardcache.torch.lookups()} == {"fx"}


def other_try_load() -> Callable[..., Any]:
    """As PyTorch's own, with another name for a parameter."""
    original = AOTAutogradCache.try_load

    def try_load(module: Any, *arguments: Any, **named: Any) -> Any:
        return original(module, *arguments, **named)

    return try_load


def test_no_cache_left_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FxGraphCache, "clear", classmethod(other))
    monkeypatch.setattr(AOTAutogradCache, "save", classmethod(other))
    with pytest.raises(guardcache.torch.SeamsMovedError, match=r"FxGraphCache\.clear.*AOTAutogradCache\.save") as told:
        guardcache.torch.install(tmp_path / "cache")
    assert torch.__version__ in str(told.value)
    assert not guardcache.torch.is_installed()


def test_a_moved_base_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = Part("base", "all", (Seam("torch._inductor.nowhere:thing"),))
    monkeypatch.setattr(guardcache.torch._install, "BASE", moved)
    with pytest.raises(guardcache.torch.SeamsMovedError, match="nowhere:thing isn't there"):
        guardcache.torch.install(tmp_path / "cache")


# ---- never silently off ----


def compile_once(**settings: Any) -> None:
    torch._dynamo.reset()
    with config.patch(settings):
        torch.compile(lambda x: x.sin() + 1)(torch.ones(5))


def test_nothing_looked_up_isnt_nothing_missed(tmp_path: Path) -> None:
    guardcache.torch.install(tmp_path / "cache")
    assert guardcache.torch.explain() == "nothing was looked up in this process"
    compile_once()
    assert "no_key" in guardcache.torch.explain()


@pytest.mark.parametrize("setting", ["force_disable_caches", "fx_graph_cache"])
def test_caches_that_are_off_are_told(setting: str, tmp_path: Path) -> None:
    guardcache.torch.install(tmp_path / "cache")
    compile_once(**{setting: setting != "fx_graph_cache"})
    (reason,) = guardcache.torch.statistics().passed_by
    assert setting in reason
    assert guardcache.torch.explain().endswith(f"past guardcache once: {reason}")
    with guardcache.open(tmp_path / "cache") as cache:
        assert reason in " ".join(cache.explain_past().split())
    compile_once(**{setting: setting != "fx_graph_cache"})
    assert guardcache.torch.explain().endswith(f"past guardcache 2 times: {reason}")


def test_another_directory_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guardcache.torch.install(tmp_path / "cache")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "elsewhere"))
    compile_once()
    ((reason, count),) = guardcache.torch.statistics().passed_by.items()
    assert count == 2
    assert guardcache.torch.explain() == (f"nothing was looked up in this process\n\npast guardcache 2 times: {reason}")
    assert "TORCHINDUCTOR_CACHE_DIR" in reason


def test_a_read_only_cache_is_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    guardcache.Cache(tmp_path / "cache").close()
    monkeypatch.setenv("GUARDCACHE_READ_ONLY", "1")
    guardcache.torch.install(tmp_path / "cache")
    compile_once()
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []
    assert capfd.readouterr().err == ""
    assert guardcache.torch.statistics().not_stored == {"the cache is read-only": 2}
    assert "compiled but not stored 2 times: the cache is read-only" in guardcache.torch.explain()


def test_a_full_disk_is_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is raised through PyTorch, which would print a traceback for each graph."""

    def full(*_arguments: Any, **_named: Any) -> None:
        raise guardcache.NoSpaceError("No space left on device", status="ERROR_NO_SPACE")

    monkeypatch.setattr(guardcache.Cache, "insert", full)
    guardcache.torch.install(tmp_path / "full")
    compile_once()
    assert guardcache.torch.statistics().not_stored == {"no space is left": 2}
    assert "Traceback" not in caplog.text


# ---- another compiler ----


def test_the_compiler_is_a_requirement_of_what_needs_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With guardcache's keys: entries that bring their binaries are of use beside another compiler."""
    guardcache.torch.install(tmp_path / "cache", key="canonical", precompile=True)
    adapter = guardcache.torch._install.current()
    torch.compile(lambda x: x.sin() + 3)(torch.ones(5))
    monkeypatch.setattr(adapter.binaries, "_keep", lambda *_: None)
    torch._dynamo.reset()
    torch.compile(lambda x: x.cos() + 2)(torch.ones(5))
    needs = {entry.requirements.get("cxx") for entry in adapter.cache.entries() if entry.kind == "fx"}
    assert needs == {None, entries.compiler()}


def test_a_hit_beside_another_compiler(machines: Machines) -> None:
    assert machines.new().run(model="mlp", batches=[4], key="canonical")["misses"] == {"no_key": 2}
    beside = machines.new().run(model="mlp", batches=[4], key="canonical", environment={"CXX": "g++-of-nobody"})
    # PyTorch's own keys, AOT's too, have the compiler's name.
    assert beside["misses"] == {"no_key": 1}
    assert (beside["hits"], total(beside, "fxgraph_cache_hit"), programs(beside)) == (1, 1, [])
    assert right(beside)
    assert "cpp.cxx" in beside["explanation"]


# ---- hits that PyTorch drops ----


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_dropped_hit_is_told(elsewhere: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guardcache.torch.install(tmp_path / "cache")
    compile_once()

    def dropped(*_arguments: Any, **_named: Any) -> Any:
        if elsewhere:
            torch._dynamo.utils.counters["aot_autograd"]["autograd_cache_cross_rank_miss"] += 1
        raise torch._functorch._aot_autograd.aot_autograd_result.FXGraphCacheMiss("gone")

    results = torch._functorch._aot_autograd.aot_autograd_result.GenericAOTAutogradResult
    with monkeypatch.context() as patch:
        patch.setattr(results, "wrap_post_compile", dropped)
        compile_once()
    reason = "another rank missed" if elsewhere else "a graph that it refers to can't be used"
    assert guardcache.torch.statistics().unused == {reason: 1}
    assert f"unused hit: {reason}" in guardcache.torch.explain()


def test_ranks_of_a_job_dont_wait_for_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They may meet inside of a compile, which would never end."""
    guardcache.torch.install(tmp_path / "cache")
    waited: list[object] = []
    begin = guardcache.Cache.begin
    monkeypatch.setattr(guardcache.Cache, "begin", lambda *a, **n: waited.append(1) or begin(*a, **n))
    compile_once()
    assert len(waited) == 1
    monkeypatch.setattr(guardcache.torch._adapter, "_is_rank", lambda: True)
    torch._dynamo.reset()
    torch.compile(lambda x: x.exp() * 3)(torch.ones(5))
    assert len(waited) == 1
    assert guardcache.torch.statistics().stored == 4


def test_tuning_precision_is_pytorchs(tmp_path: Path) -> None:
    """Mixed settings, which from 2.15 on PyTorch's plain getter refuses."""
    before = torch.backends.mkldnn.matmul.fp32_precision
    assert entries.matmul_precision() != ""
    if hasattr(codecache, "fp32_matmul_precision_key"):
        try:
            torch.backends.mkldnn.matmul.fp32_precision = "bf16"
            torch.backends.cuda.matmul.fp32_precision = "tf32"
            assert entries.matmul_precision() == codecache.fp32_matmul_precision_key()
        finally:
            torch.backends.mkldnn.matmul.fp32_precision = before
            torch.backends.cuda.matmul.fp32_precision = "none"


def test_a_direct_lookup(tmp_path: Path) -> None:
    """The seam by itself, without a compile: as PyTorch calls it in every version."""
    guardcache.torch.install(tmp_path / "cache")
    FxGraphCache._write_to_local_cache(KEY, pickle.dumps(Plain("L['t0'] > 2")))
    test = ShapeEnv().evaluate_guards_expression
    assert FxGraphCache.find_guarded_entry(KEY, True, None, test, [3])[0] == Plain("L['t0'] > 2")
    assert FxGraphCache.find_guarded_entry(KEY, True, None, test, [1])[0] is None


class Plain:
    def __init__(self, guards: str) -> None:
        self.guards_expr = guards

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and other.guards_expr == self.guards_expr

    __hash__ = None  # type: ignore[assignment]
