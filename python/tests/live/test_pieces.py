"""The adapter's parts by themselves: no compile, but PyTorch must be there."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCache, AOTAutogradCachePickler  # noqa: E402
from torch._guards import TracingContext, tracing  # noqa: E402
from torch._inductor import codecache  # noqa: E402
from torch._inductor.codecache import FxGraphCache, PersistentCache  # noqa: E402
from torch._inductor.runtime.autotune_cache import AutotuneCache  # noqa: E402
from torch.fx.experimental.symbolic_shapes import ShapeEnv  # noqa: E402

import guardcache.torch  # noqa: E402
from guardcache.adapter import find as find_seam  # noqa: E402
from guardcache.torch import _entries as entries  # noqa: E402
from guardcache.torch import _explain as explain  # noqa: E402
from guardcache.torch import _labels as labels  # noqa: E402
from guardcache.torch import _symbols as symbols  # noqa: E402
from guardcache.torch import parts  # noqa: E402

LocalAutotuneCache = find_seam(parts.LOCAL_AUTOTUNE)

pytestmark = pytest.mark.live


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    guardcache.torch.install(tmp_path / "cache")
    yield tmp_path / "cache"
    guardcache.torch.uninstall()


@dataclass
class Stored:
    """Pickles like PyTorch's entries."""

    guards_expr: str | None = None
    source_code: str = "x = 1  # <function f at 0x7f2260>"
    _time_taken_ns: int = 0
    forward_time_taken_ns: int = 0
    backward_time_taken_ns: int = 0
    extra: list[str | None] = field(default_factory=list)


# ---- entries ----


def test_equal_but_for_timings_and_addresses() -> None:
    times = [0, 1, 255, 256, 70_000, 2**31, 2**40, 2**62]
    big = ["x" * 70_000, "y" * 40_000, "z" * 40_000]
    made = [
        pickle.dumps(
            Stored(
                "L['t0'] == 2",
                f"<f at 0x7f{t % 2**20:08x}>['_PYOBJECT_TENSOR_DATA_PTR'] = '1{t % 2**20:08}'",
                t,
                t + 1,
                t * 2,
                extra=[*big, str(len(big))],
            )
        )
        for t in times
    ]
    assert len(set(made)) == len(made)
    assert len({entries.identity(content) for content in made}) == 1
    assert entries.identity(made[0]) != entries.identity(pickle.dumps(Stored("L['t0'] == 3")))
    listed = ["", "torch._inductor.config.a = 1", "torch._inductor.config.b = 2", "end"]
    orders = (listed, [listed[0], listed[2], listed[1], listed[3]], [listed[0], listed[1], listed[1], listed[3]])
    same, swapped, other = (entries.identity(pickle.dumps(Stored(source_code="\n".join(text)))) for text in orders)
    assert same == swapped != other
    for odd in (b"", b"\x80", b" at 0x", b"_time_taken_ns\x94", b"\x80\x04\x95\xff\xff"):
        assert len(entries.identity(odd)) == 16


@pytest.mark.parametrize("expression", [None, "L['t0'] % 8 == 0", "L['t0'] == 2" + " and L['t1'] <= 5" * 3000])
def test_guards_are_read_without_running_the_pickle(expression: str | None) -> None:
    marker: list[str] = []

    class Trap:
        def __reduce__(self) -> Any:
            return marker.append, ("ran",)

    content = pickle.dumps({"before": Trap(), "entry": Stored(expression, extra=[expression, "guards_expr"])})
    assert entries.guards_of_pickle(content) == expression
    # A text that was seen before is a reference in a pickle.
    assert entries.guards_of_pickle(pickle.dumps([expression, Stored(expression)])) == expression
    assert marker == []
    with pytest.raises(ValueError, match="guards_expr"):
        entries.guards_of_pickle(pickle.dumps({"nothing": 1}))


def test_keys_travel_as_texts() -> None:
    key = "9c" * 31 + "ff"
    text = entries.canonical_key_text(key)
    assert entries.canonical_key(text) == key == entries.stored_key("fx", text)
    theirs = "f" + "a" * 51
    assert entries.canonical_key(theirs) is None
    assert entries.stored_key("fx", theirs) != entries.stored_key("aot", theirs)


def test_metadata_survives() -> None:
    written = entries.Metadata("host", {"m": {"r": entries.Binary("aa/x.so", "x")}}, ("s0", "s0*s1"), {"fk": ("s1",)})
    assert entries.Metadata.decode(written.encode()) == written
    assert entries.Metadata.decode(b"") == entries.Metadata()


