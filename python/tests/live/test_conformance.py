"""What PyTorch's own cache tests assert, asserted of the adapter: all of it that needs no GPU and no remote engine.

The numbers are those of the list in docs/pytorch.md, which also says why the others don't apply. Each test has a
guardcache directory of its own; the Inductor directory is the session's, so that the compiler is probed once.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

torch = pytest.importorskip("torch")

import torch._functorch.config as functorch_config  # noqa: E402
import torch._inductor.config as inductor_config  # noqa: E402
from torch._dynamo.utils import counters  # noqa: E402
from torch._functorch._aot_autograd import autograd_cache  # noqa: E402
from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCache  # noqa: E402
from torch._inductor import custom_graph_pass, metrics  # noqa: E402
from torch._inductor.codecache import FxGraphCache, PyCodeCache  # noqa: E402
from torch._inductor.custom_graph_pass import CustomGraphPass  # noqa: E402
from torch._inductor.remote_cache import RemoteCacheBackend, RemoteFxGraphCache  # noqa: E402
from torch._inductor.runtime.cache_dir_utils import cache_dir  # noqa: E402
from torch.compiler import _cache  # noqa: E402
from torch.compiler._cache import CacheArtifact, CacheArtifactFactory, CacheInfo  # noqa: E402

import guardcache.torch  # noqa: E402

pytestmark = pytest.mark.live

Function = Callable[..., Any]


@pytest.fixture(scope="module", autouse=True)
def _inductor_directory(workshop: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(workshop))
        patch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")
        torch.set_num_threads(1)
        yield


@pytest.fixture(params=["pytorch", "canonical"])
def key(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def _adapter(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[None]:
    wanted = request.getfixturevalue("key") if "key" in request.fixturenames else "pytorch"
    guardcache.torch.install(tmp_path / "guardcache", key=wanted)
    forget()
    yield
    guardcache.torch.uninstall()
    forget()


def forget() -> None:
    """What a new process doesn't know."""
    torch._dynamo.reset()
    counters.clear()
    PyCodeCache.cache_clear()
    torch.compiler._cache.CacheArtifactManager.clear()


def run(function: Function, *inputs: Any, **options: Any) -> Any:
    """A first call in what might be a new process."""
    torch._dynamo.reset()
    PyCodeCache.cache_clear()
    return torch.compile(function, **options)(*inputs)


def fx() -> tuple[int, int]:
    """Hits and misses of Inductor's cache since the last look."""
    found = counters["inductor"]["fxgraph_cache_hit"], counters["inductor"]["fxgraph_cache_miss"]
    counters.clear()
    return found


def aot() -> tuple[int, int]:
    """Hits and misses of AOT's cache since the last look."""
    found = counters["aot_autograd"]["autograd_cache_hit"], counters["aot_autograd"]["autograd_cache_miss"]
    counters.clear()
    return found


@pytest.fixture
def inductor_only() -> Iterator[None]:
    with functorch_config.patch(enable_autograd_cache=False):
        yield


# ---- lookup, hit, miss ----


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.usefixtures("inductor_only")
def test_01_02_first_a_miss_then_a_hit(key: str, dynamic: bool, backward: bool) -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x @ y).relu().sum()

    graphs = 2 if backward else 1
    for expected in ((0, graphs), (graphs, 0)):
        x, y = torch.randn(6, 5, requires_grad=backward), torch.randn(5, 7, requires_grad=backward)
        result = run(f, x, y, dynamic=dynamic)
        assert torch.allclose(result, f(x, y))
        if backward:
            (ours,) = torch.autograd.grad(result, [x])
            (theirs,) = torch.autograd.grad(f(x, y), [x])
            assert torch.allclose(ours, theirs)
        assert fx() == expected


@pytest.mark.usefixtures("inductor_only")
def test_03_a_missing_source_is_written_again() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.sin() * 3

    run(f, torch.ones(10))
    PyCodeCache.cache_clear(purge=True)
    counters.clear()
    run(f, torch.ones(10))
    assert counters["inductor"]["fxgraph_lookup_write_file"] == 1
    assert fx() == (1, 0)


@pytest.mark.usefixtures("inductor_only")
def test_05_another_tag_is_another_key(key: str) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.cos() + 7

    run(f, torch.ones(10))
    assert fx() == (0, 1)
    with torch.compiler.config.patch(cache_key_tag="another"):
        run(f, torch.ones(10))
        assert fx() == (0, 1)
    run(f, torch.ones(10))
    assert fx() == (1, 0)


