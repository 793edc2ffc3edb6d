"""What decides what XLA makes of a module, as a description: the module's text, options, flags, devices.

JAX's own key is one hash of all that. Here each option and flag is a field of its own, so that a miss can name the one
that differs. What JAX leaves out of its key stays out: source locations, flags that only dump or log. What names things
stays out too, by the rules of the kind ``stablehlo``: functions that are renamed share.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from jax._src import cache_key as _cache_key
from jax._src import config
from jax._src.lib import version_str as jaxlib_version
from jax._src.lib.mlir import ir as _ir  # type: ignore[attr-defined]

from guardcache import Graph, Value
from guardcache._classes import NamedTuple

# JAX's functions are partly without types.
cache_key: Any = _cache_key
ir: Any = _ir

# Where XLA keeps tables of its own, and how much it logs: neither changes what it makes.
_NO_CONTENT = ("xla_gpu_per_fusion_autotune_cache_dir", "xla_gpu_kernel_cache_file", "xla_detailed_logging")

# Attributes of JAX's compile options that say something, by who has them.
_COMPILE_OPTIONS = (
    "num_replicas",
    "num_partitions",
    "parameter_is_tupled_arguments",
    "profile_version",
    "compile_portable_executable",
)
_BUILD_OPTIONS = (
    "use_spmd_partitioning",
    "use_auto_spmd_partitioning",
    "use_shardy_partitioner",
    "optimization_level",
    "exec_time_optimization_effort",
    "memory_fitting_level",
    "memory_fitting_effort",
)
# Whether XLA may choose how arguments and results are spread over devices.
_SPREADING = ("allow_spmd_sharding_propagation_to_parameters", "allow_spmd_sharding_propagation_to_output")

# Constants of more elements are left out of the text; what stands there instead.
_LARGE_CONSTANT = 1024
_LEFT_OUT = "__elided__"

# Options are few in a process; a program that makes them up endlessly must not fill its memory with them.
_REMEMBERED = 1024


class _Options(NamedTuple):
    options: dict[str, Any]
    flags: dict[str, Any]
    others: str
    """The hash of those that have no name here."""


_options: dict[tuple[Any, ...], _Options] = {}
_environments: WeakKeyDictionary[Any, dict[tuple[int, ...], dict[str, Any]]] = WeakKeyDictionary()
"""By the backend, which isn't kept alive, and the devices' numbers."""


def describe(module: Any, devices: Any, options: Any, backend: Any) -> Graph:
    """The arguments are those of JAX's `cache_key.get`."""
    graph = Graph("stablehlo")
    for name, value in (*_module(module), *_asked_for(module)):
        graph.component(name, value)
    described = _describe_options(options, backend.platform)
    graph.component("options", described.options)
    graph.component("flags", described.flags)
    graph.component("other_options", described.others)
    graph.component("environment", _environment(devices, backend))
    return graph


def _module(module: Any) -> Iterator[tuple[str, Value]]:
    """The text, and of constants that would make most of it their hashes instead."""
    if config.remove_custom_partitioning_ptr_from_cache_key.value:
        module = cache_key._remove_callbacks(module.operation.clone(), cache_key.IgnoreCallbacks.CUSTOM_PARTITIONING)
    text = _text(module, large_elements_limit=_LARGE_CONSTANT)
    left_out = text.count(_LEFT_OUT)
    constants = _large_constants(module) if left_out else []
    if len(constants) != left_out:
        # Something else is large than constants that Python can read.
        text, constants = _text(module), []
    yield "module", text
    if constants:
        yield "large_constants", constants


def _text(module: Any, **options: Any) -> str:
    found: str = module.operation.get_asm(enable_debug_info=False, assume_verified=True, **options)
    return found


def _large_constants(module: Any) -> list[Value]:
    """Their hashes, in the order of the text."""
    found: list[Value] = []

    def visit(operation: Any) -> Any:
        if operation.name == "stablehlo.constant":
            value = operation.attributes["value"]
            if isinstance(value, ir.DenseElementsAttr) and not value.is_splat and len(value) > _LARGE_CONSTANT:
                found.append(hashlib.sha256(np.array(value, copy=False).data).hexdigest())
        return ir.WalkResult.ADVANCE

    with contextlib.suppress(Exception):  # Of a type that has no buffer in Python, as bfloat16.
        module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _asked_for(module: Any) -> Iterator[tuple[str, Value]]:
    """What counts only where the user asked for it."""
    if config.compilation_cache_include_metadata_in_key.value:
        text = module.operation.get_asm(enable_debug_info=True, assume_verified=True)
        yield "metadata", hashlib.sha256(text.encode()).hexdigest()
    if hook := cache_key.custom_hook():
        yield "custom_hook", hook


