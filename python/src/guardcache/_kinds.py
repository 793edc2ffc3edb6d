"""Kinds of one's own: folders of rules and advice, loaded for the whole process."""

from __future__ import annotations

import os
import warnings

from guardcache import _native


def load_kinds(*folders: str | os.PathLike[str]) -> None:
    """Loads each kind that lies in these folders; without any, in those of ``GUARDCACHE_KINDS``.

    A kind is a folder of its name with ``rules.json`` or ``advice.json`` in it: see docs/formats/rules.md. From then on
    it counts as one that is compiled in. All that can be used are loaded, then an `Error` says what was wrong first; in
    folders of the environment, a `UserWarning` each. `open` loads those by itself.
    """
    path = ":".join(os.fspath(folder) for folder in folders) if folders else None
    for problem in _native.kinds_load(path):
        warnings.warn(f"kinds: {problem}", stacklevel=2)
