"""Another float32 matmul precision."""

import torch

AFTER = "hit"


@torch.compile
def f(x, y):
    return x @ y + 1


def stored():
    torch.set_float32_matmul_precision("high")
    f(torch.randn(4, 16), torch.randn(16, 4))


def asked():
    f(torch.randn(4, 16), torch.randn(16, 4))


def followed():
    stored()
