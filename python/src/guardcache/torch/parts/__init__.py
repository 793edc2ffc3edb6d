"""The parts of the adapter: which of PyTorch's private functions each replaces or calls, and how it finds them.

A part whose seams are as written here is used, by the module of its name in this folder; one of which a seam has moved
is left out, and the others work all the same. Nothing of PyTorch is imported here.
"""

from __future__ import annotations

from guardcache.adapter import Part, Seam

_CODECACHE = "torch._inductor.codecache:"
_AOT = "torch._functorch._aot_autograd.autograd_cache:"
_SHAPES = "torch.fx.experimental.symbolic_shapes:"
_COMPILE = "torch._inductor.compile_fx:_compile_fx_inner"
_FX_GRAPH = _CODECACHE + "FxGraphCache."
_AOT_GRAPH = _AOT + "AOTAutogradCache."
_FRAMES = "torch._dynamo.convert_frame:"
_GUARDS = "torch._dynamo.guards:"
_PGO = "torch._dynamo.pgo:"
_FIND = "cls, key, local, remote_cache, evaluate_guards, hints"
_RECORD = "cls, key, local_hit, local_miss, remote_hit, remote_miss"

LOCAL_AUTOTUNE = (
    "torch._inductor.remote_cache:LocalAutotuneCache|torch._inductor.runtime.autotune_cache:LocalAutotuneCache"
)
"""PyTorch's records of best configurations: where they are since 2.13, and before."""

LOCAL_BACKEND = (
    "torch._inductor.remote_cache:LocalCacheBackend|torch._inductor.runtime.autotune_cache:_LocalAutotuneCacheBackend"
)
"""Where PyTorch itself keeps them."""

BASE = Part(
    "base",
    "what all parts stand on",
    (
        Seam("torch._inductor.runtime.cache_dir_utils:cache_dir", "function", ""),
        Seam("torch._inductor.cpu_vec_isa:x86_isa_checker", "callable", ""),
        Seam("torch.utils._dtype_abbrs:dtype_abbrs"),
        Seam("torch._guards:TracingContext.try_get", "static", ""),
        Seam("torch._inductor.config:force_disable_caches"),
        Seam("torch._inductor.config:fx_graph_cache"),
        Seam("torch._inductor.config:cpp.cxx"),
    ),
)

GRAPHS = Part(
    "graphs",
    "Inductor's graph cache",
    (
        Seam(_FX_GRAPH + "find_guarded_entry", "class", _FIND, used_in=_FX_GRAPH + "_lookup_graph"),
        Seam(_FX_GRAPH + "_record_result", "class", _RECORD),
        Seam(_FX_GRAPH + "_write_to_local_cache", "static", "key, content", used_in=_FX_GRAPH + "_save_graph"),
        Seam(_FX_GRAPH + "_save_graph", "static", "key, compiled_graph, ...", used_in=_COMPILE),
        Seam(_FX_GRAPH + "clear", "static", ""),
        Seam(_FX_GRAPH + "load_with_key", "static", "key, debug_lines, example_inputs, ...", used_in=_COMPILE),
        Seam(_FX_GRAPH + "prepare_key", "static", "...", used_in=_COMPILE),
        Seam(_COMPILE, "function", "...", used_in="torch._inductor.compile_fx:compile_fx_inner"),
        Seam("torch._inductor.virtualized:V.aot_compilation"),
        Seam(_SHAPES + "ShapeEnv.evaluate_guards_expression", "function", "self, code, args"),
    ),
)

AOT = Part(
    "aot",
    "AOTAutograd's cache",
    (
        Seam(_AOT_GRAPH + "find_guarded_entry", "class", _FIND, used_in=_AOT_GRAPH + "_lookup"),
        Seam(_AOT_GRAPH + "_record_result", "class", _RECORD),
        Seam(_AOT_GRAPH + "_write_to_local_cache", "static", "key, content", used_in=_AOT_GRAPH + "save"),
        Seam(_AOT_GRAPH + "save", "static", "key, entry, ..."),
        Seam(_AOT_GRAPH + "clear", "static", ""),
        Seam(_AOT_GRAPH + "try_load", "static", "mod, args, aot_config, ..."),
        Seam(_AOT_GRAPH + "evaluate_guards", "static", "guard_expr, hints"),
        Seam(_AOT + "autograd_cache_key", "function", "...", used_in=_AOT_GRAPH + "try_load"),
    ),
)

NAMES = Part(
    "names",
    "what AOT's keys are made of, in words",
    (
        Seam(_AOT + "AOTAutogradCachePickler.get_hash", "function", "self, obj", used_in=_AOT + "autograd_cache_key"),
        Seam(_AOT + "AOTAutogradCachePickler.debug_lines", "function", "self, inp"),
        Seam(_AOT + "AOTAutogradCacheDetails", "callable"),
        Seam(_AOT + "sanitize_gm_for_cache", "function", "gm"),
    ),
    needs=("aot",),
)

BINARIES = Part(
    "binaries",
    "shared objects kept with their graphs",
    (
        Seam(_CODECACHE + "PyCodeCache.load_by_key_path", "class", "cls, key, path, ..."),
        Seam(_CODECACHE + "CppCodeCache.load_async", "class", "cls, main_code, device_type, submit_fn, ..."),
        Seam(_CODECACHE + "CppCodeCache._load_library", "class", "cls, path, key"),
    ),
)

