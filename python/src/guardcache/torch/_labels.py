"""Whose lookup it is, in the user's words: the compiled function, and what the hints are in it.

PyTorch's private state is read here. Whatever is wrong with it, a compile goes on: without a label, without sources.
"""

from __future__ import annotations

import inspect
import itertools
import logging
import os
import re
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any, TypeVar

import torch
from torch._guards import TracingContext

import guardcache

log = logging.getLogger("guardcache.torch")

_INDEXED = re.compile(r"[LG]\['(\w+)'\]")
_MEMBER = re.compile(r"\._(?:parameters|buffers|modules)\['(\w+)'\]")
_SIZE = re.compile(r"\.(size|stride)\(\)\[(\d+)\]")
# What Dynamo calls the rest of a function behind a graph break: torch_dynamo_resume_in_forward_at_92.
_RESUMED = re.compile(r"torch_dynamo_resume_in_(.*)_at_(\d+)$")

# Inputs of a graph that are known by name: a journal entry has no room for hundreds.
_INPUTS_MAX = 32

# In Dynamo's names, what a module holds: its parameters, and what is in modules within it.
_HELD = re.compile(r"\._(?:parameters|buffers|modules)\['")

# The call of a module of PyTorch's own is traced through a function that holds the module's forward by this name.
_WRAPPED = "L['fn']."

# A label is for people: of more parameters the first ones.
_PARAMETERS_MAX = 4

# What people call the first parameter of a method, which nobody passes.
_SELF = frozenset(["self", "s", "this", "cls"])

# Frames of these are no one's program.
_NOT_THE_PROGRAM = tuple(os.path.dirname(file) + os.sep for file in (torch.__file__, guardcache.__file__, os.__file__))

_Known = TypeVar("_Known")

# Who called modules of PyTorch's own: their backward is compiled when that call is over.
_calls: weakref.WeakKeyDictionary[TracingContext, str] = weakref.WeakKeyDictionary()


def _or(otherwise: _Known, known: Callable[[], _Known]) -> _Known:
    try:
        return known()
    except Exception:
        log.debug("PyTorch can't be asked for names", exc_info=True)
        return otherwise


def frame_label(suffix: str = "") -> str:
    """``train.py:88 forward(x)`` for what Dynamo compiles now, or what the backward at hand belongs to; else empty.

    That is the compiled function, or, where that is PyTorch's own (a module of `torch.nn`), the line that called it and
    the module's class.
    """
    place = _or("", _place)
    return place and place + suffix


def hint_sources(inputs: Sequence[Any]) -> dict[str, str]:
    """What each ``t<i>`` of the guards is in the user's program, as far as Dynamo knows."""
    return _or({}, lambda: dict(_sources(inputs)))


class Arguments:
    """What the inputs of the graph that is being compiled are in the user's program; AOT knows when it begins."""

    def __init__(self) -> None:
        self._context: weakref.ref[TracingContext] | None = None
        self._sources: Sequence[Any] = ()

    def begin(self, aot_config: Any) -> None:
        context = _or(None, TracingContext.try_get)
        self._context = weakref.ref(context) if context is not None else None
        self._sources = getattr(aot_config, "aot_autograd_arg_pos_to_source", None) or ()

    def named(self, inputs: Sequence[Any], name: str) -> dict[str, str]:
        """``{"example_inputs[2]": "x"}``: first the inputs that aren't a module's parameters, then as many of those.

        Nothing where these inputs aren't AOT's: of a backward, of a graph that AOT has changed, of another compile.
        """
        return _or({}, lambda: dict(itertools.islice(self._named(inputs, name), _INPUTS_MAX)))

    def _named(self, inputs: Sequence[Any], name: str) -> Iterator[tuple[str, str]]:
        context = self._context() if self._context is not None else None
        if context is None or context is not TracingContext.try_get() or len(inputs) != len(self._sources):
            return
        names = [source.name if source is not None else "" for source in self._sources]
        held = [_HELD.search(text) is not None for text in names]
        code = traced_code()
        wrapped = code is not None and code.co_filename.startswith(_NOT_THE_PROGRAM)
        if wrapped:
            names = ["self." + text.removeprefix(_WRAPPED) if text.startswith(_WRAPPED) else text for text in names]
        for of_modules in (False, True):
            for i, text in enumerate(names):
                if text and held[i] == of_modules:
                    yield f"{name}[{i}]", readable_source(text)


