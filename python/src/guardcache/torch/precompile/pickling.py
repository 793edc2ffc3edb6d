"""Payloads: Dynamo's sources are pickled by their fields, with names in a frame's globals that are right anywhere.

Dynamo counts the names under which it puts builtins and modules there, and fails where such a name is taken.
"""

from __future__ import annotations

import dataclasses
import io
import pickle
from collections.abc import Mapping
from typing import Any

from torch._dynamo.source import GlobalSource
from torch._guards import Source

from guardcache.torch.precompile import facts


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, modules: Mapping[str, str]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._modules = modules

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, GlobalSource):
            return GlobalSource, (facts.global_anywhere(obj.global_name, self._modules),)
        if isinstance(obj, Source) and dataclasses.is_dataclass(obj):
            return _source, (type(obj), {f.name: getattr(obj, f.name) for f in dataclasses.fields(obj) if f.init})
        return NotImplemented


def _source(cls: type[Any], fields: dict[str, Any]) -> Any:
    """Without what the producer's object had computed of its names."""
    return cls(**fields)


def dumps(value: Any, modules: Mapping[str, str]) -> bytes:
    """`modules`: see `facts.by_address`."""
    file = io.BytesIO()
    _Pickler(file, modules).dump(value)
    return file.getvalue()
