"""Puts the adapter under numba, as far as numba's private functions are where they are expected."""

from __future__ import annotations

import logging
import os
from typing import Any

import numba

from guardcache import Cache
from guardcache.adapter import Adapter, Installation, Part, Patches, Seam, check, usable

log = logging.getLogger("guardcache.numba")

FUNCTIONS = Part(
    "functions",
    "jitted functions",
    (
        Seam("numba.core.dispatcher:Dispatcher.compile", "function", "self, sig"),
        Seam("numba.core.dispatcher:Dispatcher.enable_caching", "function", "self"),
        Seam(
            "numba.core.caching:_Cache.load_overload",
            "function",
            "self, sig, target_context",
            "numba.core.dispatcher:Dispatcher.compile",
        ),
        Seam(
            "numba.core.caching:_Cache.save_overload",
            "function",
            "self, sig, data",
            "numba.core.dispatcher:Dispatcher.compile",
        ),
        Seam("numba.core.caching:_Cache.cache_path"),
        Seam("numba.core.compiler:CompileResult._reduce", "function", "self"),
        Seam(
            "numba.core.compiler:CompileResult._rebuild",
            "class",
            "cls, target_context, libdata, fndesc, env, signature, objectmode, lifted, typeann, reload_init, "
            "referenced_envs",
        ),
        Seam("numba.core.codegen:CPUCodeLibrary.serialize_using_object_code", "function", "self"),
        Seam("numba.core.codegen:CPUCodeLibrary._unserialize", "class", "cls, codegen, state"),
        Seam("numba.core.codegen:CPUCodeLibrary._get_module_for_linking", "function", "self"),
        Seam("numba.core.codegen:CPUCodeLibrary._finalize_final_module", "function", "self"),
        Seam("numba.core.codegen:JITCPUCodegen.set_env", "function", "self, env_name, env"),
        Seam("numba.core.codegen:CodeLibrary._set_compiled_object", "function", "self, value"),
        Seam("numba.core.codegen:CPUCodegen.magic_tuple", "function", "self"),
        Seam("numba.core.bytecode:FunctionIdentity._unique_ids"),
        Seam("numba.core.environment:Environment._memo"),
        Seam("numba.core.serialize:NumbaPickler"),
        Seam("numba.core.datamodel.registry:default_manager"),
        Seam("numba.core.compiler_lock:global_compiler_lock"),
    ),
)

LINES = Part(
    "lines",
    "lines of functions that have moved, in tracebacks",
    (Seam("numba.core.serialize:_numba_unpickle", "function", "address, bytedata, hashed"),),
    needs=("functions",),
)

PARTS = (FUNCTIONS, LINES)

_here: Installation[Adapter] = Installation("guardcache.numba")


def install(cache: Cache | str | os.PathLike[str] | None = None, **options: Any) -> None:
    """Puts guardcache under numba: every function that this process jits from now on is looked up before it is
    compiled, with or without ``cache=True``.

    `cache` is an open cache, a directory, or None for the default directory, opened with `options` of
    `guardcache.Cache`. Installing again replaces what was installed before. Install before anything is compiled: what
    calls functions that were compiled before isn't cached.

    No list of versions decides whether this numba is known: each function that is replaced is compared with what the
    adapter expects. `SeamsMovedError` if one of them has moved.
    """
    with _here.lock:
        uninstall()
        chosen = usable(PARTS, project=f"numba {numba.__version__}", log=log, base=FUNCTIONS)
        adapter = Adapter("numba", cache, kind="numba", **options)

        def plan(patches: Patches) -> None:
            from guardcache.numba import _functions, _lines

            _functions.Functions(adapter).plan(patches)
            if LINES in chosen:
                _lines.plan(patches)

        _here.put(adapter, plan)


def uninstall() -> None:
    """Puts numba's own functions back. Nothing happens if `install` wasn't called."""
    _here.remove()


def current() -> Adapter:
    """The adapter that is installed: its lookups, listeners and cache. `NotInstalledError` if there is none."""
    return _here.current()


def is_installed() -> bool:
    return bool(_here)


def moved() -> dict[str, list[str]]:
    """What this numba has moved under each part of the adapter: nothing where the part works.

    >>> moved()["functions"]
    []
    """
    return check(PARTS)
