"""A pass over the scheduler's nodes of which PyTorch can't tell whether it has changed."""

import torch
from torch._inductor.custom_graph_pass import CustomSchedulerPass

AFTER = "hit"


@torch.compile
def f(x):
    return (x * 2 + 1).relu()


class Pass(CustomSchedulerPass):
    def __call__(self, nodes):
        return nodes

    def uuid(self):
        return "one"


def stored():
    torch._inductor.config._pre_fusion_custom_pass = Pass()
    f(torch.randn(4, 16))


def asked():
    torch._inductor.config._pre_fusion_custom_pass = lambda nodes: nodes
    f(torch.randn(4, 16))


def followed():
    stored()
