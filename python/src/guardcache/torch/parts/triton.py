"""PyTorch asks for Triton with each save and each hit; where it isn't installed, all of Python's path is searched each
time. `has_triton_package` is how PyTorch itself remembers that.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from torch.utils import _triton

from guardcache.adapter import Patches

if TYPE_CHECKING:
    from guardcache.torch._adapter import Adapter


def plan(patches: Patches, _adapter: Adapter) -> None:
    original = _triton.triton_backend

    @functools.wraps(original)
    def triton_backend() -> Any:
        if not _triton.has_triton_package():
            raise ModuleNotFoundError("No module named 'triton'", name="triton")
        return original()

    patches.set(_triton, "triton_backend", triton_backend)
