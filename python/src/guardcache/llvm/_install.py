"""Puts the adapter under llvmlite, as far as its functions are where they are expected."""

from __future__ import annotations

import logging
import os
from typing import Any

import llvmlite

from guardcache import Cache
from guardcache.adapter import Adapter, Installation, Part, Patches, Seam, check, usable

log = logging.getLogger("guardcache.llvm")

ENGINES = Part(
    "engines",
    "MCJIT engines",
    (
        Seam("llvmlite.binding.targets:Target.create_target_machine", "function", "self, cpu, features, opt, ..."),
        Seam("llvmlite.binding.targets:TargetMachine.emit_object", "function", "self, module"),
        Seam("llvmlite.binding.executionengine:create_mcjit_compiler", "function", "module, target_machine, ..."),
        Seam(
            "llvmlite.binding.executionengine:ExecutionEngine.set_object_cache",
            "function",
            "self, notify_func, getbuffer_func",
        ),
        Seam("llvmlite.binding.options:set_option", "function", "name, option"),
        Seam("llvmlite.binding.module:ModuleRef.clone", "function", "self"),
        Seam("llvmlite.binding:create_mcjit_compiler"),
        Seam("llvmlite.binding:set_option"),
    ),
)

_here: Installation[Adapter] = Installation("guardcache.llvm")


def install(cache: Cache | str | os.PathLike[str] | None = None, **options: Any) -> None:
    """Puts guardcache under llvmlite: every MCJIT engine that is made from now on asks it for object code, after an
    object cache of the program's own. Target machines have to be made later, too: their options are part of the key.

    `cache` is an open cache, a directory, or None for the default directory, opened with `options` of
    `guardcache.Cache`. Installing again replaces what was installed before. `SeamsMovedError` if a function that is
    replaced isn't as the adapter expects it.
    """
    with _here.lock:
        uninstall()
        usable((ENGINES,), project=f"llvmlite {llvmlite.__version__}", log=log, base=ENGINES)
        adapter = Adapter("llvm", cache, kind="llvm-ir", **options)

        def plan(patches: Patches) -> None:
            from guardcache.llvm._engines import Engines

            Engines(adapter).plan(patches)

        _here.put(adapter, plan)


def uninstall() -> None:
    """Puts llvmlite's own functions back; engines that were made meanwhile compile by themselves. Nothing happens if
    `install` wasn't called.
    """
    _here.remove()


def current() -> Adapter:
    """The adapter that is installed: its lookups, listeners and cache. `NotInstalledError` if there is none."""
    return _here.current()


def is_installed() -> bool:
    return bool(_here)


def moved() -> dict[str, list[str]]:
    """What this llvmlite has moved under the adapter: nothing where it works.

    >>> moved()["engines"]
    []
    """
    return check((ENGINES,))
