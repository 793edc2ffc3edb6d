"""What Dynamo's guards say about a frame, as facts that two processes can compare.

Dynamo builds a guard from a value that it finds in the frame. A fact is what it takes from that value: where all facts
are equal, building the same guards from another process's values gives guards that accept the same. Sizes, strides and
integers of the frame's own arguments are no facts but hints, on which guardcache's guards decide between variants.

What isn't in the table below can't be told across processes: the frame isn't stored.
"""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._dynamo.guards import _get_closure_vars
from torch._dynamo.output_graph import get_builtins_dict

from guardcache.torch.precompile import traced
from guardcache.torch.precompile.content import PLAIN, Contents, UnprovableError

Description = Callable[[Contents, Any, tuple[Any, ...]], str]

_ABSENT = object()

_TENSORS = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)

_CONTAINERS = (tuple, list, set, frozenset, dict, torch.Size)
_DEPTH_MAX = 4


@dataclass(frozen=True)
class Look:
    """Something to be looked at."""

    kind: str
    """A guard's name in Dynamo, or one of ours."""
    place: str
    """The expression that finds it: ``L['self']._modules['0']``; of what was traced: ``module:Class.function``."""
    more: tuple[Any, ...] = ()


@dataclass
class Seen:
    """What looking gave."""

    facts: dict[str, list[str]] = field(default_factory=dict)
    """By kind: a line for each place, with what is there."""
    hints: dict[str, int] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    """What the hints are called in the program."""
    contents: Contents = field(default_factory=Contents)
    objects: dict[int, tuple[Any, str]] = field(default_factory=dict)
    """Of what is looked at, alive: the first place of each object that a program can tell from an equal one."""
    storages: dict[int, int] = field(default_factory=dict)
    """Whose each storage is."""
    sized: dict[str, Any] = field(default_factory=dict)
    """The arguments whose sizes are hints, and integers: by place."""


# What Dynamo calls the builtins in a frame's globals, and modules there: by a count of the process, by an address.
_COUNTED = re.compile(r"__builtins_dict__[_0-9]*")
_BY_ADDRESS = re.compile(r"_\d+_c\d+")
_GLOBAL = re.compile(r"G\['(\w+)'\]")

BUILTINS = "__builtins_dict__guardcache"
"""What they are called here."""


def by_address(world: Mapping[str, Any]) -> dict[str, str]:
    """The modules that Dynamo put there so."""
    return {
        name: value.__name__
        for name, value in world.items()
        if isinstance(value, types.ModuleType) and _BY_ADDRESS.fullmatch(name)
    }


def global_anywhere(name: str, modules: Mapping[str, str]) -> str:
    """A global's name as it is in any process. `modules`: see `by_address`."""
    if _COUNTED.fullmatch(name):
        return BUILTINS
    return alias(modules[name]) if name in modules else name


def anywhere(place: str, modules: Mapping[str, str]) -> str:
    return _GLOBAL.sub(lambda match: f"G['{global_anywhere(match[1], modules)}']", place)


def alias(module: str) -> str:
    """What Dynamo calls a module in a frame's globals."""
    return "__import_" + module.replace(">", "_").replace("<", "_").replace(".", "_dot_")


def world(present: dict[str, Any], modules: Iterable[str]) -> dict[str, Any]:
    """A frame's globals, and what Dynamo refers to in them."""
    found = {alias(name): sys.modules[name] for name in modules if name in sys.modules}
    return {**present, **found, BUILTINS: get_builtins_dict(present)}


class Scope:
    """A frame's variables, where expressions are evaluated as Dynamo's guards do it."""

    def __init__(self, local: Mapping[str, Any], world: Mapping[str, Any]) -> None:
        self._globals = {**_get_closure_vars(), "L": local, "G": world}

    def find(self, place: str) -> Any:
        try:
            return eval(place, self._globals)
        except Exception:
            return _ABSENT


# ---- what each of Dynamo's guards takes from its value ----


def _constant(contents: Contents, value: Any, more: tuple[Any, ...]) -> str:
    _require_told(contents, value, 0)
    walked = _walked(contents, value, 0)
    return contents.of(value) + (f" walked {walked}" if walked else "")


def _walked(contents: Contents, value: Any, depth: int) -> str:
    """In which order a loop takes what is in sets: of texts another one in each process. Dynamo traces the loop so."""
    if type(value) in (set, frozenset):
        return f"{{{', '.join(contents.of(each) for each in value)}}}"
    if type(value) not in _CONTAINERS or depth == _DEPTH_MAX:
        return ""
    inner = (*value, *(value.values() if type(value) is dict else ()))
    return " ".join(text for each in inner if (text := _walked(contents, each, depth + 1)))