# ---- names ----


def entry_with(*strides: tuple[str, ...] | None) -> Any:
    return SimpleNamespace(
        cudagraph_info=None, _serialized_original_gm=None, partition_maps=None, output_strides=list(strides)
    )


def test_output_strides_get_the_present_names() -> None:
    graph = entry_with(("s77*s53", "s77", "1"), None, ("8*((7 + s53) // 8)",))
    assert symbols.rename_entry(graph, ("s77", "s53*s77", "s53"), ("s0", "s0*s1", "s1"))
    assert graph.output_strides == [("s0*s1", "s0", "1"), None, ("8*((7 + s1) // 8)",)]


def test_swapped_names() -> None:
    graph = entry_with(("s0", "s1"))
    assert symbols.rename_entry(graph, ("s0", "s1"), ("s1", "s0"))
    assert graph.output_strides == [("s1", "s0")]


@pytest.mark.parametrize(
    ("stored", "current"),
    [
        (("s0", "s1"), ("s0",)),  # another number of inputs
        (("s0", "s1"), ("s5", "s5")),  # two names become one
        (("s0", "s0"), ("s1", "s2")),  # one name becomes two
        (("s0",), ("s1",)),  # s1 stays behind, unexplained
    ],
)
def test_names_that_cannot_be_replaced_for_certain(stored: tuple[str, ...], current: tuple[str, ...]) -> None:
    graph = entry_with(("s0", "s1"))
    assert not symbols.rename_entry(graph, stored, current)
    assert graph.output_strides == [("s0", "s1")]


def test_more_than_strides_holds_names() -> None:
    graph = entry_with(("s0",))
    graph.cudagraph_info = object()
    assert not symbols.rename_entry(graph, ("s0",), ("s1",))
    assert symbols.rename_entry(graph, ("s0",), ("s0",))


def test_sources_are_readable() -> None:
    assert labels.readable_source("L['x'].size()[0]") == "x.size(0)"
    assert labels.readable_source("L['self']._parameters['weight'].stride()[1]") == "self.weight.stride(1)"
    assert labels.readable_source("L['batch']['ids'].size()[1]") == "batch['ids'].size(1)"
    assert labels.readable_source("G['scale']") == "scale"


# ---- labels ----


def traced(function: Any) -> Any:
    context = TracingContext(None)
    context.traced_code.append(function.__code__)
    return tracing(context)


def test_a_label_has_the_function_and_its_parameters() -> None:
    def forward(self: Any, x: Any, *rest: Any, scale: Any = 1) -> None: ...
    def wide(a: Any, b: Any, c: Any, d: Any, e: Any) -> None: ...

    with traced(forward):
        line = forward.__code__.co_firstlineno
        assert labels.frame_label(" (backward)") == f"test_pieces.py:{line} forward(x, scale, *rest) (backward)"
    with traced(wide):
        assert labels.frame_label().endswith(" wide(a, b, c, d, ...)")
    with traced(torch.nn.Linear.forward):
        assert labels.frame_label().endswith(" test_a_label_has_the_function_and_its_parameters")
    assert labels.frame_label(" (backward)") == ""


class Net(torch.nn.Module):
    def forward(s, x: Any) -> Any:  # noqa: N805
        return x + 1


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 doesn't know the class")
def test_a_label_has_the_class_of_a_method() -> None:
    with traced(Net.forward):
        assert labels.frame_label().endswith(" Net.forward(x)")


def test_a_module_of_pytorchs_own_is_called_by_its_class() -> None:
    module = torch.nn.Sequential()
    module.forward = labels.frame_label
    with traced(torch.nn.Sequential.forward):
        told = module()
        assert told.startswith("test_pieces.py:")
        assert told.endswith(" Sequential")
        # The call is over when its backward is compiled.
        assert labels.frame_label(" (backward)") == told + " (backward)"


def test_parameters_are_named_behind_other_inputs() -> None:
    class Source:
        def __init__(self, name: str) -> None:
            self.name = name

    class Config:
        aot_autograd_arg_pos_to_source = (
            Source("L['fn']._modules['2']._parameters['weight']"),
            Source("L['args'][0]"),
            None,
        )

    arguments = labels.Arguments()
    for function, weight in ((torch.nn.Linear.forward, "self.2.weight"), (Net.forward, "fn.2.weight")):
        with traced(function):
            arguments.begin(Config())
            assert list(arguments.named([0, 0, 0], "inputs").items()) == [
                ("inputs[1]", "args[0]"),
                ("inputs[0]", weight),
            ]
            assert arguments.named([0], "inputs") == {}


