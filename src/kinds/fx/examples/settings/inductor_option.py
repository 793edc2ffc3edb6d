"""Another option of Inductor."""

import torch

AFTER = "hit"


@torch.compile
def f(x):
    return (x * 2 + 1).relu()


def stored():
    torch._inductor.config.epilogue_fusion = False
    f(torch.randn(4, 16))


def asked():
    f(torch.randn(4, 16))


def followed():
    stored()