TUNING = Part(
    "tuning",
    "tuning tables",
    (
        Seam(_CODECACHE + "PersistentCache.lookup", "function", "self, choices, op, inputs, benchmark, hint_override"),
        Seam(_CODECACHE + "CacheBase.get_system", "callable", ""),
        Seam(_CODECACHE + "LocalCache.lookup", "function", "self, *keys"),
        Seam(_CODECACHE + "LocalCache.set_value", "function", "self, *keys, value"),
        Seam("torch._inductor.config:autotune_local_cache"),
        Seam(LOCAL_AUTOTUNE, "callable"),
        Seam(LOCAL_BACKEND, "callable", ""),
        Seam(
            "torch._inductor.remote_cache:RemoteCache.backend_override_cls",
            used_in="torch._inductor.remote_cache:RemoteCache.__init__",
        ),
        Seam("torch._inductor.remote_cache:RemoteCacheBackend._get", "function", "self, key"),
        Seam("torch._inductor.remote_cache:RemoteCacheBackend._put", "function", "self, key, data"),
    ),
)

TRITON = Part(
    "triton",
    "remembering that Triton isn't installed",
    (
        Seam("torch.utils._triton:triton_backend", "cached", ""),
        Seam("torch.utils._triton:has_triton_package", "cached", ""),
    ),
)

CANONICAL = Part(
    "canonical",
    "guardcache's own keys",
    (
        Seam(
            _CODECACHE + "compiled_fx_graph_hash",
            "function",
            "gm, example_inputs, fx_kwargs, inputs_to_check",
            used_in=_FX_GRAPH + "prepare_key",
        ),
        Seam(_CODECACHE + "FxGraphHashDetails", "callable", "gm, example_inputs, fx_kwargs, inputs_to_check"),
        Seam(_CODECACHE + "FxGraphCachePickler", "callable", "gm, ..."),
        Seam(_CODECACHE + "FxGraphCachePickler.get_hash", "function", "self, obj"),
        Seam("torch._inductor.freezing_utils:is_frozen_param", "function", "t"),
        Seam("torch._inductor.graph:GraphLowering.can_inline_constant", "static", "t"),
        Seam("torch.fx.graph_module:_get_attr", "function", "model, attr_name"),
    ),
)

PRECOMPILE = Part(
    "precompile",
    "Dynamo's frames",
    (
        Seam(
            _FRAMES + "_compile",
            "function",
            "code, globals, locals, builtins, closure, compiler_fn, one_graph, export, export_constraints, hooks, ...",
            used_in=_FRAMES + "ConvertFrameAssert.__call__",
        ),
        Seam(
            _GUARDS + "CheckFunctionManager.serialize_guards",
            "function",
            "self, builder, sorted_guards, output_graph",
            used_in=_GUARDS + "CheckFunctionManager.__init__",
        ),
        Seam(_GUARDS + "CheckFunctionManager", "callable", "f_code, output_graph, ..."),
        Seam(_GUARDS + "convert_int_to_concrete_values", "function", "dim"),
        Seam(_GUARDS + "_get_closure_vars", "function", ""),
        Seam("torch._dynamo.package:SerializedCode.to_code_object", "class"),
        Seam("torch._dynamo.output_graph:OutputGraphCommon", "callable", "output_graph_guards_state, ..."),
        Seam("torch._dynamo.output_graph:OutputGraphGuardsState.dump_guards_state", "function", "self"),
        Seam("torch._dynamo.output_graph:get_builtins_dict", "function", "global_scope"),
        Seam("torch._dynamo.types:GuardedCode", "callable", "code, guard_manager, compile_id, trace_annotation"),
        Seam("torch._dynamo.eval_frame:innermost_backend", "function", "fn"),
        Seam("torch._inductor.config:_cache_config_ignore_prefix"),
        Seam("torch._inductor.config:get_config_copy", "callable"),
        Seam(_FRAMES + "output_codes.add"),
        Seam(_FRAMES + "orig_code_map"),
        Seam(_AOT + "should_bundle_autograd_cache", "function", ""),
        Seam("torch._functorch._aot_autograd.graph_compile:should_bundle_autograd_cache", "function", ""),
        Seam(_AOT_GRAPH + "make_entry", "static", "compiled_fw_func, compiled_bw_func, ..."),
        Seam("torch._dynamo.precompile_context:PrecompileContext.record_artifact", "class", "cls, artifact"),
        Seam("torch._dynamo.variables.builder:record_automatic_dynamic", "function", "tx, name, e"),
        Seam(_PGO + "process_automatic_dynamic", "function", "tx, name, entry, ..."),
        Seam(_PGO + "FrameStateSizeEntry.make_scalar", "class", "cls, x"),
        Seam(
            "torch._functorch._aot_autograd.aot_autograd_result:BundledAOTAutogradCacheArtifact",
            "callable",
            "key, content",
        ),
    ),
    needs=("aot",),
)

DYNAMO = Part(
    "dynamo",
    "Dynamo's reasons in explanations",
    (
        Seam(_FRAMES + "get_and_maybe_log_recompilation_reasons", "function", "...", used_in=_FRAMES + "_compile"),
        Seam(
            _PGO + "update_automatic_dynamic",
            "function",
            "tx, name, entry, *, ...",
            used_in=_PGO + "process_automatic_dynamic",
        ),
        Seam(_PGO + "get_code_state", "function", ""),
        Seam(_PGO + "CodeId.make", "static", "code, closure"),
        Seam("torch._guards:CompileContext.current_compile_id", "static", ""),
    ),
)

CACHES = (GRAPHS, AOT)
"""Of these one must be there, or there is nothing to do."""

PARTS = (GRAPHS, AOT, NAMES, BINARIES, TUNING, TRITON, DYNAMO)
"""What is used wherever it can be."""
