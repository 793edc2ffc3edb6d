"""The start hook: ``GUARDCACHE_TORCH=1`` installs the PyTorch adapter in a script that wasn't written for it.

``guardcache-start.pth`` beside the package runs this in every Python that has the variable set. PyTorch isn't
imported here: the adapter is installed right after the script's own import of the module that holds PyTorch's caches.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Sequence
from types import ModuleType

_TRIGGER = "torch._inductor.compile_fx"

_waiting = False


class _Loader(importlib.abc.Loader):
    """The module's own loader, and then `install`."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        if _waiting:
            _install()


class _Finder(importlib.abc.MetaPathFinder):
    """Waits for one module, then steps aside."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != _TRIGGER:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def _install() -> None:
    """A script that wasn't written for the adapter must run without it as well: trouble is told, not raised."""
    global _waiting
    _waiting = False
    try:
        from guardcache.torch import install

        install(key=os.environ.get("GUARDCACHE_TORCH_KEY", "pytorch"))
    except Exception as error:
        print(f"guardcache: PyTorch runs without the adapter: {error}", file=sys.stderr)


def adapter_imported() -> None:
    """The adapter's last line: a script that imports it may ask it for statistics before anything is compiled."""
    if _waiting:
        _install()


def start() -> None:
    global _waiting
    _waiting = True
    sys.meta_path.insert(0, _Finder())