def test_the_rest_behind_a_graph_break() -> None:
    def function(x: Any) -> None: ...

    function.__code__ = function.__code__.replace(co_name="torch_dynamo_resume_in_forward_at_92")
    with traced(function):
        assert labels.frame_label() == "test_pieces.py:92 forward, from a graph break on"


def test_names_never_break_a_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    def moved(*_: Any) -> Any:
        raise AttributeError("another PyTorch")

    monkeypatch.setattr(labels, "traced_code", moved)
    monkeypatch.setattr(labels, "_sources", moved)
    assert labels.frame_label(" (backward)") == ""
    assert labels.hint_sources([1]) == {}


# ---- explain ----


def test_tensors_are_written_as_in_pytorchs_logs() -> None:
    from torch._inductor.codecache import extract_tensor_metadata_for_cache_key as facts

    for tensor, expected in (
        (torch.ones(4, 24), "f32[4, 24][24, 1]cpu"),
        (torch.ones(3, dtype=torch.int64), "i64[3][1]cpu"),
        (torch.ones(()), "f32[][]cpu"),
        (torch.ones(4, 2, requires_grad=True).t(), "f32[2, 4][1, 2]cpu memory_format=None requires_grad=True"),
    ):
        assert entries.short_tensor(str(facts(tensor))) == expected
    assert entries.short_tensor("3") == "3"


def advice(cache: guardcache.Cache, **changed: str) -> str:
    """What is said of a key that differs from a stored one in these component lines."""

    def described(key: str, values: dict[str, str]) -> guardcache.Graph:
        lines = [f"[{zlib.crc32(text.encode()):x}] {name}: {text}" for name, text in values.items()]
        return entries.description("fx", key, entries.components(lines))

    known = {
        "gm": "torch.ops.aten.mul.Tensor(x)",
        "example_inputs[0]": "f32[8][1]cpu",
        "cache_key_tag": "",
        "torch_version": "one",
        "fx_kwargs[cudagraphs]": "False",
        "inductor_config[max_fusion_size]": "64",
    }
    cache.insert(described("stored", known), b"x")
    return cache.explain(described("asked", known | changed))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"example_inputs[0]": "f32[9][1]cpu"}, "torch._dynamo.mark_dynamic"),
        ({"cache_key_tag": "two"}, "torch.compiler.config.cache_key_tag"),
        ({"torch_version": "two"}, "a new PyTorch"),
        ({"inductor_config[max_fusion_size]": "3"}, "torch._inductor.config.max_fusion_size was 64"),
        ({"fx_kwargs[cudagraphs]": "True"}, "the same mode and options"),
    ],
)
def test_advice_for_pytorchs_own_key(tmp_path: Path, changed: dict[str, str], expected: str) -> None:
    with guardcache.open(tmp_path) as cache:
        told = " ".join(advice(cache, **changed).split())
        assert expected in told
        # Another graph is another graph, whatever else differs; but a new PyTorch makes new ones.
        other = advice(cache, gm="torch.ops.aten.add.Tensor(x)", **changed)
        assert ("advice" in other) == ("torch_version" in changed)


def test_where_joining_guards_changes_them() -> None:
    text = "L['t0'] == L['t1'] or L['t1'] == L['t2'] and L['t0'] <= 5"
    assert explain.split_conjunction(text) == ["L['t0'] == L['t1'] or L['t1'] == L['t2']", "L['t0'] <= 5"]
    assert explain.joining_changed(text, {"t0": 7, "t1": 7, "t2": 1})
    assert not explain.joining_changed(text, {"t0": 5, "t1": 5, "t2": 1})
    assert not explain.joining_changed("(L['t0'] == 1 or L['t0'] == 2) and L['t0'] <= 5", {"t0": 7})


# ---- installing ----


def test_install_and_uninstall_leave_nothing_behind(tmp_path: Path) -> None:
    def state() -> list[Any]:
        owners = (codecache.GuardedCache, FxGraphCache, codecache.PyCodeCache, codecache.CppCodeCache, PersistentCache)
        return [dict(vars(owner)) for owner in (*owners, LocalAutotuneCache, AOTAutogradCache, AOTAutogradCachePickler)]

    before = state()
    for _ in range(2):
        guardcache.torch.install(tmp_path / "cache")
        assert state() != before
    guardcache.torch.uninstall()
    guardcache.torch.uninstall()
    assert state() == before


