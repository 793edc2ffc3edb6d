"""Which PyTorch this adapter was tried with. Its seams are private: another version may have moved them."""

from __future__ import annotations

import torch

TESTED = ("2.13.0",)


class UntestedVersionError(RuntimeError):
    """This PyTorch wasn't tried with the adapter."""


def release() -> str:
    """``2.13.0`` for ``2.13.0+cpu``."""
    return torch.__version__.partition("+")[0]


def check(untested: bool) -> None:
    if release() in TESTED or untested:
        return
    raise UntestedVersionError(
        f"guardcache.torch was tried with PyTorch {', '.join(TESTED)}, and this is {torch.__version__}. It replaces "
        "private functions, which another version may have changed. To try all the same: "
        "guardcache.torch.install(untested=True), or GUARDCACHE_TORCH_UNTESTED=1 in the environment."
    )
