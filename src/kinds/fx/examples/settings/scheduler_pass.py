"""A pass over the scheduler's nodes of which PyTorch can't tell whether it has changed."""

import torch
from torch._inductor import custom_graph_pass

AFTER = "hit"


@torch.compile
def f(x):
    return (x * 2 + 1).relu()


# Up to 2.12 PyTorch takes a graph pass there.
Base = getattr(custom_graph_pass, "CustomSchedulerPass", custom_graph_pass.CustomGraphPass)


class Pass(Base):
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