@pytest.mark.usefixtures("inductor_only")
def test_06_clearing_makes_the_next_lookup_miss() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.tan() + 7

    FxGraphCache.clear()
    run(f, torch.ones(10))
    FxGraphCache.clear()
    FxGraphCache.clear()
    run(f, torch.ones(10))
    assert fx() == (0, 2)


@pytest.mark.usefixtures("inductor_only")
def test_07_counters_of_the_compile_are_counted_again_on_a_hit() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.sin().cos().exp() / 2

    grown = []
    for _ in range(2):
        metrics.reset()
        run(f, torch.ones(10))
        grown.append((metrics.generated_kernel_count, metrics.ir_nodes_pre_fusion))
    assert fx() == (1, 1)
    assert grown[0] == grown[1]
    assert grown[0][0] > 0


@pytest.mark.usefixtures("inductor_only")
def test_08_the_callers_guard_function_tests_and_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.avg_pool2d(x, 3, 2, ceil_mode=True)

    run(f, torch.ones(2, 3, 12, 12), dynamic=True)
    assert fx() == (0, 1)
    asked: list[tuple[str, set[type]]] = []

    def evaluate(text: str, values: list[Any]) -> bool:
        asked.append((text, {type(value) for value in values}))
        return True

    original = FxGraphCache._lookup_graph

    def look_up(*arguments: Any) -> Any:
        return original(*arguments[:-1], evaluate)

    monkeypatch.setattr(FxGraphCache, "_lookup_graph", staticmethod(look_up))
    run(f, torch.ones(2, 3, 16, 16), dynamic=True)
    assert fx() == (1, 0)
    assert [types for _, types in asked] == [{int}, {torch.SymInt}]
    assert asked[0][0] == asked[1][0]


@pytest.mark.usefixtures("inductor_only")
def test_09_an_edited_source_is_honoured() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 17

    run(f, torch.ones(10))
    (module,) = PyCodeCache.modules
    path = Path(str(module.__file__))
    path.write_text(path.read_text() + "\nraise ArithmeticError('edited')\n")
    with pytest.raises(Exception, match="edited"):
        run(f, torch.ones(10))
    path.unlink()


# ---- guards ----


def test_10_int32_bounds() -> None:
    """The same graph over and under the sizes that 32-bit indices reach: two candidates of one key."""

    def f(x: torch.Tensor) -> torch.Tensor:
        return x + x

    small = torch.ones(5, 6, dtype=torch.int8)
    large = torch.ones(1, 1, dtype=torch.int8).expand(47_000, 47_001)
    for expected in ((0, 1), (1, 0)):
        for x in (small, large):
            result = run(f, x, dynamic=True)
            assert int(result[-1, -1]) == 2
            del result
            assert fx() == expected
    kept = {lookup.key for lookup in guardcache.torch.lookups() if lookup.kind == "fx"}
    assert len(kept) <= 2


def test_11_a_pinned_dimension() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.adaptive_avg_pool2d(x, (4, 4))

    for expected in ((0, 1), (1, 0)):
        for size in (12, 10):
            x = torch.randn(2, 3, size, size)
            assert torch.allclose(run(f, x, dynamic=True), f(x), atol=1e-6)
            assert aot() == expected


def test_12_the_other_branch_misses_and_is_right() -> None:
    def f(x: torch.Tensor, value: int) -> torch.Tensor:
        return x + 1 if value > 5 else x - 1

    x = torch.ones(8)
    for expected in ((0, 1), (1, 0)):
        for value in (4, 6):
            assert torch.equal(run(f, x, value, dynamic=True), f(x, value))
            assert aot() == expected
    assert torch.equal(run(f, x, 9, dynamic=True), f(x, 9))
    assert aot() == (1, 0)


def test_13_a_guard_on_a_symbol_that_is_no_argument() -> None:
    def f(x: torch.Tensor, n: int, m: int) -> torch.Tensor:
        return x * 2 if m > 3 else x.new_ones(n) + x.sum()

    for expected in ((0, 1), (1, 0)):
        assert torch.allclose(run(f, torch.ones(6), 4, 2, dynamic=True), f(torch.ones(6), 4, 2))
        assert aot() == expected


