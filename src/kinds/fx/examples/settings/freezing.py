"""Parameters frozen into the graph."""

import torch

AFTER = "hit"

module = torch.compile(torch.nn.Linear(16, 4).eval())


def stored():
    with torch.no_grad():
        module(torch.randn(4, 16))


def asked():
    torch._inductor.config.freezing = True
    stored()


def followed():
    torch._inductor.config.freezing = False
    stored()
