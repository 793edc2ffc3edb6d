"""Two sizes that happened to be equal in the first call."""

import torch

AFTER = "once"


@torch.compile(dynamic=True)
def f(x, y):
    return x.sum() * y


def stored():
    f(torch.randn(8), torch.randn(8))


def asked():
    f(torch.randn(8), torch.randn(6))


def followed():
    torch.fx.experimental._config.use_duck_shape = False
    f(torch.randn(8), torch.randn(8))
    f(torch.randn(8), torch.randn(6))
