"""A size that isn't a multiple of what the program asks for."""

import torch

AFTER = "hit"


@torch.compile(dynamic=True)
def f(x):
    y = x * 2 + 1
    return (y, y) if x.size(0) % 8 == 0 else (y,)


def stored():
    f(torch.randn(16, 3))


def asked():
    f(torch.randn(12, 3))


def followed():
    x = torch.randn(12, 3)
    f(torch.nn.functional.pad(x, (0, 0, 0, 4)))
