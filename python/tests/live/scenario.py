"""One process of a live test: compiles models, runs them, and prints what happened as a line of JSON, by model.

python scenario.py '{"model": "mlp", "batches": [4, 8], "backward": true}'
python scenario.py '{"models": ["mlp", "gpt2"], "batches": [4]}'
"""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import models
import torch
from torch._dynamo.utils import counters
from torch._inductor.codecache import PyCodeCache

Step = tuple[torch.Tensor, list[torch.Tensor]]


def watch_subprocesses() -> list[str]:
    """The programs that are started from now on."""
    started: list[str] = []
    original = subprocess.Popen.__init__

    def init(self: Any, args: Any, *arguments: Any, **named: Any) -> None:
        started.append(args if isinstance(args, str) else str(args[0]))
        original(self, args, *arguments, **named)

    subprocess.Popen.__init__ = init  # type: ignore[method-assign]
    return started


def step(
    module: torch.nn.Module, run: Callable[..., torch.Tensor], inputs: tuple[torch.Tensor, ...], back: bool
) -> Step:
    module.zero_grad()
    if not back:
        with torch.no_grad():
            return run(*inputs), []
    output = run(*inputs)
    output.float().pow(2).mean().backward()
    return output.detach(), [p.grad.clone() for p in module.parameters() if p.grad is not None]


def digest(result: Step) -> str:
    hasher = hashlib.sha256()
    for tensor in (result[0], *result[1]):
        hasher.update(tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return hasher.hexdigest()


def close(a: Step, b: Step) -> bool:
    pairs = zip((a[0], *a[1]), (b[0], *b[1]), strict=True)
    return all(torch.allclose(x, y, atol=1e-4, rtol=1e-3) for x, y in pairs)


def counts() -> dict[str, int]:
    inductor = {name: n for name, n in counters["inductor"].items() if name.startswith("fxgraph")}
    return {
        **inductor,
        **{name: n for name, n in counters["aot_autograd"].items() if name.startswith("autograd_cache")},
    }


def cpu_seconds() -> float:
    """Of this process, and of the compilers it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def run_batch(wanted: dict[str, Any], model: str, batch: int, started: list[str]) -> dict[str, Any]:
    torch._dynamo.reset()
    PyCodeCache.cache_clear()
    counters.clear()
    module, make_inputs = models.make(model)
    inputs = make_inputs(batch)
    back = wanted.get("backward", False) and model not in models.INFERENCE
    programs = len(started)
    began, cpu_began = time.perf_counter(), cpu_seconds()
    compiled = torch.compile(module, dynamic=wanted.get("dynamic"))
    result = step(module, compiled, inputs, back)
    took, cpu_took = time.perf_counter() - began, cpu_seconds() - cpu_began
    return {
        "batch": batch,
        "seconds": took,
        "cpu_seconds": cpu_took,
        "right": close(result, step(module, module, inputs, back)),
        "digest": digest(result),
        "counters": counts(),
        "programs": started[programs:],
    }


def install(wanted: dict[str, Any]) -> Any:
    if wanted.get("adapter", True) is False:
        return None
    import guardcache.torch

    if not guardcache.torch.is_installed():
        guardcache.torch.install(key=wanted.get("key", "pytorch"), precompile=wanted.get("precompile", False))
    return guardcache.torch


def run_model(wanted: dict[str, Any], model: str, started: list[str], adapter: Any) -> dict[str, Any]:
    before = None if adapter is None else (adapter.statistics(), len(adapter.lookups()))
    report: dict[str, Any] = {"batches": [run_batch(wanted, model, batch, started) for batch in wanted["batches"]]}
    if before is not None:
        then, looked_up = before
        now, lookups = adapter.statistics(), adapter.lookups()[looked_up:]
        for name in ("hits", "unpickled", "stored", "duplicates"):
            report[name] = getattr(now, name) - getattr(then, name)
        report["misses"] = Counter(lookup.reason for lookup in lookups if lookup.outcome == "miss")
        report["bypasses"] = Counter(lookup.reason for lookup in lookups if lookup.outcome == "bypass")
        report["explanation"] = adapter.explain(last=3)
        report["hits_by_tier"] = now.hits_by_tier
        report["local_reasons"] = Counter(lookup.local_reason for lookup in lookups if lookup.local_reason)
        report["tiers"] = {tier.name: tier.counts for tier in now.tiers}
        report["labels"] = sorted({lookup.label for lookup in lookups})
    return report


def main() -> None:
    wanted = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    for name, value in wanted.get("config", {}).items():
        setattr(torch._inductor.config, name, value)
    adapter = install(wanted)
    started = watch_subprocesses()
    names = wanted["models"] if "models" in wanted else [wanted["model"]]
    found = {name: run_model(wanted, name, started, adapter) for name in names}
    if torch._dynamo.config.caching_precompile:
        # Else PyTorch doesn't keep what it made.
        torch.compiler.save_cache_artifacts()
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main()
