"""Stored without torch.autocast, called under it."""

import torch

AFTER = "hit"


@torch.compile
def f(x, y):
    return x @ y + 1


def stored():
    f(torch.randn(4, 16), torch.randn(16, 4))


def asked():
    with torch.autocast("cpu"):
        f(torch.randn(4, 16), torch.randn(16, 4))


def followed():
    stored()
