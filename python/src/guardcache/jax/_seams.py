"""Which of JAX's private functions the adapter replaces or calls. Nothing of JAX is imported here."""

from __future__ import annotations

from guardcache.adapter import Part, Seam

_COMPILER = "jax._src.compiler:"
_KEY = "jax._src.cache_key:"
_STRATEGY = _COMPILER + "_resolve_compilation_strategy"
_COMPILE = "backend, computation, executable_devices, compile_options, host_callbacks, module_name, cache_key"

# Settings that are read.
_SETTINGS = (
    "compilation_cache_check_contents",
    "compilation_cache_expect_pgle",
    "compilation_cache_include_metadata_in_key",
    "explain_cache_misses",
    "persistent_cache_min_compile_time_secs",
    "persistent_cache_min_entry_size_bytes",
    "raise_persistent_cache_errors",
    "remove_custom_partitioning_ptr_from_cache_key",
    "share_binary_between_hosts",
    "share_binary_between_hosts_timeout_ms",
)

COMPILES = Part(
    "compiles",
    "JAX's persistent compilation cache",
    (
        # Replaced.
        Seam(
            _COMPILER + "compile_or_get_cached",
            "function",
            "backend, computation, devices, compile_options, host_callbacks, executable_devices, pgle_profiler",
        ),
        Seam(
            _COMPILER + "_get_cache_key",
            "function",
            "options, backend, computation, devices, override_fdo_profile",
            used_in=_STRATEGY,
        ),
        Seam(_COMPILER + "_is_executable_in_cache", "function", "backend, cache_key", used_in=_STRATEGY),
        Seam(
            _COMPILER + "_cache_write",
            "function",
            "cache_key, compile_time_secs, module_name, backend, executable, host_callbacks",
            used_in=_COMPILER + "_compile_and_write_cache",
        ),
        # Called.
        Seam(
            _STRATEGY,
            "function",
            "computation, devices, compile_options, backend, pgle_profiler, is_multi_process, module_name, "
            "min_device_process_id",
        ),
        Seam(_COMPILER + "_compile_and_write_cache", "function", _COMPILE),
        Seam(
            _COMPILER + "_compile_and_share_module",
            "function",
            _COMPILE.replace("module_name", "global_client, module_name") + ", first_process_id",
        ),
        Seam(
            _COMPILER + "backend_compile_and_load",
            "callable",
            "backend, module, executable_devices, options, host_callbacks",
        ),
        Seam(_COMPILER + "log_persistent_cache_hit", "function", "module_name, cache_key"),
        Seam(_COMPILER + "log_persistent_cache_miss", "function", "module_name, cache_key"),
        Seam("jax._src.compilation_cache:is_cache_used", "function", "backend"),
        Seam("jax._src.interpreters.mlir:dump_module_to_file", "function", "module, stage_name"),
        Seam("jax._src.distributed:global_state.process_id"),
        Seam("jax._src.lib:version_str"),
        Seam("jax._src.util:test_event", "function", "name, *args"),
        # What is in JAX's key, and what isn't.
        Seam(_KEY + "_remove_callbacks", "function", "m, ignore_callbacks"),
        Seam(
            _KEY + "_hash_serialized_compile_options",
            "function",
            "hash_obj, compile_options_obj, strip_device_assignment",
        ),
        Seam(_KEY + "_hash_accelerator_config", "function", "hash_obj, accelerators"),
        Seam(_KEY + "env_override_flags_to_exclude_from_cache_key"),
        Seam(_KEY + "get_flag_prefixes", "function", ""),
        Seam(_KEY + "custom_hook", "function", ""),
        *(Seam(f"jax._src.config:{name}") for name in _SETTINGS),
    ),
)

_SHAPES = "jax._src.export.shape_poly:"

EXPORTS = Part(
    "exports",
    "exported functions",
    (
        Seam(_SHAPES + "solve_dim_vars", "callable"),
        Seam(_SHAPES + "ShapeConstraint", "callable", "comp, left, right, error_message_pieces"),
        Seam(_SHAPES + "Comparator.GEQ"),
        Seam(_SHAPES + "SymbolicScope._parse_and_process_explicit_constraint"),
        Seam("jax._src.config:config_states"),
        Seam("jax._src.config:config_ext.Config", "callable"),
        Seam("jax._src.config:State", "callable"),
        Seam("jax._src.core:is_symbolic_dim", "function", "v"),
        Seam("jax._src.core:Primitive", "callable"),
        Seam("jax._src.dtypes:ExtendedDType", "callable"),
        Seam("jax._src.export._export:serialization_registry"),
        Seam("jax._src.interpreters.mlir:_lowerings"),
        Seam("jax._src.interpreters.mlir:_platform_specific_lowerings"),
        Seam("jax._src.mesh:AbstractMesh", "callable"),
        Seam("jax._src.named_sharding:UnspecifiedValue", "callable"),
        Seam("jax._src.stages:Traced._params"),
        Seam("jax.extend.random:threefry_prng_impl"),
        Seam("jax.extend.random:rbg_prng_impl"),
        Seam("jax.extend.random:unsafe_rbg_prng_impl"),
    ),
)
