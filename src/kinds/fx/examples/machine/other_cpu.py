"""A CPU with other vector instructions (as if: ATEN_CPU_CAPABILITY says so)."""

import torch

AFTER = "kept"
ENVIRONMENT = {"asked": {"ATEN_CPU_CAPABILITY": "avx2"}}


@torch.compile
def f(x):
    return (x * 2 + 1).relu()


def stored():
    f(torch.randn(4, 16))


def asked():
    f(torch.randn(4, 16))
