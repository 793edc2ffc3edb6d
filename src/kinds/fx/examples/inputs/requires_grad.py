"""An input that requires gradients, where the stored one didn't."""

import torch

AFTER = "hit"


@torch.compile
def f(x):
    return (x * 2 + 1).relu()


def stored():
    f(torch.randn(4, 16))


def asked():
    f(torch.randn(4, 16, requires_grad=True))


def followed():
    f(torch.randn(4, 16, requires_grad=True).detach())
