"""The first key of a frame: what its code is, and whatever else decides what becomes of it, but for its values."""

from __future__ import annotations

import functools
import glob
import hashlib
import os
import platform
import sys
import types
from typing import Any, NamedTuple

import torch
from torch._C._dynamo.guards import GlobalStateGuard
from torch._dynamo import convert_frame
from torch._dynamo.eval_frame import innermost_backend
from torch._inductor import codecache

from guardcache.torch import _entries as entries
from guardcache.torch.precompile.content import Settings, UnprovableError, code_digest, digest, shadowed

# Where a compile goes through; what it traces of the rest is compared by itself.
_COMPILERS = (
    "_dynamo",
    "_functorch",
    "_inductor",
    "_higher_order_ops",
    "_subclasses",
    "_decomp",
    "_prims",
    "_refs",
    "fx",
)

# Changes with what is stored.
_FORMAT = "3"


class Key(NamedTuple):
    text: str
    """64 hex digits."""
    lines: list[tuple[str, str, str]]
    """What it is made of, for explanations."""


def made(kind: str, parts: dict[str, str]) -> Key:
    text = digest([kind, *(part for item in parts.items() for part in item)])
    return Key(text, [(name, hashlib.sha256(value.encode()).hexdigest(), value) for name, value in parts.items()])


def of_frame(
    code: types.CodeType, world: dict[str, Any], local: dict[str, Any], compiler: Any, one_graph: bool, hooks: Any
) -> Key:
    """`UnprovableError` for what can't be told across processes."""
    _require(not any(vars(hooks).values()), "hooks that look at or leave out guards")
    _require(not _distributed(), "a distributed job, whose process groups are its own")
    _require(torch._C._len_torch_function_stack() == 0, "a mode that overrides torch functions")
    _require(torch._C._functorch.peek_interpreter_stack() is None, "within a function transform")
    _require(not _saved_tensor_hooks(), "hooks on saved tensors")
    _require(not _replaced_methods(), "methods of torch.Tensor that aren't PyTorch's")
    return made(
        "frame",
        {
            "format": _FORMAT,
            "code": code_digest(code),
            "names of builtins": ", ".join(shadowed(code, world)),
            "arguments": _arguments(local),
            "fullgraph": str(one_graph),
            "backend": _backend(compiler),
            "dynamo": _config(torch._dynamo.config),
            "functorch": _config(torch._functorch.config),
            "inductor": _config(torch._inductor.config),
            "state": _global_state(),
            "python": sys.version,
            "torch": f"{torch.__version__} {torch.version.git_version} {edited_sources()}",
            "machine": _machine(),
        },
    )


@functools.cache
def edited_sources() -> str:
    """What of PyTorch's compilers isn't as it was installed. The version tells the rest; a hash of all sources, as
    AOT's keys have it, would take longer than everything else about a hit.

    An installer writes its record last, so what was edited is newer. Without a record all counts as edited.
    """
    package = os.path.dirname(torch.__file__)
    records = glob.glob(os.path.join(glob.escape(os.path.dirname(package)), "torch-*.dist-info", "RECORD"))
    installed = max((os.stat(record).st_mtime_ns for record in records), default=0)
    found = []
    for folder in _COMPILERS:
        for place, _, names in os.walk(os.path.join(package, folder)):
            for path in (os.path.join(place, name) for name in names if name.endswith(".py")):
                stat = os.stat(path)
                if stat.st_mtime_ns > installed:
                    found.append(f"{os.path.relpath(path, package)} {stat.st_size} {stat.st_mtime_ns}")
    return digest(sorted(found)) if found else ""


@functools.cache
def _machine() -> str:
    """With what PyTorch calls the system: devices and their toolkits."""
    system = codecache.CacheBase.get_system()["hash"]
    return f"{platform.machine()} {entries.vector_isa()} {system} {entries.provided().get('extern_libs')}"