@pytest.mark.usefixtures("inductor_only")
def test_14_a_nested_tensor_with_a_guard() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.sin() if x.values().shape[0] % 16 == 0 else x.cos()

    for expected in ((0, 1), (1, 0)):
        x = torch.nested.nested_tensor([torch.ones(3), torch.ones(13)], layout=torch.jagged)
        assert torch.allclose(run(f, x, dynamic=True).values(), x.values().sin())
        assert fx() == expected


def test_15_replayed_guards_do_not_specialise_further() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.isin(x, y)

    def lengths() -> None:
        torch._dynamo.reset()
        compiled = torch.compile(f, dynamic=True)
        for length in (10, 15, 20, 35):
            x, y = torch.arange(length), torch.arange(0, length, 2)
            assert torch.equal(compiled(x, y), f(x, y))

    lengths()
    cold = counters["aot_autograd"]["autograd_cache_miss"]
    counters.clear()
    lengths()
    assert aot() == (cold, 0)


def test_16_specialisations() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.sum() * x.shape[0]

    for expected in ((0, 3), (3, 0)):
        torch._dynamo.reset()
        compiled = torch.compile(f)
        for size in (8, 16, 30):
            x = torch.randn(size)
            torch._dynamo.mark_dynamic(x, 0, specialize_on=[lambda n: n == 8, lambda n: n == 16])
            assert torch.allclose(compiled(x), f(x), atol=1e-4)
        found = counters["aot_autograd"]["autograd_cache_hit"], counters["aot_autograd"]["autograd_cache_miss"]
        counters.clear()
        assert found == expected


def test_17_one_more_dynamic_dimension_that_is_specialised_anyway() -> None:
    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return x @ w

    w = torch.randn(6, 3)
    for dimensions, expected in (((0,), (0, 1)), ((0, 1), (1, 0))):
        torch._dynamo.reset()
        x = torch.randn(5, 6)
        for dimension in dimensions:
            torch._dynamo.maybe_mark_dynamic(x, dimension)
        assert torch.allclose(torch.compile(f)(x, w), f(x, w), atol=1e-5)
        assert aot() == expected


# ---- keys: what must differ, and what must not ----


def keys_of(function: Function, *inputs: torch.Tensor, **options: Any) -> list[str]:
    """The keys of the Inductor graphs that a compile looks up."""
    before = len(guardcache.torch.lookups())
    with functorch_config.patch(enable_autograd_cache=False):
        run(function, *inputs, **options)
    return [lookup.key for lookup in guardcache.torch.lookups()[before:] if lookup.kind == "fx"]


def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2 + 1


def test_18_tensor_metadata_counts(key: str) -> None:
    inputs = [
        torch.ones(4, 6),
        torch.ones(4, 7),
        torch.ones(4, 6, 1),
        torch.ones(6, 4).t(),
        torch.ones(4, 6, dtype=torch.float64),
        torch.ones(4, 6, requires_grad=True),
        torch.ones(1, 4, 2, 3),
        torch.ones(1, 4, 2, 3).to(memory_format=torch.channels_last),
    ]
    keys = [tuple(keys_of(double, x)) for x in inputs]
    assert all(keys)
    assert len(set(keys)) == len(keys)


def test_19_values_of_constants_count(key: str) -> None:
    functions: list[Function] = [
        lambda x: x + torch.tensor([1.0, 2.0]),
        lambda x: x + torch.tensor([1.0, 3.0]),
        lambda x: x + torch.tensor([1.0, 2.0]),
    ]
    keys = [keys_of(f, torch.ones(2))[0] for f in functions]
    assert keys[0] == keys[2] != keys[1]


def test_20_configuration_counts_public_and_private(key: str) -> None:
    keys = [keys_of(double, torch.ones(4))[0]]
    for change in ({"max_autotune": True}, {"max_fusion_size": 3}, {"_micro_pipeline_tp": True}):
        with inductor_config.patch(change):
            keys += keys_of(double, torch.ones(4))
    with torch.no_grad():
        keys += keys_of(double, torch.ones(4, requires_grad=True))
    assert len(set(keys)) >= 4


def test_20_an_option_that_is_no_plain_data_counts(key: str) -> None:
    keys = []
    for dtype in (torch.float16, torch.float32, torch.float16):
        with inductor_config.patch(autotune_lookup_table={"a kernel": {"type": dtype}}):
            keys += keys_of(double, torch.ones(4))
    assert keys[0] == keys[2] != keys[1]


