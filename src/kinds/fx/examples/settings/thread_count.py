"""Another number of threads."""

import torch

AFTER = "hit"


@torch.compile
def f(x):
    return x.softmax(-1) * 2


def stored():
    f(torch.randn(4, 5))


def asked():
    torch.set_num_threads(2)
    f(torch.randn(4, 5))


def followed():
    torch.set_num_threads(1)
    f(torch.randn(4, 5))
