"""What Dynamo says while it compiles a frame: in the place of the package that PyTorch's own precompiling passes."""

from __future__ import annotations

import builtins
import dataclasses
import dis
import functools
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._dynamo.guards import convert_int_to_concrete_values
from torch._dynamo.package import SerializedCode
from torch._guards import Guard, GuardsSet
from torch.utils import _pytree as pytree

import guardcache
from guardcache.torch.precompile import facts, operators, traced
from guardcache.torch.precompile.content import UnprovableError, walks_texts
from guardcache.torch.precompile.facts import Look, Scope, Seen


@dataclass(frozen=True)
class Resumed:
    """The rest of a function behind a graph break."""

    name: str
    code: SerializedCode


@dataclass
class Recording:
    """One compile of a frame. The names without comment are those of `CompilePackage`."""

    code: types.CodeType
    reason: str = ""
    """Why it can't be stored."""
    backends: list[str] = field(default_factory=list)
    resumed: list[Resumed] = field(default_factory=list)
    imports: dict[str, str] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)
    """See `facts.by_address`."""
    guards: list[Guard] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    state: Any = None
    shapes: Any = None
    scope: Scope | None = None
    seen: Seen | None = None
    conditions: list[str] = field(default_factory=list)
    """In guardcache's words, over the hints."""
    result: SerializedCode | None = None

    def refuse(self, reason: str) -> None:
        self.reason = self.reason or reason

    @contextmanager
    def code_context(self, code: types.CodeType) -> Iterator[None]:
        yield

    def add_import_source(self, alias: str, module_name: str) -> None:
        self.imports[alias] = module_name

    def add_backend_id(self, backend_id: str, backend: Any = None) -> None:
        self.backends.append(backend_id)

    def add_resume_function(self, python_code: types.CodeType, python_module: str, function_name: str) -> None:
        self.resumed.append(Resumed(function_name, SerializedCode.from_code_object(python_code)))

    def bypass_current_entry(self) -> None:
        self.refuse("PyTorch doesn't precompile it")

    def update_device_type(self, graph: Any) -> None:
        pass

    def add_guarded_code(self, guards_state: bytes, dynamo_code: types.CodeType) -> None:
        unknown = self._globals_of(dynamo_code) - self._known_globals()
        if unknown:
            self.refuse(f"its code uses what Dynamo made for this process: {', '.join(sorted(unknown))}")
        self.result = SerializedCode.from_code_object(dynamo_code)

    def add_inlined_source(self, sources: Sequence[types.CodeType]) -> None:
        """The last that Dynamo says. Everything is looked at once, as another process will."""
        if self.reason or self.scope is None:
            return
        try:
            seen = facts.look(self.scope, self.looks)
            functions = [Look(facts.TRACED, place) for place in traced.places(sources, self.code, seen.contents)]
            self.seen = facts.look(self.scope, functions, seen)
            self.looks += functions
            self.conditions = self._conditions(self.seen)
            if any(walks_texts(code) for code in (self.code, *sources)):
                raise UnprovableError("a loop over a set of texts, whose order is another one in each process")
        except UnprovableError as error:
            self.refuse(str(error))

    def _globals_of(self, code: types.CodeType) -> set[str]:
        return {
            str(instruction.argval)
            for instruction in dis.get_instructions(code)
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL")
        }

    def _known_globals(self) -> set[str]:
        made = {*self.backends, *self.imports, *(resumed.name for resumed in self.resumed)}
        return self._globals_of(self.code) | vars(builtins).keys() | made

    # ---- guards ----

    def take_guards(self, manager: Any, builder: Any, guards: Sequence[Guard], output: Any) -> None:
        """In the place of `CheckFunctionManager.serialize_guards`."""
        operators.require_known(output.graph, output.nn_modules.values())
        self.state = _state(output)
        self.shapes = manager.shape_code_parts
        self.modules = facts.by_address(builder.scope["G"])
        self.imports |= {facts.alias(name): name for name in self.modules.values()}
        self.scope = Scope(builder.scope["L"], facts.world(builder.scope["G"], self.imports.values()))
        sizes = output.input_source_to_sizes_strides
        for guard in guards:
            self.guards.append(Guard(guard.originating_source, _without_value(guard.create_fn)))
            kind = guard.create_fn_name()
            if kind in facts.NO_FACTS:
                continue
            if kind not in facts.DESCRIPTIONS:
                raise UnprovableError(f"Dynamo's guard {kind} on {guard.name}")
            self._take(kind, guard, builder, sizes)

    def _take(self, kind: str, guard: Guard, builder: Any, sizes: Any) -> None:
        argument = guard.name.startswith("L[") and "._modules" not in guard.name
        try:
            value = builder.get(guard)
        except Exception:
            value = None
        if kind == "TENSOR_MATCH" and argument and not isinstance(value, torch.nn.Parameter):
            self.looks.append(Look("TENSOR", guard.name))
            self._static.update(_static_sizes(guard.name, sizes[guard.originating_source]))
        elif argument and type(value) is int and kind in ("TYPE_MATCH", "EQUALS_MATCH", "CONSTANT_MATCH"):
            self.looks.append(Look(facts.INTEGER, guard.name))
            if kind != "TYPE_MATCH":
                self._static[guard.name] = value
        elif kind == "TENSOR_MATCH" and None in (*_numbers(sizes[guard.originating_source]),):
            raise UnprovableError(f"a parameter of changing size: {guard.name}")
        else:
            self.looks.append(Look(kind, facts.anywhere(guard.name, self.modules), _more(guard.create_fn)))

    _static: dict[str, int] = field(default_factory=dict)
    """What must be of one value: a size's place -> the number."""

    def _conditions(self, seen: Seen) -> list[str]:
        names = {place: name for name, place in seen.sources.items()}
        found = [f"{names[place]} == {number}" for place, number in self._static.items() if place in names]
        shapes = [] if self.shapes is None else self.shapes.python_code_parts.exprs
        return [*found, *(text for shape in shapes if (text := _in_hints(shape, names)) is not None)]


