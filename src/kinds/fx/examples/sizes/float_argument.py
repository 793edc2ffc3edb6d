"""A float argument that varies in the same process."""

import torch

AFTER = "kept"


@torch.compile
def f(x, temperature):
    return x / temperature


def stored():
    f(torch.randn(20), 0.5)


def asked():
    f(torch.randn(20), 0.5)
    f(torch.randn(20), 0.9)
    f(torch.randn(20), 1.1)
