"""A custom pass of which PyTorch can't tell whether it has changed."""

import torch
from torch._inductor.custom_graph_pass import CustomGraphPass

AFTER = "hit"


@torch.compile
def f(x):
    return (x * 2 + 1).relu()


class Pass(CustomGraphPass):
    def __call__(self, graph):
        pass

    def uuid(self):
        return "one"


def stored():
    torch._inductor.config.post_grad_custom_post_pass = Pass()
    f(torch.randn(4, 16))


def asked():
    torch._inductor.config.post_grad_custom_post_pass = lambda graph: None
    f(torch.randn(4, 16))


def followed():
    stored()
