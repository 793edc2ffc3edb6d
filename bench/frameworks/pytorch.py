"""PyTorch's own caches and guardcache's adapter on the same graphs, in one run.

    build/venv/bin/python bench/frameworks/pytorch.py [--quick] [--models mlp gpt2]
                                                      [--rows lookup|key|insert|start|frames|hook]

Each row has both medians and their ratio; only the ratio means anything on another machine. Times are of the processor,
children's included: neither side waits for a disk, and what else a machine does doesn't count. Lookups include
unpickling the winner, since PyTorch wants an object; keys are what Inductor computes before it looks up; a warm start
is the first call of a compiled model in a fresh process, forward and backward.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import math
import os
import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import guardcache.torch
import torch
from torch._inductor import codecache
from torch._inductor.codecache import FxGraphCache
from torch._inductor.runtime.cache_dir_utils import cache_dir
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv

# Of one side before the other has its turn.
INSERTS_PER_TURN = 25
KEYS_PER_TURN = 5

LIVE_TESTS = Path(__file__).parents[2] / "python" / "tests" / "live"

Row = tuple[str, float, float]


def median_us(action: Callable[[], object], seconds: float) -> float:
    """The median time of an action, repeated for about so many seconds, at least five times."""
    action()
    samples: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(samples) < 5:
        began = time.process_time_ns()
        action()
        samples.append((time.process_time_ns() - began) / 1000)
    return statistics.median(samples)


@contextlib.contextmanager
def adapter(key: str = "pytorch", compression: int | None = None) -> Iterator[None]:
    """Installed with its own settings, or with this level of compression."""
    if compression is not None:
        os.environ["GUARDCACHE_COMPRESSION_LEVEL"] = str(compression)
    guardcache.torch.install(os.path.join(cache_dir(), "guardcache"), key=key)
    os.environ.pop("GUARDCACHE_COMPRESSION_LEVEL", None)
    try:
        yield
    finally:
        guardcache.torch.uninstall()


def side_by_side(name: str, action: Callable[[], object], seconds: float) -> Row:
    theirs = median_us(action, seconds)
    with adapter():
        return name, theirs, median_us(action, seconds)


Side = Callable[[], contextlib.AbstractContextManager[None]]


def by_turns(
    action: Callable[[], object], sides: dict[str, Side], seconds: float, per_turn: int
) -> dict[str, float]:
    """Each side's median time of an action: what else the machine does meanwhile meets all sides alike."""
    samples: dict[str, list[float]] = {name: [] for name in sides}
    end = time.perf_counter() + len(sides) * seconds
    while time.perf_counter() < end or not all(samples.values()):
        for name, side in sides.items():
            with side():
                action()
                for _ in range(per_turn):
                    began = time.process_time_ns()
                    action()
                    samples[name].append((time.process_time_ns() - began) / 1000)
    return {name: statistics.median(found) for name, found in samples.items()}


# ---- a real entry, and as many variants of it as are wanted ----


Saver = Callable[[str], None]


def real_entry() -> tuple[Any, Saver]:
    """What Inductor saves for a small transformer-like layer, and a function that saves it once more under a key."""
    saved: list[Any] = []
    savers: list[Saver] = []
    original = FxGraphCache._save_graph

    def save(key: str, graph: Any, *arguments: Any) -> None:
        original(key, graph, *arguments)
        saved.append(graph)
        context = torch._guards.TracingContext.get()

        def save_again(key: str) -> None:
            with torch._guards.tracing(context):
                FxGraphCache._save_graph(key, graph, *arguments)

        savers.append(save_again)

    FxGraphCache._save_graph = staticmethod(save)  # type: ignore[assignment, method-assign]
    layer = torch.nn.Sequential(
        torch.nn.LayerNorm(64),
        torch.nn.Linear(64, 128),
        torch.nn.GELU(),
        torch.nn.Linear(128, 64),
    )
    try:
        with torch.no_grad():
            torch.compile(layer, dynamic=True)(torch.randn(6, 64))
    finally:
        FxGraphCache._save_graph = staticmethod(original)  # type: ignore[method-assign]
    entry = copy.copy(saved[-1])
    entry.prepare_for_serialization()
    return entry, savers[-1]


def guard(number: int) -> str:
    """Of the usual length: four conjuncts, one of them true for this number alone."""
    return f"L['t0'] % 2 == 0 and L['t0']*L['t1'] <= 2147483647 and L['t0'] == {2 * number + 2} and 2 <= L['t1']"


def fill(entry: Any, key: str, count: int) -> None:
    for number in range(count):
        variant = copy.copy(entry)
        variant.guards_expr = guard(number)
        FxGraphCache._write_to_local_cache(key, pickle.dumps(variant))


