"""Which of PyTorch's functions are replaced, and by what.

Replaced: the walk over candidates (`GuardedCache.find_guarded_entry`), the two writers and `clear`s, and the autotune
tables. Wrapped, to learn what those aren't told: the savers (the live entry), the loads (inputs and component lines),
the key computations (why a graph is bypassed), the loading of generated modules and of their shared objects.
"""

from __future__ import annotations

import functools
import os
import pickle
import threading
from collections.abc import Callable, Sequence
from typing import Any

from torch._functorch._aot_autograd import autograd_cache
from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCache
from torch._inductor import codecache, compile_fx
from torch._inductor.codecache import CppCodeCache, FxGraphCache, GuardedCache, PyCodeCache
from torch.utils import _triton

import guardcache
from guardcache import Cache, Durability, Hit, Reason
from guardcache.torch import _autotune as autotune
from guardcache.torch import _entries as entries
from guardcache.torch import _labels as labels
from guardcache.torch import _versions as versions
from guardcache.torch._adapter import Adapter, kind_of
from guardcache.torch._patch import Patches

_lock = threading.RLock()
_installed: tuple[Adapter, Patches] | None = None


class NotInstalledError(RuntimeError):
    """`install` wasn't called."""


def install(
    cache: Cache | str | os.PathLike[str] | None = None, *, key: str = "pytorch", untested: bool = False
) -> None:
    """Puts guardcache under ``torch.compile``: every later compile of this process looks there.

    `cache` is an open cache, a directory, or None for the default directory. With ``key="canonical"`` Inductor's
    graphs are known by guardcache's own description instead of PyTorch's key. A PyTorch this package wasn't tried
    with is refused unless `untested`. Installing again replaces what was installed before.
    """
    if key not in ("pytorch", "canonical"):
        raise ValueError(f'key is "pytorch" or "canonical", not {key!r}')
    versions.check(untested or os.environ.get("GUARDCACHE_TORCH_UNTESTED") == "1")
    global _installed
    with _lock:
        uninstall()
        own = not isinstance(cache, Cache)
        opened = cache if isinstance(cache, Cache) else _open(cache)
        adapter = Adapter(opened, own=own)
        patches = _plan(adapter, canonical=key == "canonical")
        patches.apply()
        _installed = (adapter, patches)


def uninstall() -> None:
    """Puts PyTorch's own functions back. Nothing happens if `install` wasn't called."""
    global _installed
    with _lock:
        if _installed is None:
            return
        adapter, patches = _installed
        patches.undo()
        _installed = None
        adapter.close()


def current() -> Adapter:
    with _lock:
        if _installed is None:
            raise NotInstalledError("guardcache.torch.install() wasn't called")
        return _installed[0]


def is_installed() -> bool:
    with _lock:
        return _installed is not None


def _open(directory: str | os.PathLike[str] | None) -> Cache:
    """As PyTorch's own files, entries aren't synced: what a power cut takes is compiled again, never misread. Nor are
    they compressed: that would take as long as all the rest of an insert, and some of each hit.

    Settings that somebody made count here as for the command, those two included.
    """
    chosen = guardcache.default_directory() if directory is None else directory
    options: dict[str, Any] = {"durability": Durability.NONE, "compression_level": -1, **guardcache.settings(chosen)}
    return Cache(chosen, **options, log=_warn)


def _warn(line: str) -> None:
    codecache.log.warning("guardcache: %s", line)


# ---- the plan ----


def _plan(adapter: Adapter, *, canonical: bool) -> Patches:
    patches = Patches()
    _plan_lookup(patches, adapter)
    _plan_saving(patches, adapter)
    _plan_surroundings(patches, adapter)
    _plan_binaries(patches, adapter)
    _plan_triton(patches)
    autotune.plan(patches, adapter)
    if canonical:
        from guardcache.torch import _canonical

        _canonical.plan(patches, adapter)
    return patches