class Pass(CustomGraphPass):
    """A custom pass that has an identity."""

    def __init__(self, identity: str | None) -> None:
        self.identity = identity

    def __call__(self, graph: torch.fx.Graph) -> None:
        pass

    def uuid(self) -> Any:
        return self.identity


def test_21_identities_of_custom_passes_count(key: str) -> None:
    keys = []
    for identity in ("one", "two", "one"):
        with inductor_config.patch(post_grad_custom_post_pass=Pass(identity)):
            keys += keys_of(double, torch.ones(4))
    assert keys[0] == keys[2] != keys[1]


def test_22_25_order_of_operations_and_baked_scalars_count(key: str) -> None:
    functions: list[Function] = [
        lambda x: (x + 1).sin().cos(),
        lambda x: (x + 1).cos().sin(),
        lambda x: (x + 2).sin().cos(),
        lambda x: torch._foreach_add([x, x], 1)[0],
        lambda x: torch._foreach_add([x, x], 2)[0],
    ]
    keys = [keys_of(f, torch.ones(4))[0] for f in functions]
    assert len(set(keys)) == len(keys)


def test_27_a_second_run_has_the_same_key(key: str) -> None:
    assert keys_of(double, torch.ones(4)) == keys_of(double, torch.ones(4))


def test_28_storage_offset_and_double_transposition_do_not_count(key: str) -> None:
    base = keys_of(double, torch.ones(4, 6))
    assert keys_of(double, torch.ones(5, 6)[1:]) == base
    assert keys_of(double, torch.ones(4, 6).t().t()) == base


def test_29_why_dynamo_ended_a_graph_does_not_count() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y = x * 2 + 1
        torch._dynamo.graph_break("one reason")
        return y.sin()

    def g(x: torch.Tensor) -> torch.Tensor:
        y = x * 2 + 1
        torch._dynamo.graph_break("another reason")
        return y.sin()

    for function, expected in ((f, (0, 2)), (g, (2, 0))):
        assert torch.allclose(run(function, torch.ones(4)), function(torch.ones(4)))
        assert aot() == expected


def test_30_the_current_device_does_not_count_for_cpu_inputs(key: str) -> None:
    base = keys_of(double, torch.ones(4))
    with torch.device("meta"):
        pass
    assert keys_of(double, torch.ones(4)) == base


def test_31_isomorphic_modules_share() -> None:
    modules = [torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.ReLU()) for _ in range(3)]
    with torch.no_grad():
        for module, expected in zip(modules, ((0, 1), (1, 0), (1, 0)), strict=True):
            x = torch.randn(3, 6)
            assert torch.allclose(run(module, x), module(x), atol=1e-5)
            assert aot() == expected


def test_symbols_of_other_names_share_with_the_canonical_key() -> None:
    guardcache.torch.install(guardcache.torch._install.current().cache.directory, key="canonical")

    def f(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return (a @ b).relu() * a.shape[0]

    def g(b: torch.Tensor, unused: int, a: torch.Tensor) -> torch.Tensor:
        return (b @ a).relu() * b.shape[0]

    with functorch_config.patch(enable_autograd_cache=False):
        a, b = torch.randn(5, 6), torch.randn(6, 9)
        assert torch.allclose(run(f, a, b, dynamic=True), f(a, b), atol=1e-5)
        assert fx() == (0, 1)
        result = run(g, a, 3, b, dynamic=True)
        assert torch.allclose(result, f(a, b), atol=1e-5)
        assert fx() == (1, 0)


# ---- bypasses ----


def test_32_an_operator_that_cannot_be_cached(key: str) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False)

    with inductor_config.patch(post_grad_custom_post_pass=lambda graph: None):
        run(f, torch.ones(4, requires_grad=True))
    assert counters["inductor"]["fxgraph_cache_bypass"] > 0
    assert fx() == (0, 0)


def test_33_a_custom_pass_without_identity(key: str) -> None:
    with (
        inductor_config.patch(post_grad_custom_post_pass=Pass(None)),
        functorch_config.patch(enable_autograd_cache=False),
    ):
        run(double, torch.ones(4))
    assert counters["inductor"]["fxgraph_cache_bypass"] == 1
    assert "Unsupported post grad custom pass" in guardcache.torch.statistics().bypasses
    told = guardcache.torch.explain()
    assert told.startswith("bypass: Unsupported post grad custom pass")
    assert "uuid()" in told


