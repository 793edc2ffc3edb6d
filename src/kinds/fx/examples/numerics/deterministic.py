"""Deterministic algorithms, which the stored run didn't ask for."""

import torch

AFTER = "hit"


@torch.compile
def f(x):
    return (x * 2 + 1).relu()


def stored():
    f(torch.randn(4, 16))


def asked():
    torch.use_deterministic_algorithms(True)
    f(torch.randn(4, 16))


def followed():
    torch.use_deterministic_algorithms(False)
    f(torch.randn(4, 16))
