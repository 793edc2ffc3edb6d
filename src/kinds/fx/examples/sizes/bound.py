"""A size beyond a bound that the program has."""

import torch

AFTER = "kept"


@torch.compile(dynamic=True)
def f(x):
    y = x * 2 + 1
    return (y, y) if x.size(0) <= 1024 else (y,)


def stored():
    f(torch.randn(16, 3))


def asked():
    f(torch.randn(2000, 3))
