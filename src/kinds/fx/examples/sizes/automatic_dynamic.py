"""A second size in the same process: the first compile was for one size, the second is for all others."""

import torch

AFTER = "once"


@torch.compile
def f(x):
    return (x * 2 + 1).relu()


def stored():
    f(torch.randn(4, 16))


def asked():
    f(torch.randn(4, 16))
    f(torch.randn(6, 16))


def followed():
    x = torch.randn(4, 16)
    torch._dynamo.mark_dynamic(x, 0)
    f(x)
    f(torch.randn(6, 16))
    f(torch.randn(9, 16))
