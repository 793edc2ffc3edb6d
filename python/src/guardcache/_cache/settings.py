"""Switches and limits from the environment and config.json: `guardcache/settings.h`."""

from __future__ import annotations

import os
import warnings
from typing import cast

from guardcache import _native
from guardcache._cache.options import CacheOptions, Trust
from guardcache._classes import NamedTuple
from guardcache._signing import make_key


class Setting(NamedTuple):
    """A setting as it stands."""

    name: str
    value: str
    """URLs without their credentials."""
    meaning: str
    variable: str
    """The environment variable's name."""
    origin: str
    """``default``, ``file``, ``environment``, ..."""


def default_directory() -> str:
    """``GUARDCACHE_DIR``, else ``guardcache`` in the XDG cache directory: what the command uses."""
    chosen = os.environ.get("GUARDCACHE_DIR")
    if chosen:
        return chosen
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "guardcache")


def settings(directory: str | os.PathLike[str] | None = None) -> CacheOptions:
    """What the environment (``GUARDCACHE_READ_ONLY=1``, ``GUARDCACHE_NAMESPACE``, ...) and the directory's config.json
    say, as options of `Cache`; what nobody set isn't there.

    ``guardcache config`` lists them all. `ArgumentError` for a variable that makes no sense; what can't be read of
    config.json is a `UserWarning`. A key file that can't be read is an error, as `SigningKey.read` says: else a program
    would go on without it.
    """
    namespace = os.environ.get("GUARDCACHE_NAMESPACE")
    native, trouble = _native.settings(os.fspath(default_directory() if directory is None else directory), namespace)
    for line in trouble:
        warnings.warn(line, stacklevel=2)
    found = cast(CacheOptions, native)
    if "signing" in native:
        found["signing"] = tuple(make_key(parts) for parts in native["signing"])
    if namespace:
        found["namespace"] = namespace
    if record := os.environ.get("GUARDCACHE_RECORD"):
        found["record"] = record
    return found


def setting_list(directory: str | os.PathLike[str] | None = None) -> list[Setting]:
    """All settings of a directory, as they stand, and where each comes from: what ``guardcache config`` shows."""
    chosen = os.fspath(default_directory() if directory is None else directory)
    return [Setting(*found) for found in _native.setting_list(chosen, os.environ.get("GUARDCACHE_NAMESPACE"))]


def write_setting(
    directory: str | os.PathLike[str],
    name: str,
    value: str | None,
    *,
    namespace: str | None = None,
    trust: Trust = Trust.OWNER,
) -> None:
    """Writes one setting into the config.json of a cache directory, for a namespace or in general; None takes it out.

    A file that can't be read is put into ``quarantine/`` first, which is a `UserWarning`. `NotFoundError`: no such
    setting, or directory; `ArgumentError`: the value makes no sense.
    """
    for line in _native.write_setting(os.fspath(directory), trust, namespace, name, value):
        warnings.warn(line, stacklevel=2)