def test_installing_from_many_threads(tmp_path: Path) -> None:
    before = dict(vars(FxGraphCache))

    def work() -> None:
        for _ in range(10):
            guardcache.torch.install(tmp_path / "cache")
            guardcache.torch.uninstall()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not guardcache.torch.is_installed()
    assert dict(vars(FxGraphCache)) == before


def test_a_wrong_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="canonical"):
        guardcache.torch.install(tmp_path / "cache", key="short")


# ---- lookups without a compile ----


def store(guards: str | None, key: str = "f" + "b" * 51) -> None:
    FxGraphCache._write_to_local_cache(key, pickle.dumps(Stored(guards)))


def find(hints: list[Any], evaluate: Any = None, key: str = "f" + "b" * 51) -> tuple[Any, Any, Any]:
    test = evaluate or ShapeEnv().evaluate_guards_expression
    return FxGraphCache.find_guarded_entry(key, True, None, test, hints)


@pytest.mark.usefixtures("installed")
def test_one_unpickle_a_hit(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        store(f"L['t0'] == {number}")
    loaded = []
    original = pickle.loads

    def loads(content: Any, *arguments: Any, **named: Any) -> Any:
        loaded.append(len(content))
        return original(content, *arguments, **named)

    monkeypatch.setattr(pickle, "loads", loads)
    graph, content, info = find([13])
    assert graph.guards_expr == "L['t0'] == 13"
    assert original(content) == graph
    assert info["cache_status_detailed"] == "hit"
    assert loaded == [len(content)]
    graph, content, info = find([99])
    assert (graph, content, info["cache_status_detailed"]) == (None, None, "guard_miss")
    assert len(loaded) == 1
    assert find([1], key="f" + "c" * 51)[2]["cache_status_detailed"] == "full_miss"


@pytest.mark.usefixtures("installed")
def test_a_guard_text_that_must_be_equal() -> None:
    store("L['t0'] == 1")
    store("L['t0'] == 2")
    store("L['t0'] == 2 and L['t1'] == 3")
    asked = []

    def exactly(text: str, hints: list[Any]) -> bool:
        asked.append((text, hints))
        return text == "L['t0'] == 2"

    graph, _, _ = find([7], exactly)
    assert graph.guards_expr == "L['t0'] == 2"
    assert all(hints == [7] for _, hints in asked)
    assert find([7], lambda text, hints: False)[0] is None
    assert find([7], lambda text, hints: True)[0] is not None


@pytest.mark.usefixtures("installed")
def test_an_entry_without_guards_always_holds() -> None:
    store(None)
    assert find([5])[0] is not None
    assert find([])[0] is not None
    assert find([5], lambda text, hints: pytest.fail("there is no guard to ask about"))[0] is not None


@pytest.mark.usefixtures("installed")
def test_the_meaning_of_a_joined_text_is_pytorchs() -> None:
    text = "L['t0'] == L['t1'] or L['t1'] == L['t2'] and L['t0'] <= 5"
    store(text)
    for hints in ([7, 7, 1], [7, 1, 1], [5, 1, 1], [5, 5, 5], [6, 1, 1]):
        expected = eval(text, {"L": dict(zip(("t0", "t1", "t2"), hints, strict=True))})
        assert (find(hints)[0] is not None) == expected, hints


@pytest.mark.usefixtures("installed")
def test_a_guard_that_raises_is_a_miss() -> None:
    store("L['t0'] % L['t1'] == 0")
    assert find([4, 0])[0] is None
    assert find([4])[0] is None
    assert find([4, 2])[0] is not None


def test_an_entry_that_cannot_be_unpickled_is_a_miss(installed: Path, caplog: pytest.LogCaptureFixture) -> None:
    content = pickle.dumps(Stored("L['t0'] == 1")).replace(b"Stored", b"Gone__")
    FxGraphCache._write_to_local_cache("f" + "b" * 51, content)
    with caplog.at_level(logging.WARNING, logger="guardcache.torch"):
        assert find([1])[0] is None
    assert "can't be loaded" in caplog.text


# ---- tuning tables ----


class Choice:
    def __init__(self, name: str) -> None:
        self.name = name

    def hash_key(self) -> str:
        return self.name


@pytest.mark.usefixtures("installed")
def test_timings_hit_if_all_choices_are_known() -> None:
    choices = [Choice("a"), Choice("b")]
    runs: list[int] = []

    def benchmark(asked: list[Choice]) -> dict[Choice, float]:
        runs.append(len(asked))
        return {choice: float(len(runs)) for choice in asked}

    table = PersistentCache()
    assert table.lookup(choices, "mm", "x", None) == {}  # type: ignore[arg-type]
    assert list(table.lookup(choices, "mm", "x", benchmark).values()) == [1.0, 1.0]  # type: ignore[arg-type]
    assert list(table.lookup(choices, "mm", "x", benchmark).values()) == [1.0, 1.0]  # type: ignore[arg-type]
    more = [*choices, Choice("c")]
    assert list(table.lookup(more, "mm", "x", benchmark).values()) == [2.0] * 3  # type: ignore[arg-type]
    assert list(table.lookup(choices, "mm", "x", None).values()) == [2.0, 2.0]  # type: ignore[arg-type]
    assert table.lookup(choices, "mm", "y", None) == {}  # type: ignore[arg-type]
    assert table.lookup(choices, "mm", "x", None, hint_override=4) == {}  # type: ignore[arg-type]
    assert runs == [2, 3]


def test_no_concurrent_timing_is_lost(installed: Path) -> None:
    """PyTorch's own table kept 97 and 162 of these 400."""
    script = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import guardcache.torch, torch
from torch._inductor.codecache import PersistentCache
from test_pieces import Choice

# Importing PyTorch takes longer than everything else here: once is enough.
me = next((n for n in range(7) if os.fork() == 0), 7)
guardcache.torch.install({str(installed)!r})
table = PersistentCache()
for i in range(50):
    table.lookup([Choice("only")], "mm", f"{{me}}-{{i}}", lambda choices: {{c: 1.5 for c in choices}})
if me < 7:
    os._exit(0)
while True:
    try:
        assert os.wait()[1] == 0
    except ChildProcessError:
        break
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=600)
    table = PersistentCache()
    found = [table.lookup([Choice("only")], "mm", f"{n}-{i}", None) for n in range(8) for i in range(50)]  # type: ignore[list-item]
    assert sum(bool(timings) for timings in found) == 400


