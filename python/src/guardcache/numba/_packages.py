"""Whose a module is: the interpreter's or an installed package's, known by its version, or the user's own."""

from __future__ import annotations

import importlib.metadata
import sys
from functools import lru_cache
from pathlib import PurePath

_INSTALLED = frozenset(("site-packages", "dist-packages"))

# They are programs that are cached, like those of users.
_PROGRAMS = "numba.tests"


def version(module: str | None) -> str | None:
    """``numpy 2.4.6`` for a module of an installed package, ``python`` for one of the standard library; None for the
    user's own, which change without a version.
    """
    if not module or module == "__main__" or module == _PROGRAMS or module.startswith(_PROGRAMS + "."):
        return None
    return _package(module.partition(".")[0])


@lru_cache(maxsize=256)
def _package(name: str) -> str | None:
    if name in sys.stdlib_module_names or name in sys.builtin_module_names:
        return "python"
    module = sys.modules.get(name)
    path = getattr(module, "__file__", None)
    if not path or _INSTALLED.isdisjoint(PurePath(path).parts):
        return None
    found = getattr(module, "__version__", None)
    if not isinstance(found, str):
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return None
    return f"{name} {found}"
