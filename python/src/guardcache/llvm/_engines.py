"""MCJIT engines that ask guardcache for object code.

An engine asks its object cache before it generates code, and that is the moment for the key: generating code changes
the module. So on a miss it is a copy that is compiled, here and not by the engine, and whoever links the module into
another one later finds it as it was.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from functools import lru_cache
from inspect import signature
from typing import Any

import llvmlite
import llvmlite.binding as ll
from llvmlite.binding import executionengine, options, targets

from guardcache import Compiled, Graph, Hit
from guardcache._values import Value
from guardcache.adapter import Adapter, Patches, Task
from guardcache.llvm import _elf

log = logging.getLogger("guardcache.llvm")

KIND = "llvm-ir"

Notify = Callable[[Any, bytes], None]
GetBuffer = Callable[[Any], bytes | None]


class Engines:
    """The target machines and engines of this process that were made since the adapter was installed."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._machines: weakref.WeakKeyDictionary[Any, dict[str, Value]] = weakref.WeakKeyDictionary()
        self._global_options: dict[str, Value] = {}
        self._set_object_cache = executionengine.ExecutionEngine.set_object_cache

    def plan(self, patches: Patches) -> None:
        make_machine = targets.Target.create_target_machine
        make_engine = executionengine.create_mcjit_compiler
        set_option = options.set_option
        parameters = signature(make_machine)

        def create_target_machine(target: Any, *arguments: Any, **named: Any) -> Any:
            bound = parameters.bind(target, *arguments, **named)
            bound.apply_defaults()
            machine = make_machine(target, *arguments, **named)
            given = list(bound.arguments.items())[1:]
            self._machines[machine] = {"triple": target._triple, **{name: _plain(value) for name, value in given}}
            return machine

        def create_mcjit_compiler(module: Any, target_machine: Any, *arguments: Any, **named: Any) -> Any:
            engine = make_engine(module, target_machine, *arguments, **named)
            self.attach(engine, target_machine)
            return engine

        def set_object_cache(engine: Any, notify_func: Any = None, getbuffer_func: Any = None) -> None:
            """The program's own cache is asked first."""
            machine = getattr(engine, "_guardcache_machine", None)
            if machine is None:
                self._set_object_cache(engine, notify_func, getbuffer_func)
            else:
                self.attach(engine, machine, notify_func, getbuffer_func)

        def set_global_option(name: str, option: str) -> None:
            set_option(name, option)
            self._global_options[option] = True

        patches.set(targets.Target, "create_target_machine", create_target_machine)
        patches.set(executionengine.ExecutionEngine, "set_object_cache", set_object_cache)
        for module in (executionengine, ll):
            patches.set(module, "create_mcjit_compiler", create_mcjit_compiler)
        for module in (options, ll):
            patches.set(module, "set_option", set_global_option)

    def attach(self, engine: Any, machine: Any, notify: Notify | None = None, buffer: GetBuffer | None = None) -> None:
        """Lets the engine ask this cache, behind the program's own."""
        engine._guardcache_machine = machine

        def get_buffer(module: Any) -> bytes | None:
            own = buffer(module) if buffer is not None else None
            return own if own is not None else self._object(module, machine, notify)

        self._set_object_cache(engine, notify, get_buffer)

    def _object(self, module: Any, machine: Any, notify: Notify | None) -> bytes | None:
        """None: the engine generates the code itself. An exception would be lost in the engine."""

        def build() -> tuple[bytes, Compiled]:
            made: bytes = machine.emit_object(module.clone())
            return made, Compiled(made)

        task = Task(
            describe=lambda: self._describe(module, machine),
            label=_label(module),
            accept_renames=True,
        )
        try:
            code = self._adapter.compile(task, build, load)
            if notify is not None:
                notify(module, code)
        except Exception as error:
            log.warning("%s: compiled without the cache: %s", module.name, error)
            return None
        return code

    def _describe(self, module: Any, machine: Any) -> Graph:
        machine_options = self._machines.get(machine)
        if machine_options is None:
            raise LookupError("its target machine was made before the adapter was installed")
        graph = Graph(KIND)
        graph.component("module", str(module))
        graph.component("options", {**machine_options, "data layout": module.data_layout, **self._global_options})
        graph.component("environment", _versions())
        return graph


def load(hit: Hit) -> bytes:
    """The object with the names of the module that is asked for, of what it defines and of what it refers to."""
    code = bytes(hit.payload)
    return _elf.Object(code).renamed(lambda name: hit.renames.get(name, name)) if hit.renamed else code


def _label(module: Any) -> str:
    """Its first function: modules as a rule have no names."""
    return str(next((function.name for function in module.functions if not function.is_declaration), module.name))


def _plain(value: Any) -> Value:
    return value if isinstance(value, (bool, int, str)) else str(value)


@lru_cache(maxsize=1)
def _versions() -> dict[str, Value]:
    return {"llvm": ".".join(map(str, ll.llvm_version_info)), "llvmlite": llvmlite.__version__}
