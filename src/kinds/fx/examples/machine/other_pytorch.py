"""Another PyTorch (as if: the hash of its sources is replaced)."""

import torch
import torch._inductor.codecache

AFTER = "kept"


@torch.compile
def f(x):
    return (x * 2 + 1).relu()


def stored():
    f(torch.randn(4, 16))


def asked():
    torch._inductor.codecache.torch_key = lambda: b"another"
    f(torch.randn(4, 16))