def _require_told(contents: Contents, value: Any, depth: int) -> None:
    """What Dynamo compares as a whole must be told as a whole."""
    if type(value) in _CONTAINERS and depth < _DEPTH_MAX:
        for each in (*value, *(value.values() if type(value) is dict else ())):
            _require_told(contents, each, depth + 1)
    elif contents.identity(value) is None:
        raise UnprovableError(f"a {type(value).__name__} as a constant")


def _known(contents: Contents, value: Any, more: tuple[Any, ...]) -> str:
    text = contents.identity(value)
    if text is None:
        raise UnprovableError(f"a {type(value).__name__} that Dynamo knows by its identity")
    return text


def _kind(contents: Contents, value: Any, more: tuple[Any, ...]) -> str:
    text = contents.of_class(type(value))
    return text if not isinstance(value, torch.nn.Module) else f"{text} {_of_module(contents, value)}"


def _of_module(contents: Contents, module: torch.nn.Module) -> str:
    """What Dynamo doesn't guard of modules: hooks, and methods of the instance alone."""
    held = {
        name: contents.of(value)
        for name, value in vars(module).items()
        if isinstance(value, (types.FunctionType, types.MethodType)) or (name.endswith("_hooks") and value)
    }
    if any(name.endswith("_hooks") for name in held):
        raise UnprovableError(f"hooks of a {type(module).__name__}")
    return str(sorted(held.items())) if held else ""


def _tensor(contents: Contents, value: Any, more: tuple[Any, ...]) -> str:
    if type(value) not in _TENSORS:
        raise UnprovableError(f"a tensor of class {type(value).__name__}")
    marks = [item for item in vars(value).items() if item[0].startswith("_dynamo_") and not _is_dynamos(*item)]
    facts = [
        type(value).__name__,
        str(value.dtype),
        str(value.device),
        f"rank {value.dim()}" if value.layout is torch.strided else str(value.layout),
        torch._C._dispatch_keys(value).raw_repr(),
        "requires_grad" if value.requires_grad else "",
        "leaf" if value.is_leaf else "",
        str(sorted((name, str(mark)) for name, mark in marks)) if marks else "",
    ]
    return " ".join(str(fact) for fact in facts if fact != "")


def _is_dynamos(name: str, mark: Any) -> bool:
    """Marks that compiling leaves behind, which therefore a process that doesn't trace hasn't."""
    return not mark or name == "_dynamo_propagated_dynamic_indices" or mark == "unguarded"


def _held_tensor(contents: Contents, value: Any, more: tuple[Any, ...]) -> str:
    return f"{_tensor(contents, value, more)} {tuple(value.shape)} {tuple(value.stride())}"


def _length(contents: Contents, value: Any, more: tuple[Any, ...]) -> str:
    keys = _keys(contents, value, more) if isinstance(value, dict) else ""  # which Dynamo takes for constants
    return f"{contents.of_class(type(value))} of {len(value)} {keys}".rstrip()


def _keys(contents: Contents, value: Any, more: tuple[Any, ...]) -> str:
    return contents.of([_key(contents, key) for key in dict.keys(dict(value))])


def _key(contents: Contents, key: Any) -> str:
    known = contents.identity(key)
    if known is None and type(key) is not tuple:
        raise UnprovableError(f"a dictionary's key of class {type(key).__name__}")
    return contents.of(key)


def _has_key(contents: Contents, value: Any, more: tuple[Any, ...]) -> str:
    return str(more[0] in value)


def _has_attribute(contents: Contents, value: Any, more: tuple[Any, ...]) -> str:
    return str(value is not _ABSENT if not more else hasattr(value, more[0]))


def _in_dictionary(contents: Contents, value: Any, more: tuple[Any, ...]) -> str:
    return str(more[0] in vars(value))


def _not_none(contents: Contents, value: Any, more: tuple[Any, ...]) -> str:
    return str(value is not None)


DESCRIPTIONS: dict[str, Description] = {
    "TENSOR_MATCH": _held_tensor,
    "TENSOR": _tensor,
    "TYPE_MATCH": _kind,
    "ID_MATCH": _known,
    "FUNCTION_MATCH": _known,
    "CLOSURE_MATCH": _known,
    "CLASS_MATCH": _known,
    "MODULE_MATCH": _known,
    "BUILTIN_MATCH": _known,
    "CONSTANT_MATCH": _constant,
    "EQUALS_MATCH": _constant,
    "BOOL_MATCH": _constant,
    "NONE_MATCH": _constant,
    "SEQUENCE_LENGTH": _length,
    "EMPTY_NN_MODULE_HOOKS_DICT": _length,
    "DICT_KEYS_MATCH": _keys,
    "MAPPING_KEYS_CHECK": _keys,
    "DICT_CONTAINS": _has_key,
    "DICT_NOT_CONTAINS": _has_key,
    "SET_CONTAINS": _has_key,
    "SET_NOT_CONTAINS": _has_key,
    "HASATTR": _has_attribute,
    "NOT_PRESENT_IN_GENERIC_DICT": _in_dictionary,
    "NOT_NONE_MATCH": _not_none,
}

