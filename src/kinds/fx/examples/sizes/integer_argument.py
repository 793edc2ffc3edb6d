"""An integer argument that varies in the same process."""

import torch

AFTER = "kept"


@torch.compile
def f(x, steps):
    return (x * steps + 1).relu()


def stored():
    f(torch.randn(5), 2)


def asked():
    f(torch.randn(5), 2)
    f(torch.randn(5), 3)
    f(torch.randn(5), 4)
