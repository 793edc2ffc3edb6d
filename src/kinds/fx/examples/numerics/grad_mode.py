"""Stored under torch.no_grad(), called without."""

import torch

AFTER = "hit"

module = torch.compile(torch.nn.Linear(16, 4))


def stored():
    with torch.no_grad():
        module(torch.randn(4, 16))


def asked():
    module(torch.randn(4, 16))


def followed():
    stored()
