"""What an exported function takes and returns is structured like, as `jax.export` stores it: a node of a class of the
user's counts by the name it is registered under and by what is stored of it. A tree's own text says neither.
"""

from __future__ import annotations

import hashlib
from types import NoneType
from typing import Any

from jax._src.export import _export

from guardcache.jax._refusal import UndescribedError

_PLAIN = (tuple, list, NoneType)


def structure(tree: Any) -> str:
    """`tree` is a `PyTreeDef`."""
    node = tree.node_data()
    if node is None:
        return "*"
    kind, content = node
    children = [structure(child) for child in tree.children()]
    if kind is dict:
        if not all(isinstance(key, str) for key in content):
            raise UndescribedError("a dictionary has keys that aren't strings, which an export can't carry")
        children = [f"{key!r}: {child}" for key, child in zip(content, children, strict=True)]
    return f"{_head(kind, content)}({', '.join(children)})"


def _head(kind: Any, content: Any) -> str:
    if kind in _PLAIN or kind is dict:
        return str(kind.__name__)
    if kind not in _export.serialization_registry:
        raise UndescribedError(f"{kind.__qualname__} isn't registered for serialization, so an export can't carry it")
    name, serialize = _export.serialization_registry[kind]
    return f"{name!r}[{hashlib.sha256(serialize(content)).hexdigest()}]"
