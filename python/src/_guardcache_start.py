"""The start hook: ``GUARDCACHE_TORCH=1`` installs the PyTorch adapter in a script that wasn't written for it.

Two ways lead here, of which one is enough: `guardcache-start.pth`, which Python reads at each start, and the entry
point in the group ``torch.backends``, which PyTorch calls at its import. Neither imports PyTorch or guardcache: what
waits is a finder that installs the adapter right after the script's own import of the module with PyTorch's caches, or
before the script's first call of a function that must find it installed.

Every Python process that has the variable set pays for this file, so it imports nothing that Python hasn't yet.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_TRIGGER = "torch._inductor.compile_fx"

# They change Inductor's directory for a while, which would be taken for that of the installation, or they fill
# PyTorch's own store, which isn't asked any more afterwards. A script may call them before it imports what compiles.
_FIRST = {
    "torch._inductor.utils": "fresh_cache",
    "torch._inductor.runtime.cache_dir_utils": "temporary_cache_dir",
    "torch.compiler._cache": "CacheArtifactManager.populate_caches",
}


class _Loader:
    """The module's own loader, and then `_imported`."""

    def __init__(self, loader: "Loader") -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)

    def exec_module(self, module: "ModuleType") -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _imported(module)


class _Finder:
    """Waits until a module was imported: who only asks where it is, or imports it in vain, doesn't end that."""

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if name != _TRIGGER and name not in _FIRST:
            return None
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
        return spec


_finder: _Finder | None = None


def start() -> None:
    """Begins to wait; twice is once."""
    global _finder
    if _finder is None:
        _finder = _Finder()
        sys.meta_path.insert(0, _finder)
        # The entry point comes when PyTorch has imported some of itself.
        for name in _FIRST:
            if name in sys.modules:
                _imported(sys.modules[name])


def _imported(module: "ModuleType") -> None:
    """An exception here would break the script's import."""
    if module.__name__ == _TRIGGER:
        finish()
        return
    try:
        _precede(module, _FIRST[module.__name__])
    except Exception as error:
        _tell(error)


def _precede(module: "ModuleType", path: str) -> None:
    """Lets `finish` come before each call of a function; where PyTorch has moved it, nothing changes."""
    from functools import wraps

    where, _, name = path.rpartition(".")
    place = getattr(module, where, None) if where else module
    held = vars(place).get(name) if place is not None else None
    if held is None or (where and not isinstance(held, (staticmethod, classmethod))):
        return
    function = getattr(place, name)

    @wraps(function)
    def preceded(*arguments: object, **named: object) -> object:
        finish()
        return function(*arguments, **named)

    setattr(place, name, staticmethod(preceded) if where else preceded)


def autoload() -> None:
    """PyTorch's entry point. An exception here would break ``import torch``."""
    try:
        if os.environ.get("GUARDCACHE_TORCH") == "1":
            start()
    except Exception as error:
        _tell(error)


def cancel() -> bool:
    """Whether somebody waited. A script that installs the adapter itself, or asks for it, needn't wait any more."""
    global _finder
    waited, _finder = _finder, None
    if waited in sys.meta_path:
        sys.meta_path.remove(waited)
    return waited is not None


def finish() -> None:
    """Installs the adapter if that is still waited for: what goes wrong is told, and the script runs without."""
    if not cancel():
        return
    try:
        import guardcache.torch

        guardcache.torch.install(key=os.environ.get("GUARDCACHE_TORCH_KEY", "pytorch"))
    except Exception as error:
        _tell(error)


def _tell(error: Exception) -> None:
    """A stream that is closed or not there must not break anything either."""
    try:
        if sys.stderr is not None:
            print(f"guardcache: PyTorch runs without the adapter: {error}", file=sys.stderr)
    except Exception:
        return