def _plan_lookup(patches: Patches, adapter: Adapter) -> None:
    original = vars(GuardedCache)["find_guarded_entry"].__func__

    def find_guarded_entry(
        cls: type[Any], key: str, local: bool, remote: Any, evaluate_guards: Any, hints: list[int]
    ) -> tuple[Any, bytes | None, dict[str, Any]]:
        kind = kind_of(cls)
        if not local or kind is None or not adapter.at_home():
            return original(cls, key, local, remote, evaluate_guards, hints)  # type: ignore[no-any-return]
        graph, content, found = adapter.find(kind, key, evaluate_guards, hints)
        if graph is None and remote is not None:
            return _find_remote(adapter, functools.partial(original, cls), kind, key, remote, evaluate_guards, hints)
        cls._record_result(
            key, local_hit=graph is not None, local_miss=graph is None, remote_hit=False, remote_miss=False
        )
        return graph, content, _cache_info(found)

    patches.replace(GuardedCache, "find_guarded_entry", classmethod(find_guarded_entry))


def _find_remote(
    adapter: Adapter,
    original: Callable[..., Any],
    kind: str,
    key: str,
    remote: Any,
    evaluate_guards: Any,
    hints: list[int],
) -> tuple[Any, bytes | None, dict[str, Any]]:
    """PyTorch's own remote cache; what it has is kept locally too."""
    graph, content, info = original(key, False, remote, evaluate_guards, hints)
    recorder = original.args[0]._record_result  # type: ignore[attr-defined]
    recorder(key, local_hit=False, local_miss=True, remote_hit=False, remote_miss=False)
    if content is not None:
        try:
            adapter.write(kind, key, content)
        except guardcache.Error as error:
            _warn(f"a remote entry can't be kept locally: {error}")
    return graph, content, info


def _cache_info(found: guardcache.Hit | guardcache.Miss) -> dict[str, Any]:
    """What PyTorch's event log says about a lookup, and the reason in guardcache's words."""
    if isinstance(found, Hit):
        info: dict[str, Any] = {"cache_status_detailed": "hit"}
        if found.guards:
            info["cache_status_guard_expr"] = found.guards[0]
        return info
    judged = found.reason in (Reason.GUARD_FALSE, Reason.GUARD_ERROR)
    return {"cache_status_detailed": "guard_miss" if judged else "full_miss", "guardcache_reason": str(found.reason)}


def _plan_saving(patches: Patches, adapter: Adapter) -> None:
    for cls, kind, saver in ((FxGraphCache, entries.FX, "_save_graph"), (AOTAutogradCache, entries.AOT, "save")):
        patches.replace(cls, "_write_to_local_cache", staticmethod(_writer(cls, kind, adapter)))
        patches.replace(cls, saver, staticmethod(_saver(vars(cls)[saver].__func__, adapter)))
        patches.replace(cls, "clear", staticmethod(_clearer(cls, kind, adapter)))


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


