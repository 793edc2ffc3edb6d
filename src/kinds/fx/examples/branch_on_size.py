"""A size on which the program branches."""

import torch

AFTER = "kept"


@torch.compile(dynamic=True)
def f(x):
    return x * 2 if x.size(0) == 8 else x + 1


def stored():
    f(torch.randn(8, 3))


def asked():
    f(torch.randn(12, 3))
