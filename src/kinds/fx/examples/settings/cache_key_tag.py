"""A cache_key_tag that the stored run didn't have."""

import torch

AFTER = "hit"


@torch.compile
def f(x):
    return (x * 2 + 1).relu()


def stored():
    f(torch.randn(4, 16))


def asked():
    torch.compiler.config.cache_key_tag = "mine"
    f(torch.randn(4, 16))


def followed():
    torch.compiler.config.cache_key_tag = ""
    f(torch.randn(4, 16))
