"""One process of a live test: a way in which people compile, other than a model on one thread.

python cases.py threads guardcache      prints a line of JSON: the numbers' digest, and what was looked up
python cases.py threads                 the same without guardcache
"""

from __future__ import annotations

import functools
import gc
import hashlib
import json
import multiprocessing
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch._inductor import codecache, compile_fx
from torch._inductor.output_code import CompiledFxGraphConstantsWithGm
from torch.fx.experimental.symbolic_shapes import ShapeEnv

Tensors = list[torch.Tensor]


def numbers(*shape: int) -> torch.Tensor:
    return torch.linspace(-1, 1, steps=torch.Size(shape).numel()).reshape(shape)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.linear(self.norm(x)).relu()


def blocks(count: int) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(*(Block() for _ in range(count)))


# ---- the cases ----


def regional() -> Tensors:
    """Each block of a model is compiled, not the model."""
    model = blocks(4)
    for block in model:
        block.compile()
    output = model(numbers(3, 8))
    output.sum().backward()
    return [output, *(p.grad for p in model.parameters() if p.grad is not None)]


def nested() -> Tensors:
    """A region that is traced once within the graph."""
    region = torch.compiler.nested_compile_region(lambda x: (x * 2).sin())
    return [torch.compile(lambda x: region(region(x)) + 1)(numbers(4))]


FOUR = (lambda x: (x * 2).tanh(), lambda x: (x + 3).sin(), lambda x: x.exp() - 4, lambda x: (x * x).cos())


def _one_of_four(number: int) -> torch.Tensor:
    return torch.compile(FOUR[number])(numbers(5))


def threads() -> Tensors:
    """Four at once."""
    found: dict[int, torch.Tensor] = {}

    def work(number: int) -> None:
        found[number] = _one_of_four(number)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return [found[i] for i in range(4)]


def _in_worker(adapter: bool, number: int) -> tuple[list[float], list[str]]:
    module = install() if adapter else None
    result = _one_of_four(number).tolist()
    return result, [] if module is None else [lookup.outcome for lookup in module.lookups()]


def _workers(how: str) -> Callable[[], Tensors]:
    def case() -> Tensors:
        """In worker processes; before a fork the parent has compiled something itself."""
        adapter = "guardcache.torch" in sys.modules
        parent = _one_of_four(0) if how == "fork" else None
        with multiprocessing.get_context(how).Pool(2) as pool:
            told = pool.map(functools.partial(_in_worker, adapter), range(4), chunksize=2)
        outcomes.extend(outcome for _, found in told for outcome in found)
        return [torch.tensor(result) for result, _ in told] + ([] if parent is None else [parent])

    return case


def _optimizer(make: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]) -> Callable[[], Tensors]:
    def case() -> Tensors:
        """A step of an optimizer, compiled by itself."""
        model = blocks(1)
        optimizer = make(model.parameters())
        step = torch.compile(optimizer.step)
        for _ in range(3):
            optimizer.zero_grad()
            model(numbers(3, 8)).sum().backward()
            step()
        return [p.detach() for p in model.parameters()]

    return case


def cond() -> Tensors:
    """A higher-order operator that PyTorch doesn't cache."""
    return [torch.compile(lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)))(numbers(5))]


def aoti() -> Tensors:
    """Exported ahead of time: nothing of it is in PyTorch's caches."""
    model = blocks(1).eval()
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        exported = torch.export.export(model, (numbers(3, 8),))
        package = torch._inductor.aoti_compile_and_package(exported, package_path=os.path.join(folder, "model.pt2"))
        return [torch._inductor.aoti_load_package(package)(numbers(3, 8))]


def standalone() -> Tensors:
    """As vLLM compiles: a backend of its own hands Dynamo's graph to Inductor, and keeps the artifact itself."""
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "artifact")

        def backend(graph: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
            made = torch._inductor.standalone_compile(graph, inputs, dynamic_shapes="from_tracing_context")
            made.save(path=path, format="unpacked")
            return torch._inductor.CompiledArtifact.load(path=path, format="unpacked")

        return [torch.compile(blocks(1), backend=backend, fullgraph=True)(numbers(3, 8))]


class _AlwaysHolds(ShapeEnv):
    """The caller has seen to it that what it asks for serves it."""

    def evaluate_guards_expression(self, *_: Any) -> bool:
        return True


def _compiled_by_key(graph: torch.fx.GraphModule, inputs: list[Any], handle: Path) -> Callable[..., Any]:
    """Inductor alone, without AOTAutograd's cache; the key under which it stores is kept by the caller."""
    keys: list[str] = []
    own_hash = codecache.compiled_fx_graph_hash

    def compiled_fx_graph_hash(*arguments: Any) -> tuple[str, list[str]]:
        key, lines = own_hash(*arguments)
        keys.append(key)
        return key, lines

    with (
        mock.patch.object(codecache, "compiled_fx_graph_hash", compiled_fx_graph_hash),
        mock.patch.object(codecache.FxGraphCache, "_check_can_cache", return_value=None),
        torch._functorch.config.patch(enable_autograd_cache=False),
    ):
        made = compile_fx.compile_fx(graph, inputs, inner_compile=compile_fx.compile_fx_inner)
    handle.write_text(keys[0])
    return made  # type: ignore[no-any-return]


def _found_by_key(graph: torch.fx.GraphModule, inputs: list[Any], handle: Path) -> Callable[..., Any]:
    constants = CompiledFxGraphConstantsWithGm(graph)
    found, _ = codecache.FxGraphCache._lookup_graph(handle.read_text(), inputs, True, None, constants)
    assert found is not None, "what was compiled isn't found"
    return lambda *arguments: found(list(arguments))


def by_key() -> Tensors:
    """As vLLM's InductorAdaptor compiles: a second process looks up by the key that the first one kept."""
    handle = Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]) / f"key-{'guardcache.torch' in sys.modules}"
    make = _found_by_key if handle.exists() else _compiled_by_key
    with torch.no_grad(), mock.patch.object(codecache.FxGraphCache, "_get_shape_env", return_value=_AlwaysHolds()):
        return [torch.compile(blocks(1), backend=lambda g, i: make(g, i, handle), fullgraph=True)(numbers(3, 8))]


