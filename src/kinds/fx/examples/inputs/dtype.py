"""An input of another element type."""

import torch

AFTER = "hit"


@torch.compile
def f(x):
    return (x * 2 + 1).relu()


def stored():
    f(torch.randn(4, 16))


def asked():
    f(torch.randn(4, 16, dtype=torch.float64))


def followed():
    f(torch.randn(4, 16, dtype=torch.float64).to(torch.float32))
