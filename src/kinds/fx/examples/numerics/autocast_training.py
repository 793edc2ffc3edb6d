"""Stored without torch.autocast, called under it, where something requires gradients."""

import torch

AFTER = "hit"

net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
f = torch.compile(net)


def stored():
    f(torch.randn(4, 8)).sum().backward()


def asked():
    with torch.autocast("cpu"):
        loss = f(torch.randn(4, 8)).sum()
    loss.backward()


def followed():
    stored()
