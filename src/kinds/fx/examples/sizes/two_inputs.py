"""A batch of another size, where two inputs have it."""

import torch

AFTER = "once"


@torch.compile
def f(left, right):
    return (left + right).tanh()


def stored():
    f(torch.randn(4, 5), torch.randn(4, 5))


def asked():
    f(torch.randn(9, 5), torch.randn(9, 5))


def followed():
    left, right = torch.randn(4, 5), torch.randn(4, 5)
    torch._dynamo.mark_dynamic(left, 0)
    torch._dynamo.mark_dynamic(right, 0)
    f(left, right)
    f(torch.randn(9, 5), torch.randn(9, 5))