def test_34_a_raw_callable_where_a_pass_is_wanted() -> None:
    with (
        inductor_config.patch(_fuse_ddp_communication_passes=[lambda graph: None]),
        functorch_config.patch(enable_autograd_cache=False),
    ):
        run(double, torch.ones(4))
    assert "Unsupported _fuse_ddp_communication_pass" in guardcache.torch.statistics().bypasses


# Up to 2.12 PyTorch takes a graph pass there.
PassOfScheduler: Any = getattr(custom_graph_pass, "CustomSchedulerPass", CustomGraphPass)


class SchedulerPass(PassOfScheduler):  # type: ignore[misc]
    """What `explain` advises to make of a raw callable."""

    def __call__(self, nodes: list[Any]) -> list[Any]:
        return nodes

    def uuid(self) -> Any:
        return "one"


@pytest.mark.parametrize("setting", ["_pre_fusion_custom_pass", "_post_fusion_custom_pass"])
def test_34_advice_for_a_raw_callable_in_the_scheduler(setting: str) -> None:
    if setting == "_post_fusion_custom_pass" and PassOfScheduler is CustomGraphPass:
        pytest.skip("up to 2.12 PyTorch asks nothing of these passes")
    with functorch_config.patch(enable_autograd_cache=False):
        with inductor_config.patch({setting: lambda nodes: nodes}):
            run(double, torch.ones(4))
        told = guardcache.torch.explain()
        assert told.startswith(f"bypass: Unsupported {setting}")
        assert "CustomSchedulerPass" in told
        assert fx() == (0, 0)
        with inductor_config.patch({setting: SchedulerPass()}):
            run(double, torch.ones(4))
            run(double, torch.ones(4))
        assert fx() == (1, 1)


def test_35_freezing_bypasses_aots_cache() -> None:
    with inductor_config.patch(freezing=True), torch.no_grad():
        run(torch.nn.Linear(4, 4).eval(), torch.ones(2, 4))
    assert counters["aot_autograd"]["autograd_cache_hit"] == 0
    assert counters["aot_autograd"]["autograd_cache_saved"] == 0


