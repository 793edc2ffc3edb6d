"""An input that is a slice of a larger one, where the stored one was transposed."""

import torch

AFTER = "hit"


@torch.compile
def f(x):
    return (x * 2 + 1).relu()


def stored():
    f(torch.randn(16, 16).t())


def asked():
    f(torch.randn(16, 32)[:, ::2])


def followed():
    f(torch.randn(16, 32)[:, ::2].t().contiguous().t())