def _place() -> str:
    code = traced_code()
    if code is not None and not code.co_filename.startswith(_NOT_THE_PROGRAM):
        return f"{os.path.basename(code.co_filename)}:{_line(code)} {_signature(code)}"
    return _call(TracingContext.get()) if code is not None else ""


def _call(context: TracingContext) -> str:
    """``train.py:88 Sequential``: the line that called a module of PyTorch's own, and the class of the module."""
    call = _calls.get(context)
    if call is None:
        name, place = _calling_line()
        call = _calls[context] = f"{os.path.basename(place)} {_called_module() or name}"
    return call


def _called_module() -> str:
    """The class of the outermost module below the program."""
    frame: FrameType | None = sys._getframe(1)
    found = ""
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_THE_PROGRAM):
        module = frame.f_locals.get("self")
        if isinstance(module, torch.nn.Module):
            found = type(getattr(module, "_orig_mod", module)).__name__
        frame = frame.f_back
    return found


def traced_code() -> CodeType | None:
    """The compiled function: also while its backward is compiled, which comes when Dynamo is long done."""
    context = TracingContext.try_get()
    traced = getattr(context, "traced_code", None)
    return traced[0] if traced else None


def _line(code: CodeType) -> int:
    resumed = _RESUMED.match(code.co_name)
    return int(resumed.group(2)) if resumed else code.co_firstlineno


def _signature(code: CodeType) -> str:
    """``Net.forward(x, mask)``; the rest behind a graph break has no parameters that anybody wrote."""
    resumed = _RESUMED.match(code.co_name)
    if resumed:
        return f"{resumed.group(1)}, from a graph break on"
    # Python 3.10 doesn't know the class.
    name = getattr(code, "co_qualname", code.co_name).rpartition("<locals>.")[2]
    count = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[:count])
    if names and names[0] in (_SELF if "." in name else ("self",)):
        del names[0]
    if code.co_flags & inspect.CO_VARARGS:
        names.append("*" + code.co_varnames[count])
    shown = names if len(names) <= _PARAMETERS_MAX else [*names[:_PARAMETERS_MAX], "..."]
    return f"{name}({', '.join(shown)})"


def _calling_line() -> tuple[str, str]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_THE_PROGRAM):
        frame = frame.f_back
    if frame is None:
        return "?", "?"
    return frame.f_code.co_name, f"{frame.f_code.co_filename}:{frame.f_lineno}"


def readable_source(name: str) -> str:
    """``x.size(0)`` for ``L['x'].size()[0]``."""
    name = _INDEXED.sub(r"\1", name)
    name = _MEMBER.sub(r".\1", name)
    return _SIZE.sub(r".\1(\2)", name)


# What of AOT's configuration counts in its key, but for the arguments' sources.
_AOT_OPTIONS = (
    "num_params_buffers",
    "keep_inference_input_mutations",
    "is_export",
    "no_tangents",
    "dynamic_shapes",
    "static_input_indices",
    "enable_log",
    "pre_dispatch",
    "precompile_backend_id",
)


def of_aot_config(config: Any, digest: Callable[[Any], str]) -> list[str]:
    """AOT's configuration as PyTorch's component lines: one for each argument's name, one for all options."""
    return _or([], lambda: list(_aot_config(config.to_cacheable(), digest)))


def _aot_config(config: Any, digest: Callable[[Any], str]) -> Iterator[str]:
    for i, source in enumerate(config.aot_autograd_arg_pos_to_source or ()):
        dynamism = getattr(source, "dynamism", None)
        name = "nothing" if source is None else readable_source(source.name)
        yield f"[{digest(source)}] arguments[{i}]: {name}" + (f" ({dynamism})" if dynamism is not None else "")
    options = [f"{option} = {getattr(config, option, None)}" for option in _AOT_OPTIONS]
    yield f"[{digest(options)}] aot_config: " + "\n".join(options)


def _sources(inputs: Sequence[Any]) -> Iterator[tuple[str, str]]:
    symints = [s for s in inputs if isinstance(s, torch.SymInt) and s.node.has_hint()]
    for i, symint in enumerate(symints):
        env = symint.node.shape_env
        found = env.var_to_sources.get(symint.node.expr) if env is not None else None
        if found:
            yield f"t{i}", readable_source(found[0].name)