@pytest.mark.usefixtures("installed")
def test_values_by_path() -> None:
    values = codecache.LocalCache()
    assert values.lookup("a", "b") is None
    values.set_value("a", "b", value={"pad": True})
    assert values.lookup("a", "b") == {"pad": True}
    assert values.lookup("a") is None


@pytest.mark.usefixtures("installed")
def test_best_configurations() -> None:
    def config(**options: Any) -> Any:
        return SimpleNamespace(kwargs=options, num_warps=4, num_stages=1)

    offered = [config(XBLOCK=32), config(XBLOCK=64)]
    meta: dict[str, object] = {"autotune_local_cache": True}
    handle = AutotuneCache.create(meta, "/somewhere/aa/kernel.py", "configs")
    assert handle is not None
    assert handle.read_best(meta, offered) is None  # type: ignore[arg-type]
    handle.save(offered[1], 5_000_000)  # type: ignore[arg-type]
    # The handle goes to a worker process, and the directory may be another machine's.
    elsewhere = AutotuneCache.create(meta, "/elsewhere/aa/kernel.py", "configs")
    for reader in (pickle.loads(pickle.dumps(handle)), elsewhere):
        assert reader.read_best(meta, offered).kwargs == {"XBLOCK": 64}
    stale = AutotuneCache.create(meta, "/somewhere/aa/kernel.py", "other configs")
    assert stale is not None
    assert stale.read_best(meta, offered) is None  # type: ignore[arg-type]


@pytest.mark.usefixtures("installed")
def test_another_pytorch_has_other_best_configurations(monkeypatch: pytest.MonkeyPatch) -> None:
    """The 26th of the behaviours in docs/pytorch.md."""
    offered = [SimpleNamespace(kwargs={"XBLOCK": size}, num_warps=4, num_stages=1) for size in (32, 64)]
    meta: dict[str, object] = {"autotune_local_cache": True}

    def handle() -> Any:
        return AutotuneCache.create(meta, "/somewhere/aa/kernel.py", "configs")

    handle().save(offered[1], 5_000_000)
    assert handle().read_best(meta, offered) is not None
    monkeypatch.setattr(codecache, "torch_key", lambda: b"another version's")
    assert handle().read_best(meta, offered) is None
