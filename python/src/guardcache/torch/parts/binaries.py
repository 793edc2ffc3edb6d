"""The loading of generated modules and of their shared objects: see `guardcache.torch._binaries`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from torch._inductor.codecache import CppCodeCache, PyCodeCache

from guardcache.adapter import Patches

if TYPE_CHECKING:
    from guardcache.torch._adapter import Adapter


def plan(patches: Patches, adapter: Adapter) -> None:
    load_by_key_path = vars(PyCodeCache)["load_by_key_path"].__func__
    load_async = vars(CppCodeCache)["load_async"].__func__

    @functools.wraps(load_by_key_path)
    def load_module(cls: Any, key: str, *arguments: Any, **named: Any) -> Any:
        return adapter.binaries.load_module(lambda: load_by_key_path(cls, key, *arguments, **named), key)

    def load_binary(cls: Any, /, main_code: str, device_type: str = "cpu", **named: Any) -> Any:
        asked = {"main_code": main_code, "device_type": device_type, **named}
        return adapter.binaries.load_async(functools.partial(load_async, cls), cls, asked)

    patches.set(PyCodeCache, "load_by_key_path", classmethod(load_module))
    patches.set(CppCodeCache, "load_async", classmethod(load_binary))
