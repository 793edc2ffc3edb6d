"""An input that is a transposed view."""

import torch

AFTER = "hit"


@torch.compile
def f(x):
    return (x * 2 + 1).relu()


def stored():
    f(torch.randn(4, 16))


def asked():
    f(torch.randn(16, 4).t())


def followed():
    f(torch.randn(16, 4).t().contiguous())
