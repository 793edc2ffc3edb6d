"""What is stored was compiled with mark_dynamic, and this call is without."""

import torch

AFTER = "hit"


@torch.compile
def f(x):
    return (x * 2 + 1).relu()


def stored():
    followed()


def asked():
    f(torch.randn(6, 16))


def followed():
    x = torch.randn(4, 16)
    torch._dynamo.mark_dynamic(x, 0)
    f(x)
    f(torch.randn(6, 16))