# Said of the process by the key, or asked of the frame by Dynamo's own guards alone: sizes, and which places have one
# object.
NO_FACTS = frozenset(
    [
        "GLOBAL_STATE",
        "GRAD_MODE",
        "DETERMINISTIC_ALGORITHMS",
        "DEFAULT_DEVICE",
        "TORCH_FUNCTION_STATE",
        "FUNCTORCH_STACK_MATCH",
        "AUTOGRAD_SAVED_TENSORS_HOOKS",
        "DUAL_LEVEL",
        "FSDP_TRAINING_STATE",
        "SHAPE_ENV",
        "DUPLICATE_INPUT",
    ]
)

# What isn't in the table but is ours.
TRACED, INTEGER = "traced", "integer"


def look(scope: Scope, looks: Iterable[Look], seen: Seen | None = None) -> Seen:
    """Looks at everything in the list. `UnprovableError` if something can't be told."""
    seen = seen or Seen()
    for each in looks:
        if each.kind == TRACED:
            _fact(seen, each, traced.describe(each.place, seen.contents))
            continue
        value = scope.find(each.place)
        _one_object(seen, each.place, value)
        if each.kind == "TYPE_MATCH":
            _one_class(seen, each.place, type(value))
        if each.kind == INTEGER and type(value) is int:
            _hint(seen, each.place, value)
            seen.sized[each.place] = value
            continue
        if each.kind == "TENSOR" and isinstance(value, torch.Tensor) and value.layout is torch.strided:
            seen.sized[each.place] = value
            for name in ("size", "stride"):
                for i, number in enumerate(getattr(value, name)()):
                    _hint(seen, f"{each.place}.{name}()[{i}]", number)
        _fact(seen, each, _describe(seen.contents, each, value))
    return seen


# Of which two that are equal may be one object in one process and two in another, and nobody minds.
_INTERCHANGEABLE = (*PLAIN, tuple, frozenset)


def _one_object(seen: Seen, place: str, value: Any) -> None:
    """Which places have one object. Dynamo traces `is`, and a change through one of them, without a guard on that."""
    if isinstance(value, _INTERCHANGEABLE) or value is _ABSENT:
        return
    if isinstance(value, torch.Tensor):
        _require_own_storage(seen, value)
    first = seen.objects.setdefault(id(value), (value, place))[1]
    same = f"{place} is {first}"
    if first != place and same not in seen.facts.get("SAME", ()):
        seen.facts.setdefault("SAME", []).append(same)


def _one_class(seen: Seen, place: str, cls: type) -> None:
    """A class of equal content may be another one, to `is` and to `isinstance`; its bases too."""
    if cls.__module__ == "builtins":
        return
    is_new = id(cls) not in seen.objects
    _one_object(seen, f"type({place})", cls)
    for i, base in enumerate(cls.__mro__[1:-1] if is_new else ()):
        _one_object(seen, f"type({place}).__mro__[{i + 1}]", base)


def _require_own_storage(seen: Seen, value: torch.Tensor) -> None:
    """What is compiled for tensors that overlap is compiled for these; no guard of Dynamo's says which don't."""
    if value.layout is not torch.strided or type(value) not in _TENSORS:
        return
    storage = value.untyped_storage()._cdata
    if seen.storages.setdefault(storage, id(value)) != id(value):
        raise UnprovableError("two tensors that share a storage")


def _fact(seen: Seen, each: Look, text: str) -> None:
    more = f" {each.more}" if each.more else ""
    seen.facts.setdefault(each.kind, []).append(f"{each.place}{more} = {text}")


def _describe(contents: Contents, each: Look, value: Any) -> str:
    if value is _ABSENT and each.kind != "HASATTR":
        return "absent"
    if each.kind.startswith("TENSOR") and not isinstance(value, torch.Tensor):
        return f"no tensor but {contents.of_class(type(value))}"
    if each.kind == INTEGER:
        return f"no integer but {contents.of_class(type(value))}"
    return DESCRIPTIONS[each.kind](contents, value, each.more)


def _hint(seen: Seen, place: str, number: int) -> None:
    name = f"t{len(seen.hints)}"
    seen.hints[name] = number
    seen.sources[name] = place
