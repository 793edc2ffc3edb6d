"""Stored in evaluation, called in training: the mean of the batch is taken."""

import torch

AFTER = "hit"

module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)).eval()
compiled = torch.compile(module)


def stored():
    compiled(torch.randn(2, 3, 8, 8))


def asked():
    module.train()
    stored()


def followed():
    module.eval()
    stored()