def _arguments(local: dict[str, Any]) -> str:
    """Roughly, so that few lists lie under a key: one wrapper of PyTorch's runs all of its modules. And which are one
    object, which Dynamo guards and guardcache's guards can't say.
    """
    names: dict[int, str] = {}
    first = {name: names.setdefault(id(value), name) for name, value in sorted(local.items())}
    return ", ".join(
        f"{name} {_kind(local[name])}" + ("" if same == name else f" is {same}") for name, same in first.items()
    )


def _kind(value: Any) -> str:
    if isinstance(value, types.MethodType):
        return f"{_kind(value.__func__)} of {_kind(value.__self__)}"
    if isinstance(value, types.FunctionType):
        return f"function {code_digest(value.__code__)}"
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _require(so: bool, otherwise: str) -> None:
    if not so:
        raise UnprovableError(otherwise)


def _distributed() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def _saved_tensor_hooks() -> bool:
    return torch._C._autograd._top_saved_tensors_default_hooks(True) is not None


def _replaced_methods() -> bool:
    """Dynamo takes tensors' methods for PyTorch's own, and guards none."""
    return any(
        _is_another(name, value) for name, value in vars(torch.Tensor).items() if hasattr(torch._C.TensorBase, name)
    )


def _is_another(name: str, value: Any) -> bool:
    if isinstance(value, types.FunctionType):
        return not (value.__module__ or "").startswith("torch")
    return getattr(value, "__name__", name) != name


def _config(module: Any) -> str:
    """One a line, without directories and switches that PyTorch doesn't take along to other machines. Passes, which it
    doesn't take along either, count.

    Each time anew: a list that is an option can change without PyTorch's noticing.
    """
    contents = Settings()
    left = tuple(getattr(module, "_cache_config_ignore_prefix", ()))
    options = module.get_config_copy().items()
    counting = {name: value for name, value in options if not name.startswith(left) or _decides(value)}
    return "\n".join(f"{name} = {contents.of(value)}" for name, value in sorted(counting.items()))


def _decides(value: Any) -> bool:
    """Of an option that PyTorch doesn't take along: whether it isn't a switch, a number, or a directory."""
    return not (value is None or isinstance(value, (bool, int)) or (isinstance(value, str) and os.sep in value))


def _backend(compiler: Any) -> str:
    """Only Inductor's results are kept. Its options are told, so that what differs can be explained."""
    inner = innermost_backend(compiler)
    if type(inner) is not torch._TorchCompileInductorWrapper:
        raise UnprovableError(f"a backend that isn't Inductor: {getattr(inner, '__name__', type(inner).__name__)}")
    options = Settings().of(dict(sorted(inner.config.items())))
    return f"inductor, dynamic {inner.dynamic}, {options}"


def _global_state() -> str:
    """What Dynamo's global guard looks at (grad mode, autocast, determinism, threads); what AOT and Inductor ask."""
    flags = {
        "dynamo": (convert_frame.initial_global_state or GlobalStateGuard()).__getstate__(),
        "device": torch.utils._device.CURRENT_DEVICE,
        "default device": torch.get_default_device(),
        "inference": torch.is_inference_mode_enabled(),
        "anomaly": torch.is_anomaly_enabled(),
        "dual level": torch.autograd.forward_ad._current_level,
        "mkldnn": torch._C._get_mkldnn_enabled(),
        "cudnn": torch._C._get_cudnn_enabled(),
        "attention": [
            torch._C._get_flash_sdp_enabled(),
            torch._C._get_mem_efficient_sdp_enabled(),
            torch._C._get_math_sdp_enabled(),
            torch._C._get_cudnn_sdp_enabled(),
        ],
        "matmul": entries.matmul_precision(),
        "module hooks": _module_hooks(),
    }
    return ", ".join(f"{name} {value}" for name, value in flags.items())


def _module_hooks() -> str:
    module = torch.nn.modules.module
    hooks = [name for name, value in vars(module).items() if name.startswith("_global_") and "hooks" in name and value]
    _require(not hooks, "hooks on all modules")
    return "none"
