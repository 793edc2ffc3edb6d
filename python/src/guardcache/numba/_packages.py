"""Whose a module is: the interpreter's, an installed package's, or the user's own."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path, PurePath
from types import ModuleType

_INSTALLED = frozenset(("site-packages", "dist-packages"))
_STANDARD = tuple(os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib"))

# They are programs that are cached, like those of users.
_PROGRAMS = "numba.tests"

# What numba itself knows, and every key has the versions of.
_KNOWN = frozenset(("python", "numba", "numpy", "llvmlite"))


def version(module: object) -> str | None:
    """``numpy 2.4.6`` for a module of an installed package, with a digest of its files if it is none of those that
    numba knows; ``python`` for one of the standard library; None for the user's own, which change without a version.
    """
    if not isinstance(module, str) or module in ("", "__main__"):
        return None
    if module == _PROGRAMS or module.startswith(_PROGRAMS + "."):
        return None
    name = module.partition(".")[0]
    return _package(name, _file(sys.modules.get(name)))


@lru_cache(maxsize=4096)
def is_known(module: str | None) -> bool:
    """Whether what is in a module goes by a version that every key has."""
    return (version(module) or "").partition(" ")[0] in _KNOWN


def _file(module: ModuleType | None) -> str | None:
    """Empty for one that is in the interpreter itself."""
    if getattr(getattr(module, "__spec__", None), "origin", None) in ("built-in", "frozen"):
        return ""
    path = getattr(module, "__file__", None)
    return path if isinstance(path, str) and path else None


@lru_cache(maxsize=256)
def _package(name: str, path: str | None) -> str | None:
    if path is None:
        return None
    installed = not _INSTALLED.isdisjoint(PurePath(path).parts)
    standard = not path or (not installed and os.path.realpath(path).startswith(_STANDARD))
    if standard and (name in sys.stdlib_module_names or name in sys.builtin_module_names):
        return "python"
    if not installed:
        return None
    found = getattr(sys.modules[name], "__version__", None)
    if not isinstance(found, str):
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return None
    return f"{name} {found}" if name in _KNOWN else f"{name} {found} {_digest(Path(path))}"


def _digest(path: Path) -> str:
    """Of a package's sources: who edits an installed package leaves its version as it is."""
    folder = path.parent
    sources = sorted(folder.rglob("*.py")) if path.name.startswith("__init__.") else [path]
    digest = hashlib.sha256()
    for source in sources:
        content = source.read_bytes()
        digest.update(f"{source.relative_to(folder).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]
