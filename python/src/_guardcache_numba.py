"""The start of the adapter for numba in a program that can't be edited: ``GUARDCACHE_NUMBA=1``.

Two ways lead here, of which one is enough: `guardcache-start.pth`, which Python reads at each start, and the entry
point in numba's group of extensions, which numba calls before it compiles for the first time. The first comes earlier:
functions with signatures are compiled where they are defined, before numba has called anybody.

Every process that has the variable set pays for this file, and every process that uses numba for `init`: it imports
nothing that Python hasn't yet.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class _Loader:
    """numba's own loader, and then the adapter."""

    def __init__(self, loader: "Loader") -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)

    def exec_module(self, module: "ModuleType") -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        # A program that imports the adapter, and by that numba, as a rule installs it; else the entry point does.
        if "guardcache.numba" not in sys.modules:
            init()


class _Finder:
    """Waits until numba is imported."""

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if name != "numba":
            return None
        from importlib.machinery import PathFinder

        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
        return spec


def wait() -> None:
    sys.meta_path.insert(0, _Finder())


def init() -> None:
    """Installs the adapter unless the program has; what goes wrong is told, and the program runs without."""
    if os.environ.get("GUARDCACHE_NUMBA") != "1":
        return
    try:
        import guardcache.numba

        if not guardcache.numba.is_installed():
            guardcache.numba.install()
    except Exception as error:
        if sys.stderr is not None:
            print(f"guardcache: numba runs without the adapter: {error}", file=sys.stderr)
