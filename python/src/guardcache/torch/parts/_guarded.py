"""What PyTorch's two graph caches have in common: the walk over candidates, the writer, the saver, and `clear`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import guardcache
from guardcache import Hit, Miss, Reason
from guardcache.adapter import Patches
from guardcache.torch._adapter import ELSEWHERE

if TYPE_CHECKING:
    from guardcache.torch._adapter import Adapter

Found = tuple[Any, bytes | None, dict[str, Any]]


def plan(patches: Patches, adapter: Adapter, cls: type[Any], kind: str, saver: str) -> None:
    """`saver`: the function that is given the live entry, and calls the writer with its bytes."""
    patches.set(cls, "find_guarded_entry", classmethod(_finder(cls, kind, adapter)))
    patches.set(cls, "_write_to_local_cache", staticmethod(_writer(cls, kind, adapter)))
    patches.set(cls, saver, staticmethod(_saver(vars(cls)[saver].__func__, adapter)))
    patches.set(cls, "clear", staticmethod(_clearer(cls, kind, adapter)))


def _finder(cls: type[Any], kind: str, adapter: Adapter) -> Callable[..., Found]:
    original = cls.find_guarded_entry.__func__

    def find_guarded_entry(
        asked: type[Any], key: str, local: bool, remote_cache: Any, evaluate_guards: Any, hints: list[int]
    ) -> Found:
        walk = functools.partial(original, asked)
        home = adapter.at_home()
        if not home:
            adapter.passed_by(ELSEWHERE)
        if not local or not home:
            return walk(key, local, remote_cache, evaluate_guards, hints)  # type: ignore[no-any-return]
        graph, content, found = adapter.find(kind, key, evaluate_guards, hints)
        record = functools.partial(asked._record_result, key)
        if graph is None and remote_cache is not None:
            graph, content, info = walk(key, False, remote_cache, evaluate_guards, hints)
            record(local_hit=False, local_miss=True, remote_hit=False, remote_miss=False)
            _keep(adapter, kind, key, content)
            return graph, content, info
        record(local_hit=graph is not None, local_miss=graph is None, remote_hit=False, remote_miss=False)
        return graph, content, _cache_info(found)

    return find_guarded_entry


def _keep(adapter: Adapter, kind: str, key: str, content: bytes | None) -> None:
    """What PyTorch's own remote cache had is kept locally too."""
    if content is None:
        return
    try:
        adapter.write(kind, key, content)
    except guardcache.Error as error:
        adapter.warn(f"a remote entry can't be kept locally: {error}")


def _cache_info(found: Hit | Miss) -> dict[str, Any]:
    """What PyTorch's event log says about a lookup, and the reason in guardcache's words."""
    if isinstance(found, Hit):
        info: dict[str, Any] = {"cache_status_detailed": "hit"}
        if found.guards:
            info["cache_status_guard_expr"] = found.guards[0]
        return info
    judged = found.reason in (Reason.GUARD_FALSE, Reason.GUARD_ERROR)
    return {"cache_status_detailed": "guard_miss" if judged else "full_miss", "guardcache_reason": str(found.reason)}


def _writer(cls: type[Any], kind: str, adapter: Adapter) -> Callable[[str, bytes], None]:
    original = vars(cls)["_write_to_local_cache"].__func__

    def write_to_local_cache(key: str, content: bytes) -> None:
        if adapter.at_home():
            adapter.write(kind, key, content)
        else:
            original(key, content)

    return write_to_local_cache


def _saver(original: Callable[..., None], adapter: Adapter) -> Callable[..., None]:
    @functools.wraps(original)
    def save(key: str, live: Any, *arguments: Any, **named: Any) -> None:
        if live is None:  # it couldn't be made
            return
        with adapter.saving(key, live):
            original(key, live, *arguments, **named)

    return save


def _clearer(cls: type[Any], kind: str, adapter: Adapter) -> Callable[[], None]:
    original = vars(cls)["clear"].__func__

    def clear() -> None:
        if adapter.at_home():
            adapter.clear(kind)
        original()

    return clear