def hint_of(place: str, key: str, count: int) -> int:
    """The hint for which the candidate at that place of PyTorch's walk holds (it goes by file name); 1 for none."""
    if place == "none":
        return 1
    folder = FxGraphCache._get_tmp_dir_for_key(key)
    names = sorted(os.listdir(folder))
    with open(os.path.join(folder, names[0 if place == "first" else -1]), "rb") as file:
        text = pickle.load(file).guards_expr
    return next(2 * n + 2 for n in range(count) if guard(n) == text)


def lookup_rows(entry: Any, seconds: float) -> Iterator[Row]:
    env = ShapeEnv()
    content = pickle.dumps(entry)
    unpickling = median_us(lambda: pickle.loads(content), seconds)
    yield "the winner unpickled, nothing else", unpickling, unpickling
    for count in (1, 10, 100, 1000):
        key = f"f{count:051d}"
        fill(entry, key, count)
        with adapter():
            fill(entry, key, count)
        for place in ("first", "last", "none"):
            hints = [hint_of(place, key, count), 64]

            def look_up(key: str = key, hints: list[int] = hints) -> None:
                FxGraphCache.find_guarded_entry(
                    key, True, None, env.evaluate_guards_expression, hints
                )

            yield side_by_side(
                f"lookup, {count:4} candidates, {place}", look_up, seconds
            )


def insert_rows(saver: Saver, seconds: float) -> Iterator[Row]:
    """Saving a compiled graph under a new key, pickling it included. Neither side waits until the disk has it."""
    numbers = iter(range(1_000_000))
    sides = {
        "PyTorch": contextlib.nullcontext,
        "raw": adapter,
        "compressed": lambda: adapter(compression=1),
    }
    medians = by_turns(
        lambda: saver(f"f{next(numbers):050d}i"), sides, seconds, INSERTS_PER_TURN
    )
    yield "insert", medians["PyTorch"], medians["raw"]
    yield "insert, compressed at level 1", medians["PyTorch"], medians["compressed"]


# ---- keys ----


