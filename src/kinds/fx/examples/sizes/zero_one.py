"""A batch of one, where all other sizes are served."""

import torch

AFTER = "kept"


@torch.compile(dynamic=True)
def f(x):
    return (x * 2 + 1).relu()


def stored():
    f(torch.randn(4, 16))


def asked():
    f(torch.randn(1, 16))
