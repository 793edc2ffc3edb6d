"""JAX's `compile_or_get_cached`, with guardcache in the place of JAX's own store.

Which options a module is compiled with, and what a profile changes about that, JAX's own strategy decides. It asks for
keys and whether something is stored under them; here a key has the description with it that it was made from.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Sequence
from typing import Any

from jax._src import compilation_cache, compiler, config, distributed, monitoring, traceback_util, util
from jax._src.interpreters import mlir

from guardcache import Compiled, Graph, Hit
from guardcache._classes import NamedTuple
from guardcache.adapter import Adapter, Patches, Task
from guardcache.jax._describe import describe
from guardcache.jax._share import agrees, announce
from guardcache.jax._store import CALLBACKS, Verification, compiled_of

traceback_util.register_exclusion(__file__)

EVENTS = "/jax/compilation_cache/"

# What is compiled with a profile, and lies beside what is compiled to collect one.
PROFILED = "pgle"

# How long to wait for another process that compiles the same. One that is stopped, in a debugger or by its shell, holds
# its lease for as long as it lives. Most compiles take less, and what takes longer is compiled twice at worst.
PATIENCE_SECONDS = 120.0


class CacheKey(str):
    """A key as JAX passes it around, with what it was made from and what is to be stored under it."""

    graph: Graph | None = None
    bypass: str = ""
    """Why there is no description."""
    variant: str | None = None
    compiled: Compiled | None = None

    def describe(self) -> Graph:
        if self.graph is None:
            raise ValueError(self.bypass)
        return self.graph


def plan(patches: Patches, adapter: Adapter) -> None:
    """Replaces what asks JAX's store; the parameters are those of JAX's functions."""
    verification = Verification(adapter.cache)

    def compile_or_get_cached(
        backend: Any,
        computation: Any,
        devices: Any,
        compile_options: Any,
        host_callbacks: Sequence[Any],
        executable_devices: Any,
        pgle_profiler: Any = None,
    ) -> Any:
        module = _Module(backend, computation, devices, host_callbacks, executable_devices)
        return _Compilation(adapter, verification, module, compile_options, pgle_profiler).run()

    def is_executable_in_cache(backend: Any, cache_key: CacheKey) -> bool:
        if cache_key.graph is None:
            return False
        return bool(adapter.cache.lookup(cache_key.graph, accept_renames=True, variant=cache_key.variant))

    def cache_write(
        cache_key: CacheKey,
        compile_time_secs: float,
        module_name: str,
        backend: Any,
        executable: Any,
        host_callbacks: Sequence[Any],
    ) -> None:
        compiled = compiled_of(cache_key, compile_time_secs, module_name, backend, executable, host_callbacks)
        if cache_key.graph is not None and compiled.do_not_store is None:
            verification.verify(cache_key, cache_key.graph, compiled)
        cache_key.compiled = compiled

    patches.set(compiler, "compile_or_get_cached", compile_or_get_cached)
    patches.set(compiler, "_get_cache_key", get_cache_key)
    patches.set(compiler, "_is_executable_in_cache", is_executable_in_cache)
    patches.set(compiler, "_cache_write", cache_write)


def get_cache_key(
    options: Any, backend: Any, computation: Any, devices: Any, override_fdo_profile: bytes | None = None
) -> CacheKey | None:
    """None where there is no caching for a backend, or it is disabled."""
    if not compilation_cache.is_cache_used(backend):
        return None
    if override_fdo_profile is not None:
        options = copy.deepcopy(options)
        options.executable_build_options.fdo_profile = override_fdo_profile
    name = module_name_of(computation)
    try:
        graph = describe(computation, devices, options, backend)
        key = CacheKey(f"{name}-{graph.key}")
        key.graph = graph
    except Exception as error:
        compiler.logger.error("compile_or_get_cached: unable to generate cache key, skipping the cache: %s", error)
        key = CacheKey(name)
        key.bypass = str(error)
    key.variant = PROFILED if override_fdo_profile is not None else None
    return key


def module_name_of(module: Any) -> str:
    name: str = module.operation.attributes["sym_name"].value
    return name


class _Module(NamedTuple):
    """What JAX wants compiled, and for whom."""

    backend: Any
    computation: Any
    devices: Any
    host_callbacks: Sequence[Any]
    executable_devices: Any

    @property
    def name(self) -> str:
        return module_name_of(self.computation)

    @property
    def first_process(self) -> int:
        """The process that compiles for all, if they share."""
        process: int = min(self.devices.flat, key=lambda device: device.id).process_index
        return process

    @property
    def many_processes(self) -> bool:
        return len({device.process_index for device in self.devices.flat}) > 1

    @property
    def shared(self) -> bool:
        """One process compiles, and sends it to the others; what calls back can't be sent."""
        client = distributed.global_state.client
        wanted = self.many_processes and config.share_binary_between_hosts.value
        return wanted and client is not None and not self.host_callbacks