def graph_of(nodes: int) -> tuple[Any, list[Any], FakeTensorMode]:
    """An FX graph of about so many nodes, a sixth of them inputs, over symbolic shapes."""
    mode = FakeTensorMode(shape_env=ShapeEnv())
    weights = [torch.randn(32, 32) for _ in range(max(1, nodes // 6))]

    def body(x: torch.Tensor, *parameters: torch.Tensor) -> tuple[torch.Tensor]:
        for weight in parameters:
            x = torch.relu(x @ weight) + x
            x = x * 2
        return (x,)

    traced = make_fx(body, tracing_mode="symbolic")(torch.randn(5, 32), *weights)
    gm = torch.fx.GraphModule(torch.nn.Module(), traced.graph)
    inputs = [node.meta["val"] for node in gm.graph.find_nodes(op="placeholder")]
    return gm, inputs, mode


def key_rows(seconds: float) -> Iterator[Row]:
    options: dict[str, Any] = {
        "cudagraphs": False,
        "static_input_idxs": [],
        "is_inference": True,
        "graph_id": 1,
    }
    for nodes in (8, 300, 3000):
        gm, inputs, mode = graph_of(nodes)
        with torch._guards.tracing(torch._guards.TracingContext(mode)):

            def compute(gm: Any = gm, inputs: list[Any] = inputs) -> None:
                codecache.compiled_fx_graph_hash(gm, inputs, options, [])  # type: ignore[arg-type]

            sides = {
                "PyTorch": contextlib.nullcontext,
                "canonical": lambda: adapter(key="canonical"),
            }
            medians = by_turns(compute, sides, seconds, KEYS_PER_TURN)
        yield (
            f"key, {len(gm.graph.nodes)} nodes, canonical",
            medians["PyTorch"],
            medians["canonical"],
        )


# ---- whole processes ----


def cpu_seconds(scenario: dict[str, Any], model: str, **variables: str) -> float:
    """Of compiling a model and its first call, in a fresh process."""
    environment = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1", **variables}
    command = [
        sys.executable,
        str(LIVE_TESTS / "scenario.py"),
        json.dumps({**scenario, "batches": [4]}),
    ]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"{model}: exit status {done.returncode}\n{done.stderr[-2000:]}"
        )
    seconds: float = json.loads(done.stdout.rstrip().rpartition("\n")[2])[model][
        "batches"
    ][0]["cpu_seconds"]
    return seconds


def first_call(inductor: Path, cache: Path, ours: bool, model: str) -> float:
    scenario = {"model": model, "backward": True, "adapter": ours}
    return cpu_seconds(
        scenario,
        model,
        TORCHINDUCTOR_CACHE_DIR=str(inductor),
        GUARDCACHE_DIR=str(cache),
    )


def remove_shared_objects(folder: Path) -> None:
    """What another machine with a copy of PyTorch's entries hasn't."""
    for path in folder.rglob("*.so"):
        path.unlink()


def start_rows(model: str, repeat: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        here = {ours: root / f"inductor-{ours}" for ours in (False, True)}
        cold = [
            first_call(here[ours], root / "cache", ours, model) * 1e6
            for ours in (False, True)
        ]
        yield f"{model}: cold start", cold[0], cold[1]
        warm = [
            statistics.median(
                first_call(here[ours], root / "cache", ours, model)
                for _ in range(repeat)
            )
            * 1e6
            for ours in (False, True)
        ]
        yield f"{model}: warm start", warm[0], warm[1]
        remove_shared_objects(here[False])
        theirs = first_call(here[False], root / "cache", False, model) * 1e6
        ours = statistics.median(
            first_call(root / f"empty{i}", root / "cache", True, model) * 1e6
            for i in range(repeat)
        )
        yield f"{model}: warm start on another machine", theirs, ours


# ---- Dynamo's frames ----

# Runs first, so that what a process does once isn't counted with the model.
FIRST = "pooling"


def model_seconds(root: Path, model: str, way: str) -> float:
    """Beyond imports; each way has directories of its own."""
    scenario = {
        "models": [FIRST, model],
        "adapter": way in ("graphs", "frames"),
        "precompile": way == "frames",
    }
    return cpu_seconds(
        scenario,
        model,
        TORCHINDUCTOR_CACHE_DIR=str(root / way),
        GUARDCACHE_DIR=str(root / f"{way}-cache"),
        TORCH_CACHING_PRECOMPILE="1" if way == "precompile" else "0",
    )


def frame_rows(model: str, repeat: int) -> Iterator[Row]:
    """A second process with the AOT and graph caches, PyTorch's and guardcache's, and with what Dynamo made, of both."""
    medians = {}
    with tempfile.TemporaryDirectory() as folder:
        for way in ("own", "graphs", "precompile", "frames"):
            try:
                model_seconds(Path(folder), model, way)
                medians[way] = (
                    statistics.median(
                        model_seconds(Path(folder), model, way) for _ in range(repeat)
                    )
                    * 1e6
                )
            except RuntimeError as error:
                # PyTorch's own doesn't know each model; that guardcache's does is what the tests are for.
                medians[way] = math.nan
                print(
                    f"{model}, {way}: {str(error).rstrip().rpartition(chr(10))[2]}",
                    file=sys.stderr,
                )
    yield f"{model}: second process, AOT and graphs", medians["own"], medians["graphs"]
    yield (
        f"{model}: second process, precompiled",
        medians["precompile"],
        medians["frames"],
    )
    yield (
        f"{model}: second process, AOT beside precompiled",
        medians["graphs"],
        medians["frames"],
    )


# ---- a process without PyTorch ----

# What Python runs at each start where the package is installed.
HOOK = Path(guardcache.__file__).parents[1] / "guardcache-start.pth"


def hook_rows(pairs: int) -> Iterator[Row]:
    """A process that does nothing but what Python's `site` does, without the start hook and with it."""
    plain, hooked = "import os", HOOK.read_text()
    samples: dict[str, list[float]] = {plain: [], hooked: []}
    for _ in range(pairs):
        for script, found in samples.items():
            began = children_us()
            subprocess.run([sys.executable, "-S", "-c", script], check=True)
            found.append(children_us() - began)
    yield (
        "a process without PyTorch, the start hook",
        *(statistics.median(found) for found in samples.values()),
    )


def children_us() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e6


def show(row: Row) -> None:
    name, theirs, ours = row
    print(f"{name:44} {theirs:14,.0f} {ours:14,.0f} {theirs / ours:9.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--quick", action="store_true", help="fewer repetitions, and no whole processes"
    )
    parser.add_argument(
        "--rows",
        choices=("lookup", "key", "insert", "start", "frames", "hook"),
        help="these alone",
    )
    parser.add_argument(
        "--models", nargs="+", default=["mlp", "gpt2"], help="what is started"
    )
    parser.add_argument(
        "--repeat", type=int, default=3, help="how often each warm process is started"
    )
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"{'microseconds, medians':44} {'PyTorch':>14} {'guardcache':>14} {'ratio':>9}"
    )
    for row in rows(arguments.rows, 0.3 if arguments.quick else 2.0):
        show(row)
    if not arguments.quick and arguments.rows in (None, "start"):
        for model in arguments.models:
            for row in start_rows(model, arguments.repeat):
                show(row)
    if not arguments.quick and arguments.rows in (None, "frames"):
        for model in arguments.models:
            for row in frame_rows(model, arguments.repeat):
                show(row)
    if arguments.rows in (None, "hook"):
        for row in hook_rows(20 if arguments.quick else 200):
            show(row)


def rows(wanted: str | None, seconds: float) -> Iterator[Row]:
    """Those within one process."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        if wanted in (None, "lookup", "insert"):
            entry, saver = real_entry()
        if wanted in (None, "lookup"):
            yield from lookup_rows(entry, seconds)
        if wanted in (None, "key"):
            yield from key_rows(seconds)
        if wanted in (None, "insert"):
            yield from insert_rows(saver, seconds)


if __name__ == "__main__":
    main()