def _plan_surroundings(patches: Patches, adapter: Adapter) -> None:
    load_with_key = vars(FxGraphCache)["load_with_key"].__func__
    prepare_key = vars(FxGraphCache)["prepare_key"].__func__
    try_load = vars(AOTAutogradCache)["try_load"].__func__
    autograd_cache_key = autograd_cache.autograd_cache_key
    lines_of_key = autograd_cache._get_debug_lines_for_cache_key

    @functools.wraps(load_with_key)
    def load(key: str, lines: list[str], inputs: Sequence[Any], *arguments: Any, **named: Any) -> Any:
        inside = named.get("evaluate_guards") is not None
        # Behind AOT's hit a hit is all but certain: then what the key was made of isn't worth its time.
        known = () if inside else lines
        suffix = " (backward)" if named.get("is_backward") else ""
        inputs_name = "inputs" if entries.canonical_key(key) is not None else "example_inputs"
        with adapter.asking(inputs, known, suffix, inputs_name):
            return load_with_key(key, lines, inputs, *arguments, **named)

    @functools.wraps(prepare_key)
    def prepare(*arguments: Any, **named: Any) -> Any:
        key, info = prepare_key(*arguments, **named)
        if key is None:
            adapter.bypassed(entries.FX, info.get("cache_bypass_reason", ""))
        return key, info

    @functools.wraps(try_load)
    def load_result(mod: Any, inputs: list[Any], *arguments: Any, **named: Any) -> Any:
        adapter.arguments(named.get("aot_config", arguments[0] if arguments else None))
        with adapter.asking(inputs):
            return try_load(mod, inputs, *arguments, **named)

    @functools.wraps(autograd_cache_key)
    def key_of_result(*arguments: Any, **named: Any) -> Any:
        try:
            return autograd_cache_key(*arguments, **named)
        except Exception as reason:
            adapter.bypassed(entries.AOT, str(reason))
            raise

    @functools.wraps(lines_of_key)
    def lines_for_later(pickler: Any, details: Any, key: str) -> list[str]:
        adapter.key_made(key, functools.partial(_lines, pickler, details))
        return lines_of_key(pickler, details, key)

    compile_graph = compile_fx._compile_fx_inner

    @functools.wraps(compile_graph)
    def compile_once(*arguments: Any, **named: Any) -> Any:
        with adapter.compiling():
            return compile_graph(*arguments, **named)

    patches.replace(compile_fx, "_compile_fx_inner", compile_once)
    patches.replace(FxGraphCache, "load_with_key", staticmethod(load))
    patches.replace(FxGraphCache, "prepare_key", staticmethod(prepare))
    patches.replace(AOTAutogradCache, "try_load", staticmethod(load_result))
    patches.replace(autograd_cache, "autograd_cache_key", key_of_result)
    patches.replace(autograd_cache, "_get_debug_lines_for_cache_key", lines_for_later)


def _lines(pickler: Any, details: Any) -> Sequence[str]:
    """What an AOT key is made of, as it was when the key was made: a part of the graph doesn't count."""
    with autograd_cache.sanitize_gm_for_cache(details.gm):
        lines = pickler.debug_lines(details)
        return [readable for line in lines for readable in _readable(line, pickler, details)]


def _readable(line: str, pickler: Any, details: Any) -> Sequence[str]:
    """PyTorch writes AOT's options as the bytes of a pickle, and its configuration as values without names."""
    digest, end, rest = line.partition("] ")
    name = rest.partition(": ")[0]
    if name == "autograd_config":
        options = pickle.loads(details.autograd_config)
        return [f"{digest}{end}{name}: " + "\n".join(f"{option} = {value}" for option, value in options.items())]
    if name == "aot_config":
        return labels.of_aot_config(details.aot_config, pickler.get_hash)
    return [line]


def _plan_binaries(patches: Patches, adapter: Adapter) -> None:
    load_by_key_path = vars(PyCodeCache)["load_by_key_path"].__func__
    load_async = vars(CppCodeCache)["load_async"].__func__

    @functools.wraps(load_by_key_path)
    def load_module(cls: Any, key: str, *arguments: Any, **named: Any) -> Any:
        return adapter.binaries.load_module(lambda: load_by_key_path(cls, key, *arguments, **named), key)

    def load_binary(cls: Any, /, main_code: str, device_type: str = "cpu", **named: Any) -> Any:
        asked = {"main_code": main_code, "device_type": device_type, **named}
        return adapter.binaries.load_async(functools.partial(load_async, cls), cls, asked)

    patches.replace(PyCodeCache, "load_by_key_path", classmethod(load_module))
    patches.replace(CppCodeCache, "load_async", classmethod(load_binary))


def _plan_triton(patches: Patches) -> None:
    """PyTorch asks for Triton with each save and each hit; where it isn't installed, all of Python's path is searched
    each time. `has_triton_package` is how PyTorch itself remembers that.
    """
    original = _triton.triton_backend

    @functools.wraps(original)
    def triton_backend() -> Any:
        if not _triton.has_triton_package():
            raise ModuleNotFoundError("No module named 'triton'", name="triton")
        return original()

    patches.replace(_triton, "triton_backend", triton_backend)