class Cube(torch.autograd.Function):
    """A custom autograd function."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * gradient


def hooked(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y.register_hook(lambda gradient: gradient + 1)
    return y.sin()


@pytest.mark.parametrize("function", [Cube.apply, hooked, lambda x: torch._C._nn.gelu(x)])
def test_35_what_bypasses_pytorchs_own_store_bypasses_ours(function: Function, tmp_path: Path) -> None:
    """A custom autograd function, state that is known in the backward pass alone, a private function."""

    def counted() -> tuple[dict[str, int], dict[str, int]]:
        x = torch.ones(4, requires_grad=True)
        forget()
        run(lambda x: function(x) + 1, x).sum().backward()
        return (
            {name: n for name, n in counters["aot_autograd"].items() if name.startswith("autograd_cache")},
            {name: n for name, n in counters["inductor"].items() if name.startswith("fxgraph_cache")},
        )

    ours = [counted() for _ in range(2)]
    guardcache.torch.uninstall()
    with torch._inductor.utils.fresh_cache():
        assert [counted() for _ in range(2)] == ours


# ---- two levels ----


def test_36_clearing_the_lower_cache_turns_the_upper_hit_into_a_miss() -> None:
    run(double, torch.ones(4))
    assert aot() == (0, 1)
    FxGraphCache.clear()
    run(double, torch.ones(4))
    assert aot() == (0, 1)
    run(double, torch.ones(4))
    assert aot() == (1, 0)


def test_36_time_is_counted_once() -> None:
    began = time.monotonic_ns()
    run(double, torch.ones(4))
    elapsed = time.monotonic_ns() - began
    run(double, torch.ones(4))
    assert aot() == (1, 1)
    took = {entry.kind: entry.compile_ns for entry in guardcache.torch._install.current().cache.entries()}
    found = guardcache.torch.statistics()
    assert found.hits == 2
    assert found.saved_ns == took["aot"] + took["fx"]
    assert 0 < took["aot"] + took["fx"] <= elapsed


def test_36_37_bundled() -> None:
    with functorch_config.patch(bundled_autograd_cache=True, strict_autograd_cache=True):
        run(double, torch.ones(4))
        assert aot() == (0, 1)
        FxGraphCache.clear()
        assert torch.equal(run(double, torch.ones(4)), double(torch.ones(4)))
        assert aot() == (1, 0)
    with functorch_config.patch(strict_autograd_cache=True):
        run(double, torch.ones(4))
        assert aot() == (0, 1)


def test_06_clearing_aots_cache() -> None:
    run(double, torch.ones(4))
    AOTAutogradCache.clear()
    AOTAutogradCache.clear()
    run(double, torch.ones(4))
    assert aot() == (0, 2)


# ---- remote ----


class Remote(RemoteCacheBackend[bytes]):
    """A remote engine that is a dictionary."""

    stored: ClassVar[dict[str, bytes]] = {}
    asked: ClassVar[list[str]] = []

    def _get(self, key: str) -> bytes | None:
        self.asked.append(key)
        return self.stored.get(key)

    def _put(self, key: str, data: bytes) -> None:
        self.stored[key] = data


class BrokenRemote(Remote):
    """A remote engine that is out of order."""

    def _get(self, key: str) -> bytes | None:
        raise RuntimeError("out of order")


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Remote]]:
    Remote.stored.clear()
    Remote.asked.clear()
    monkeypatch.setattr(RemoteFxGraphCache, "backend_override_cls", Remote)
    with inductor_config.patch(fx_graph_remote_cache=True):
        yield Remote


@pytest.mark.usefixtures("inductor_only")
def test_39_40_machines_that_share_a_remote(remote: type[Remote], tmp_path: Path) -> None:
    found = []
    for machine in range(4):
        guardcache.torch.install(tmp_path / f"machine{machine}")
        run(double, torch.ones(4))
        found.append(fx())
    assert found == [(0, 1), (1, 0), (1, 0), (1, 0)]
    assert len(remote.stored) == 1
    assert re.fullmatch(r"pt2:fx-graph-v1::[0-9a-z]{52}:c\d+", remote.asked[0])
    with torch.compiler.config.patch(cache_key_tag="another"):
        run(double, torch.ones(4))
        assert fx() == (0, 1)
    assert len(remote.stored) == 2

    # What a remote had is kept, so that it isn't asked for again.
    remote.asked.clear()
    run(double, torch.ones(4))
    assert fx() == (1, 0)
    assert remote.asked == []


@pytest.mark.usefixtures("inductor_only")
def test_41_a_remote_that_is_out_of_order(remote: type[Remote], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever PyTorch's own store makes of it, ours does too."""
    monkeypatch.setattr(RemoteFxGraphCache, "backend_override_cls", BrokenRemote)

    def outcome() -> str:
        forget()
        try:
            return f"{run(double, torch.ones(4)).tolist()} {fx()}"
        except Exception as error:
            return str(error)

    ours = outcome()
    guardcache.torch.uninstall()
    with torch._inductor.utils.fresh_cache():
        theirs = outcome()
    assert ours == theirs


# ---- portable artifacts ----


def test_44_nothing_recorded_is_no_artifact() -> None:
    assert torch.compiler.save_cache_artifacts() is None


def test_45_artifacts_make_another_cache_hit(tmp_path: Path) -> None:
    x = torch.ones(4, requires_grad=True)
    run(double, x).sum().backward()
    saved = torch.compiler.save_cache_artifacts()
    assert saved is not None
    content, info = saved
    assert len(info.aot_autograd_artifacts) == 1
    assert len(info.inductor_artifacts) == 2

    guardcache.torch.install(tmp_path / "another")
    forget()
    PyCodeCache.cache_clear(purge=True)
    torch.compiler.load_cache_artifacts(content)
    result = run(double, x)
    result.sum().backward()
    assert torch.equal(result, double(x))
    assert counters["aot_autograd"]["autograd_cache_hit"] == 1
    assert guardcache.torch.statistics().unpickled == 3


def test_46_only_new_work_needs_to_be_saved() -> None:
    manager = torch.compiler._cache.CacheArtifactManager
    run(double, torch.ones(4))
    assert manager.need_serialize()
    saved = torch.compiler.save_cache_artifacts()
    assert saved is not None
    assert not manager.need_serialize()
    run(double, torch.ones(4))
    assert aot()[0] == 1
    assert not manager.need_serialize()
    run(double, torch.ones(5), dynamic=False)
    assert manager.need_serialize()