def _state(output: Any) -> Any:
    """Dynamo's own record of what guards need beside values, without values."""
    if output.functorch_layers or output.torch_function_mode_stack:
        raise UnprovableError("function transforms or modes")
    return dataclasses.replace(
        output.dump_guards_state(),
        local_scope={},
        global_scope={},
        torch_function_mode_stack=[],
        _guards=GuardsSet(),
        name_of_builtins_dict_key_in_fglobals=facts.BUILTINS,
        input_source_to_sizes_strides=pytree.tree_map(_concrete, output.input_source_to_sizes_strides),
        skip_guards_check=True,
    )


def _concrete(number: Any) -> Any:
    """None for what is symbolic, as PyTorch's own guards have it."""
    return convert_int_to_concrete_values(number)


def _numbers(sizes: Any) -> list[Any]:
    return [_concrete(number) for name in ("size", "stride") for number in sizes[name]]


def _static_sizes(place: str, sizes: Any) -> dict[str, int]:
    return {
        f"{place}.{name}()[{i}]": int(concrete)
        for name in ("size", "stride")
        for i, number in enumerate(sizes[name])
        if (concrete := _concrete(number)) is not None
    }


def _without_value(create: Any) -> Any:
    """A guard's value is taken from the frame in which it is built again."""
    if not isinstance(create, functools.partial):
        return create
    rest = {name: value for name, value in create.keywords.items() if name != "value"}
    return functools.partial(create.func, *create.args, **rest) if rest or create.args else create.func


def _more(create: Any) -> tuple[Any, ...]:
    if not isinstance(create, functools.partial):
        return ()
    rest = (*create.args, *(value for name, value in create.keywords.items() if name != "value"))
    return tuple(str(value) if isinstance(value, torch._guards.Source) else value for value in rest)


def _in_hints(shape: str, names: dict[str, str]) -> str | None:
    """Dynamo's guard on sizes in guardcache's words; None where it can't be said: Dynamo's own is asked in any case."""
    for place in sorted(names, key=len, reverse=True):
        shape = shape.replace(place, names[place])
    try:
        guardcache.Guards([shape])
    except guardcache.Error:
        return None
    return shape if "L[" not in shape and "G[" not in shape else None
