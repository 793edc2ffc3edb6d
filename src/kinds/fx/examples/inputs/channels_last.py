"""Images stored in channels_last, called in the usual layout."""

import torch

AFTER = "hit"


@torch.compile
def f(x):
    return (x * 2 + 1).relu()


def stored():
    f(torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last))


def asked():
    f(torch.randn(2, 3, 8, 8))


def followed():
    f(torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last))
