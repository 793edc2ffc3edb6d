"""Dynamo's frames: looked up before they are traced."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from torch._dynamo import config, convert_frame
from torch._dynamo.guards import CheckFunctionManager
from torch._dynamo.precompile_context import PrecompileContext
from torch._functorch._aot_autograd import autograd_cache, graph_compile
from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCache

from guardcache.adapter import Patches
from guardcache.torch.precompile.frames import Frames

if TYPE_CHECKING:
    from guardcache.torch._adapter import Adapter


def plan(patches: Patches, adapter: Adapter) -> None:
    adapter.frames = frames = Frames(adapter)
    _plan_frames(patches, frames)
    _plan_bundles(patches)
    _plan_entries(patches, frames)


def _plan_frames(patches: Patches, frames: Frames) -> None:
    compile_frame = convert_frame._compile
    serialize = CheckFunctionManager.serialize_guards

    @functools.wraps(compile_frame)
    def compile_or_find(*arguments: Any, **named: Any) -> Any:
        return frames.compile(compile_frame, arguments, named)

    @functools.wraps(serialize)
    def take_guards(self: Any, *arguments: Any) -> bytes:
        taken = frames.take_guards(self, *arguments)
        return serialize(self, *arguments) if taken is None else taken

    patches.set(convert_frame, "_compile", compile_or_find)
    patches.set(CheckFunctionManager, "serialize_guards", take_guards)


def _plan_bundles(patches: Patches) -> None:
    """A frame brings its graphs along, as with PyTorch's own precompiling; what that records isn't wanted."""
    record = vars(PrecompileContext)["record_artifact"].__func__

    def bundled() -> bool:
        return True

    def record_artifact(cls: type[Any], artifact: Any) -> None:
        if config.caching_precompile:
            record(cls, artifact)

    for user in (autograd_cache, graph_compile):
        patches.set(user, "should_bundle_autograd_cache", bundled)
    patches.set(PrecompileContext, "record_artifact", classmethod(record_artifact))


def _plan_entries(patches: Patches, frames: Frames) -> None:
    """A graph that has nothing to compile, as many a backward, can't be bundled: PyTorch stops there."""
    make_entry = vars(AOTAutogradCache)["make_entry"].__func__

    @functools.wraps(make_entry)
    def entry_or_none(*arguments: Any, **named: Any) -> Any:
        try:
            return make_entry(*arguments, **named)
        except Exception as reason:
            backend = getattr(named.get("sanitized_aot_config"), "precompile_backend_id", None)
            frames.left_out(str(reason), backend)
            return None

    patches.set(AOTAutogradCache, "make_entry", staticmethod(entry_or_none))