# ---- options and flags ----


def _describe_options(options: Any, platform: str) -> _Options:
    key = (options.SerializeAsString(), platform, *_given_flags())
    found = _options.get(key)
    if found is None:
        if len(_options) >= _REMEMBERED:
            _options.clear()
        found = _options[key] = _read_options(options, platform)
    return found


def _read_options(given: Any, platform: str) -> _Options:
    options = copy.deepcopy(given)
    build = options.executable_build_options
    flags = dict(_split(_given_flags()))
    # What XLA has read of the flags counts, not how they were written.
    flags |= _take(build.debug_options, _debug_names(build.debug_options.__class__))
    flags |= dict(options.env_option_overrides)
    options.env_option_overrides = []
    named = _take(options, _COMPILE_OPTIONS) | _take(build, _BUILD_OPTIONS)
    named |= _take_rows(options, build)
    # On GPUs each process of a job has other devices, and all of them share.
    same_devices = platform == "gpu"
    if not same_devices:
        named |= _take_devices(options, build)
    if build.fdo_profile:
        named["fdo_profile"] = hashlib.sha256(build.fdo_profile).hexdigest()
        build.fdo_profile = b""
    rest = hashlib.sha256()
    cache_key._hash_serialized_compile_options(rest, options, strip_device_assignment=same_devices)
    counting = {name: _plain(value) for name, value in flags.items() if _counts(name)}
    return _Options(named, counting, rest.hexdigest())


@functools.cache
def _debug_names(kind: Any) -> tuple[str, ...]:
    return tuple(name for name in dir(kind) if name.startswith("xla_"))


def _take(holder: Any, names: Iterable[str]) -> dict[str, Any]:
    """The attributes, which are empty afterwards: what has a name needn't make the others differ."""
    taken: dict[str, Any] = {}
    for name in names:
        value = getattr(holder, name, None)
        if value is not None:
            taken[name] = value
            if value and isinstance(value, (bool, int, float, str)):
                setattr(holder, name, type(value)())
    return taken


def _take_rows(options: Any, build: Any) -> dict[str, str]:
    """What each argument and result may be like."""
    taken = {name: str(list(getattr(build, name))) for name in _SPREADING}
    for name in _SPREADING:
        setattr(build, name, [False])
    # Layouts that are set can't be unset, so they count twice.
    layouts = {"argument_layouts": options.argument_layouts, "result_layout": build.result_layout}
    return taken | {name: str(layout) for name, layout in layouts.items() if layout is not None}


def _take_devices(options: Any, build: Any) -> dict[str, str]:
    given, within = options.device_assignment, build.device_assignment
    if given is None or within is None or given.serialize() != within.serialize():
        return {}
    options.device_assignment = build.device_assignment = given.create(np.zeros((1, 1), np.int32))
    return {"device_assignment": str(given)}


def _plain(value: Any) -> bool | int | float | str:
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def _given_flags() -> tuple[str, ...]:
    """The user's flags, where JAX looks for them too."""
    prefixes = ("--xla", *cache_key.get_flag_prefixes())
    given = [*os.environ.get("XLA_FLAGS", "").split(), *os.environ.get("LIBTPU_INIT_ARGS", "").split()]
    return (*given, *(argument for argument in sys.argv if argument.startswith(prefixes)))


def _split(flags: Iterable[str]) -> Iterator[tuple[str, str]]:
    for flag in flags:
        name, _, value = flag.lstrip("-").partition("=")
        if _counts(name):
            yield name, value


def _counts(flag: str) -> bool:
    return flag not in _NO_CONTENT and flag not in cache_key.env_override_flags_to_exclude_from_cache_key


# ---- devices and versions ----


def _environment(devices: Any, backend: Any) -> dict[str, Any]:
    of_backend = _environments.setdefault(backend, {})
    numbers = tuple(device.id for device in devices.flat)
    found = of_backend.get(numbers)
    if found is None:
        if len(of_backend) >= _REMEMBERED:
            of_backend.clear()
        found = of_backend[numbers] = {
            "jax": jaxlib_version,
            "platform": backend.platform,
            "platform_version": backend.platform_version,
            "devices": sorted({device.device_kind for device in devices.flat}),
            "topology": topology_of(devices),
        }
    return found


def topology_of(devices: Any) -> str:
    """JAX's hash of it."""
    found = hashlib.sha256()
    cache_key._hash_accelerator_config(found, devices)
    return found.hexdigest()