class Note(CacheArtifact):
    """An artifact of somebody else's."""

    written: ClassVar[list[tuple[str, bytes]]] = []

    def populate_cache(self) -> None:
        self.written.append((self.key, self.content))

    @staticmethod
    def type() -> str:
        return "guardcache_note"


@pytest.fixture
def notes() -> Iterator[None]:
    CacheArtifactFactory.register(Note)
    yield
    del CacheArtifactFactory._artifact_types[Note.type()]
    del CacheInfo.guardcache_note_artifacts  # type: ignore[attr-defined]
    Note.written.clear()


@pytest.mark.usefixtures("notes")
def test_47_a_hit_alone_is_recorded_and_other_artifacts_travel_along() -> None:
    run(double, torch.ones(4))
    forget()
    if hasattr(_cache, "CacheArtifactRecorder"):
        _cache.CacheArtifactRecorder(Note.type(), "name").record(b"text")
    else:  # up to 2.12
        _cache.CacheArtifactManager.record_artifact(Note.type(), "name", b"text")  # type: ignore[attr-defined]
    run(double, torch.ones(4))
    assert aot() == (1, 0)
    saved = torch.compiler.save_cache_artifacts()
    assert saved is not None
    content, info = saved
    assert info.guardcache_note_artifacts == ["name"]  # type: ignore[attr-defined]
    assert (len(info.aot_autograd_artifacts), len(info.inductor_artifacts)) == (1, 1)
    torch.compiler.load_cache_artifacts(content)
    assert Note.written == [("name", b"text")]


@pytest.mark.parametrize("format", ["binary", "unpacked"])
def test_49_standalone_artifacts_keep_pytorchs_layout(tmp_path: Path, format: str) -> None:
    from torch._subclasses import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    with FakeTensorMode():
        gm = make_fx(lambda x: (x.sin() * 2,))(torch.ones(4))
    with torch._dynamo.utils.preserve_rng_state():
        artifact = torch._inductor.standalone_compile(gm, [torch.ones(4)], dynamic_shapes="from_example_inputs")
    path = str(tmp_path / "artifact")
    artifact.save(path=path, format=format)
    loaded = torch._inductor.CompiledArtifact.load(path=path, format=format)
    assert torch.allclose(loaded(torch.full((4,), 0.5))[0], torch.full((4,), 0.5).sin() * 2)


def test_a_fresh_cache_is_fresh() -> None:
    run(double, torch.ones(4))
    counters.clear()
    with torch._inductor.utils.fresh_cache():
        run(double, torch.ones(4))
        assert aot() == (0, 1)
    run(double, torch.ones(4))
    assert aot() == (1, 0)


def test_uninstalling_gives_pytorch_its_own_back() -> None:
    replaced = vars(FxGraphCache)["load_with_key"]
    guardcache.torch.uninstall()
    assert vars(FxGraphCache)["load_with_key"] is not replaced
    assert "find_guarded_entry" not in vars(FxGraphCache)
    run(double, torch.ones(4))
    assert os.path.isdir(os.path.join(cache_dir(), "fxgraph"))
    with pytest.raises(guardcache.torch.NotInstalledError):
        guardcache.torch.statistics()


@pytest.mark.parametrize("again", [False, True])
def test_a_function_that_somebody_holds_is_pytorchs_own_after_uninstalling(again: bool, tmp_path: Path) -> None:
    """As PyTorch's own tests do, which import some of them by name."""
    make_key, write = autograd_cache.autograd_cache_key, FxGraphCache._write_to_local_cache
    find, clear = FxGraphCache.find_guarded_entry, FxGraphCache.clear
    guardcache.torch.uninstall()
    if again:
        guardcache.torch.install(tmp_path / "another")
    with inductor_config.patch(freezing=True), pytest.raises(autograd_cache.BypassAOTAutogradCache, match="freezing"):
        make_key(torch.fx.symbolic_trace(double), [torch.ones(4)], None)
    write("fheld", b"no pickle")
    assert os.listdir(FxGraphCache._get_tmp_dir_for_key("fheld"))
    clear()
    assert not os.path.exists(FxGraphCache._get_tmp_dir_for_key("fheld"))
    assert find("fheld", True, None, lambda *_: True, [])[0] is None
    if again:
        assert not guardcache.torch.lookups()
