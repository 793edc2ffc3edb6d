"""A size that Inductor needs as a number."""

import torch

AFTER = "kept"


@torch.compile(dynamic=True)
def f(x):
    return torch.nn.functional.glu(x, 0) + 1


def stored():
    f(torch.randn(8, 3))


def asked():
    f(torch.randn(12, 3))
