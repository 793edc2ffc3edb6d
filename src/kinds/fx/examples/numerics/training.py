"""Stored in training, called in evaluation."""

import torch

AFTER = "hit"

module = torch.nn.Sequential(torch.nn.Linear(16, 4), torch.nn.Dropout())
compiled = torch.compile(module)


def stored():
    compiled(torch.randn(4, 16))


def asked():
    module.eval()
    stored()


def followed():
    module.train()
    stored()
