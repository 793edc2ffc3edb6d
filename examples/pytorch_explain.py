"""What guardcache tells a user of torch.compile: a cold start, a warm one, a miss by guards, and a miss by key.

    pip install ./python torch
    python examples/pytorch_explain.py

Nothing is kept: the cache is in a temporary directory.
"""

from __future__ import annotations

import os
import tempfile
import time

import guardcache.torch
import torch


def thumbnail(x: torch.Tensor) -> torch.Tensor:
    """Halves an image, rounding up: PyTorch compiles one variant for even sizes and one for odd ones."""
    return torch.nn.functional.avg_pool2d(torch.relu(x), 3, 2, ceil_mode=True)


def run(size: int, title: str) -> None:
    # A new process would start here: PyTorch forgets what it compiled, guardcache's directory stays.
    torch._dynamo.reset()
    compiled = torch.compile(thumbnail, dynamic=True)
    x = torch.randn(2, 3, size, size)
    began = time.perf_counter()
    result = compiled(x)
    took = time.perf_counter() - began
    assert torch.allclose(result, thumbnail(x), atol=1e-5)
    print(f"\n==== {title}: size {size}, first call {took:.2f} s")
    last = guardcache.torch.lookups()[-1]
    print(f"hit    {last.label}" if last.outcome == "hit" else guardcache.torch.explain())


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(folder, "inductor")
        guardcache.torch.install(os.path.join(folder, "guardcache"), key="canonical")

        run(64, "cold")
        run(48, "warm, another even size")
        run(51, "a miss by guards: an odd size")
        torch._inductor.config.max_fusion_size = 32
        run(64, "a miss by key: a compiler setting changed")

        found = guardcache.torch.statistics()
        print(f"\n{found.hits} hits, misses {found.misses}; the hits saved {found.saved_ns / 1e9:.1f} s of compiling")
        guardcache.torch.uninstall()


if __name__ == "__main__":
    main()