class _Compilation:
    """One call of `compile_or_get_cached`."""

    def __init__(
        self, adapter: Adapter, verification: Verification, module: _Module, options: Any, profiler: Any
    ) -> None:
        self._adapter, self._verification, self._module = adapter, verification, module
        self._options, self._profiler = options, profiler
        self._key = CacheKey()
        self._unreadable: Exception | None = None
        """What an entry raised, if that is to be raised."""
        self._began = 0.0

    def run(self) -> Any:
        module = self._module
        if dumped_to := mlir.dump_module_to_file(module.computation, "compile"):
            compiler.logger.info("Dumped the module to %s.", dumped_to)
        key, self._options = compiler._resolve_compilation_strategy(
            module.computation,
            module.devices,
            self._options,
            module.backend,
            self._profiler,
            module.many_processes,
            module.name,
            module.first_process,
        )
        if key is None:
            return compiler.backend_compile_and_load(
                module.backend, module.computation, module.executable_devices, self._options, module.host_callbacks
            )
        assert isinstance(key, CacheKey)
        self._key = key
        monitoring.record_event(EVENTS + "compile_requests_use_cache")
        if module.shared:
            announce(distributed.global_state, module.devices, module.first_process)
        self._began = time.monotonic()
        return self._adapter.compile(self._task(), self._build, self._load)

    def _task(self) -> Task:
        return Task(
            describe=self._key.describe,
            label=self._module.name,
            # An executable isn't looked up by the names in it.
            accept_renames=True,
            variant=self._key.variant,
            bypass=CALLBACKS if self._module.host_callbacks else None,
            refresh=self._verification.wanted(self._key),
            reader=distributed.global_state.process_id != 0,
            lease_timeout=PATIENCE_SECONDS,
        )

    def _load(self, hit: Hit) -> Any:
        module = self._module
        try:
            executable = module.backend.deserialize_executable(
                bytes(hit.payload), module.executable_devices, self._options
            )
        except Exception as error:
            if config.raise_persistent_cache_errors.value:
                self._unreadable = error
            else:
                told = f"{type(error).__name__}: {error}"
                warnings.warn(
                    f"Error reading persistent compilation cache entry for '{module.name}': {told}", stacklevel=2
                )
            raise
        seconds = time.monotonic() - self._began
        compiler.log_persistent_cache_hit(module.name, self._key)
        monitoring.record_event(EVENTS + "cache_hits")
        monitoring.record_event_duration_secs(EVENTS + "compile_time_saved_sec", hit.compile_ns / 1e9 - seconds)
        monitoring.record_event_duration_secs(EVENTS + "cache_retrieval_time_sec", seconds)
        return executable

    def _build(self) -> tuple[Any, Compiled]:
        if self._unreadable is not None:
            raise self._unreadable
        util.test_event("compile_after_persistent_compilation_miss")
        compiler.log_persistent_cache_miss(self._module.name, self._key)
        executable = self._compile()
        # A process that was sent the executable has written nothing.
        return executable, self._key.compiled or Compiled(b"", do_not_store="another process of the job stores it")

    def _compile(self) -> Any:
        module = self._module
        what = (module.backend, module.computation, module.executable_devices, self._options, module.host_callbacks)
        if not (module.shared and agrees(distributed.global_state, module.devices, module.first_process)):
            return compiler._compile_and_write_cache(*what, module.name, self._key)
        client = distributed.global_state.client
        return compiler._compile_and_share_module(*what, client, module.name, self._key, module.first_process)