def _rank(rank: int, world: int, place: str, adapter: bool, how: str) -> None:
    import torch.distributed as dist

    if how == "apart" and rank > 0:
        # A rank whose machine has an empty cache.
        os.environ["GUARDCACHE_DIR"] = f"{place}/empty{rank}"
    module = install() if adapter else None
    # From 2.15 on the ranks may decide together.
    from torch._functorch import config

    if hasattr(config, "_sync_cache_decision_cross_ranks"):
        config._sync_cache_decision_cross_ranks = True
    dist.init_process_group("gloo", init_method=f"file://{place}/rendezvous", rank=rank, world_size=world)
    output = _step(rank, world, how)
    told = [] if module is None else [f"{lookup.kind} {lookup.outcome} {lookup.reason}" for lookup in module.lookups()]
    with open(f"{place}/rank{rank}", "w") as file:
        json.dump([output.tolist(), told], file)
    # A reducer that outlives its group waits, with the interpreter's lock, for gloo's thread, which waits for the lock.
    torch._dynamo.reset()
    gc.collect()
    dist.destroy_process_group()


def _step(rank: int, world: int, how: str) -> torch.Tensor:
    """Forward and backward of one rank. The model and its reducer end with it."""
    model: nn.Module = blocks(2)
    if how != "fsdp":
        model = nn.parallel.DistributedDataParallel(model)
    else:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
    output = torch.compile(model)(numbers(3, 8) + rank)
    output.sum().backward()
    return output.detach()


def _distributed(how: str, world: int) -> Callable[[], Tensors]:
    def case() -> Tensors:
        """Ranks on this machine, which must all decide alike."""
        import torch.multiprocessing as mp

        adapter = "guardcache.torch" in sys.modules
        with tempfile.TemporaryDirectory() as place:
            mp.spawn(_rank, (world, place, adapter, how), nprocs=world)  # type: ignore[no-untyped-call]
            told = []
            for rank in range(world):
                with open(f"{place}/rank{rank}") as file:
                    told.append(json.load(file))
        per_rank.extend(found for _, found in told)
        return [torch.tensor(output) for output, _ in told]

    return case


CASES: dict[str, Callable[[], Tensors]] = {
    "regional": regional,
    "nested": nested,
    "threads": threads,
    "fork": _workers("fork"),
    "spawn": _workers("spawn"),
    "sgd": _optimizer(lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9)),
    "adamw": _optimizer(lambda parameters: torch.optim.AdamW(parameters, lr=torch.tensor(0.01))),
    "cond": cond,
    "aoti": aoti,
    "standalone": standalone,
    "by_key": by_key,
    "ddp": _distributed("ddp", 2),
    "fsdp": _distributed("fsdp", 2),
    "ddp4": _distributed("ddp", 4),
    "apart": _distributed("apart", 3),
}

outcomes: list[str] = []
"""Of lookups in worker processes."""

per_rank: list[list[str]] = []
"""Of lookups in the ranks of a job."""


def install() -> Any:
    import guardcache.torch

    if not guardcache.torch.is_installed():
        guardcache.torch.install()
    return guardcache.torch


def main() -> None:
    torch.set_num_threads(1)
    module = install() if "guardcache" in sys.argv[2:] else None
    hasher = hashlib.sha256()
    for tensor in CASES[sys.argv[1]]():
        hasher.update(tensor.detach().contiguous().numpy().tobytes())
    report: dict[str, Any] = {"digest": hasher.hexdigest(), "outcomes": outcomes, "ranks": per_rank}
    if module is not None:
        told = module.statistics()
        outcomes.extend(lookup.outcome for lookup in module.lookups())
        report |= {"passed_by": told.passed_by, "bypasses": told.bypasses, "explanation": module.explain()}
    else:
        counters = torch._dynamo.utils.counters
        report["theirs"] = {
            "hits": counters["inductor"]["fxgraph_cache_hit"] + counters["aot_autograd"]["autograd_cache_hit"],
            "misses": counters["inductor"]["fxgraph_cache_miss"] + counters["aot_autograd"]["autograd_cache_miss"],
        }
    print("\n" + json.dumps(report))


if __name__ == "__main__":
    main()
