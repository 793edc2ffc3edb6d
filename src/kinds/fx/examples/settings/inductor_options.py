"""Several options of Inductor, by the mode of torch.compile."""

import torch

AFTER = "hit"


def f(x):
    return (x * 2 + 1).relu()


def stored():
    torch.compile(f, options={"max_autotune": True, "coordinate_descent_tuning": True, "epilogue_fusion": False})(
        torch.randn(4, 16)
    )


def asked():
    torch.compile(f)(torch.randn(4, 16))


def followed():
    stored()
