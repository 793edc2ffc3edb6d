"""A layer of another width."""

import torch

AFTER = "kept"


def call(width):
    with torch.no_grad():
        torch.compile(torch.nn.Linear(6, width))(torch.randn(3, 6))


def stored():
    call(8)


def asked():
    call(9)
