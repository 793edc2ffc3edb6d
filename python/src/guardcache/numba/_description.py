"""The description of a jitted function for given argument types: what its key is made of, and what a miss names."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable
from functools import lru_cache
from types import FunctionType, ModuleType
from typing import Any

import llvmlite
import llvmlite.binding
import numba
import numpy as np
from numba.core import config, entrypoints, sigutils

from guardcache import Graph
from guardcache._values import Value
from guardcache.numba import _lines, _types
from guardcache.numba._extensions import Extensions
from guardcache.numba._history import History
from guardcache.numba._unkeyed import Unkeyed
from guardcache.numba._values import Walk, closure, jitted

KIND = "numba"

# What an entry holds: another number never shares entries with this one.
_FORMAT = 2

# numba's settings that change what it makes; those that aren't there in this numba don't count.
_SETTINGS = (
    "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "LLVM_REFPRUNE_PASS", "LLVM_REFPRUNE_FLAGS", "USING_SVML",
    "DISABLE_INTEL_SVML", "DEBUGINFO_DEFAULT", "FULL_TRACEBACKS", "NRT_STATS", "DIFF_IR", "ENABLE_PROFILING",
    "LLVM_PASS_TIMINGS", "OPTIMIZED_CHECKS", "USE_RVSDG",
)  # fmt: skip

_UNCHANGEABLE = (int, float, complex, str, bytes, type(None), ModuleType, type)

# And those that count for code that runs in several threads.
_PARALLEL_SETTINGS = ("NUMBA_NUM_THREADS", "THREADING_LAYER")


class Describer:
    """Describes functions; it remembers what this process has compiled. Used under numba's lock."""

    def __init__(self) -> None:
        self.history = History()
        self._extensions = Extensions()

    def describe(self, dispatcher: Any, signature: Any) -> tuple[Graph, tuple[FunctionType, ...]]:
        """Also the functions it has told, the dispatcher's own first. `Unkeyed` says why it can't."""
        # Extensions that come as packages of their own; else they would be there only after the first compile.
        entrypoints.init_all()
        walk = Walk(self.history.check)
        _check_closure(dispatcher)
        graph = Graph(KIND)
        said = jitted(walk, dispatcher)
        # What it has compiled is nothing to itself.
        said.pop("signatures", None)
        for name, value in {**walk.parts(dispatcher.py_func, dispatcher), **said}.items():
            graph.component(name, value)
        graph.component("signature", _signature(walk, signature))
        graph.component("extensions", self._extensions.told((dispatcher.typingctx, dispatcher.targetctx)))
        graph.component("environment", environment(dispatcher.targetctx.codegen()))
        graph.component("settings", settings(_SETTINGS + _PARALLEL_SETTINGS * ("parallel" in walk.said)))
        if "debug" in walk.said or config.DEBUGINFO_DEFAULT:
            graph.component("lines", repr(_lines.of(walk.functions)))
        return graph, tuple(walk.functions)


def _check_closure(dispatcher: Any) -> None:
    """Code that runs as Python would get a copy of each object in its closure, which others may change."""
    if dispatcher.targetoptions.get("forceobj"):
        for name, value in closure(dispatcher.py_func).items():
            if not isinstance(value, _UNCHANGEABLE):
                raise Unkeyed(f"closure variable {name}: code that runs as Python would get a copy of it")


def label(dispatcher: Any, signature: Any) -> str:
    """``area.py:12 area(float64, float64)``"""
    code = dispatcher.py_func.__code__
    arguments, _ = sigutils.normalize_signature(signature)
    told = ", ".join(map(str, arguments))
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno} {dispatcher.py_func.__qualname__}({told})"


def _signature(walk: Walk, signature: Any) -> Value:
    arguments, result = sigutils.normalize_signature(signature)
    told: dict[str, Value] = {}
    for number, type_ in enumerate(arguments):
        try:
            told[f"argument {number}"] = _types.told(type_, walk.value)
        except Unkeyed as unkeyed:
            raise Unkeyed(f"argument {number}: {unkeyed}") from None
    if result is not None:
        told["result"] = _types.told(result, walk.value)
    return told


def environment(codegen: Any) -> dict[str, Value]:
    return {**_versions(), **_machine(codegen), "format": _FORMAT}


@lru_cache(maxsize=8)
def _machine(codegen: Any) -> dict[str, Value]:
    triple, cpu, features = codegen.magic_tuple()
    return {"triple": triple, "cpu": cpu, "cpu features": features}


@lru_cache(maxsize=1)
def _versions() -> dict[str, Value]:
    return {
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "llvm": ".".join(map(str, llvmlite.binding.llvm_version_info)),
        "numpy": np.__version__,
        "python": f"{platform.python_implementation()} {sys.version.split()[0]}{sys.abiflags}",
    }


def settings(names: Iterable[str]) -> dict[str, Value]:
    found = {name.lower(): getattr(config, name, None) for name in names}
    return {name: value if type(value) in (bool, int) else repr(value) for name, value in found.items()}
