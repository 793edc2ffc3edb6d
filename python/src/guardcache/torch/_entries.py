"""PyTorch's cache entries as guardcache's: which key, which guards, and what is volatile in the pickled bytes."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import pickle
import pickletools
import platform
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import torch
from torch._inductor import codecache, config
from torch._inductor.cpu_vec_isa import x86_isa_checker
from torch.utils._dtype_abbrs import dtype_abbrs

from guardcache import Attachment, Graph, _native
from guardcache.torch._kernels import Cut

FX, AOT, DYNAMO = "fx", "aot", "dynamo"

# A graph of thousands of nodes prints as megabytes; this much of a component's text is enough to compare.
_LINE_TEXT_MAX = 32_768

# Longer lines are a graph's own code, which doesn't come again; a tensor's line has 350 characters.
_REMEMBERED_LINE_MAX = 1024

_CANONICAL = re.compile("f[a-z2-7]{52}")


def stored_key(kind: str, key: str) -> str:
    """The key under which guardcache keeps what PyTorch calls `key`."""
    own = canonical_key(key)
    return own if own is not None else hashlib.sha256(f"pytorch {kind} {key}".encode()).hexdigest()


def canonical_key_text(key: str) -> str:
    """A key of guardcache's as PyTorch carries it: longer by one than PyTorch's own, so that nothing of it is lost."""
    return "f" + base64.b32encode(bytes.fromhex(key)).decode().rstrip("=").lower()


def canonical_key(text: str) -> str | None:
    """Back to hex; None for one of PyTorch's own keys."""
    if not _CANONICAL.fullmatch(text):
        return None
    return base64.b32decode(text[1:].upper() + "====").hex()


class Component(NamedTuple):
    """Something that PyTorch's key is made of."""

    name: str
    hash: str
    text: str
    """For people."""


def components(lines: Sequence[str]) -> list[Component]:
    """Read from PyTorch's component lines, ``[hash] name: text``.

    Inductor has six hundred options, a line each: here they are one component, whose text has a line for each.
    """
    first, end = _option_lines(lines)
    found = []
    for line in (*lines[:first], *lines[end:]):
        component = _component(line) if len(line) <= _REMEMBERED_LINE_MAX else _component.__wrapped__(line)
        if component is not None:
            found.append(component)
    if first < end:
        found.append(_options(lines[first:end]))
    return found


def description(kind: str, key: str, made_of: Iterable[Component] = ()) -> Graph:
    """A description that is known by its key."""
    return Graph.keyed(kind, stored_key(kind, key), made_of)


_OPTION = "] inductor_config["


def _option_lines(lines: Sequence[str]) -> tuple[int, int]:
    """Where the options begin and end. PyTorch writes a component's lines one behind the other."""
    first, end = 0, len(lines)
    while first < end and not _is_option(lines[first]):
        first += 1
    while end > first and not _is_option(lines[end - 1]):
        end -= 1
    return first, end


def _is_option(line: str) -> bool:
    return line.startswith(_OPTION, line.find("]"))


@functools.lru_cache(maxsize=4096)
def _component(line: str) -> Component | None:
    """Of one line. Most components are the same for nearly all graphs of a process."""
    digest, closing, rest = line.partition("] ")
    name, colon, text = rest.partition(": ")
    if not closing or not colon:
        return None
    shown = short_tensor(text).replace("\0", "") or '""'
    return Component(name, hashlib.sha256(digest.removeprefix("[").encode()).hexdigest(), _kept(shown))


def _kept(text: str) -> str:
    """With a last line that says what is left out, and differs where that does."""
    left_out = text[_LINE_TEXT_MAX:]
    if not left_out:
        return text
    digest = hashlib.sha256(left_out.encode()).hexdigest()[:8]
    return f"{text[:_LINE_TEXT_MAX]}\n... cut: {len(left_out)} more characters ({digest})"


class _LastOptions(NamedTuple):
    lines: Sequence[str]
    component: Component


# They are the same for nearly all graphs of a process, and comparing them costs a tenth of describing them.
_last_options = _LastOptions((), Component("", "", ""))


def _options(lines: Sequence[str]) -> Component:
    global _last_options
    last = _last_options
    if last.lines != lines:
        text = _kept("\n".join(line.partition(_OPTION)[2].replace("]: ", " = ", 1) for line in lines))
        digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        last = _last_options = _LastOptions(lines, Component("inductor_config", digest, text))
    return last.component


# A tensor in PyTorch's component lines, and what is left out of it because nearly every tensor has it.
_TENSOR = re.compile(
    r"TensorMetadata\(dtype=(torch\.\w+), shape=torch\.Size\((\[.*?\])\), stride=\((.*?),?\), "
    r"device=device\(type='(\w+)'(?:, index=(\d+))?\), (.*)\)"
)
_USUAL = frozenset(
    [
        "layout=torch.strided",
        "memory_format=torch.contiguous_format",
        "storage_offset=0",
        "storage_bytes=None",
        *(
            f"{name}=False"
            for name in ("requires_grad", "is_quantized", "is_conj", "is_neg", "is_inference", "is_sparse")
        ),
        *(f"{name}=None" for name in ("is_coalesced", "dense_dim", "sparse_dim")),
    ]
)
_ABBREVIATIONS = {str(dtype): text for dtype, text in dtype_abbrs.items()}


def short_tensor(text: str) -> str:
    """``f32[4, 24][24, 1]cpu``, as PyTorch's own logs write a tensor; any other text as it is."""
    match = _TENSOR.fullmatch(text)
    if match is None:
        return text
    dtype, shape, stride, device, index, more = match.groups()
    place = device if index is None else f"{device}:{index}"
    unusual = [fact for fact in more.split(", ") if fact not in _USUAL]
    return " ".join([f"{_ABBREVIATIONS.get(dtype, dtype)}{shape}[{stride}]{place}", *unusual])


# ---- guards ----


def guards_of_pickle(content: bytes) -> str | None:
    """The `guards_expr` of a pickled entry, read from its opcodes: nothing in the pickle is executed."""
    memo: list[Any] = []
    value: Any = None
    wanted = False
    for opcode, argument, _ in pickletools.genops(content):
        if opcode.name == "MEMOIZE":
            memo.append(value)
            continue
        if opcode.name in ("FRAME", "PROTO"):
            continue
        value = memo[int(argument or 0)] if opcode.name in ("BINGET", "LONG_BINGET") else argument
        if wanted:
            if value is not None and not isinstance(value, str):
                break
            return value or None
        wanted = value == "guards_expr"
    raise ValueError("a pickled entry without guards_expr")


def guard_list(expression: str | None) -> tuple[str, ...]:
    """One guard: PyTorch joins guards without parentheses, and what it evaluates is the joined text."""
    return (expression,) if expression else ()


# ---- what is volatile ----

_HEX = frozenset(b"0123456789abcdef")

# The integer opcodes of a pickle, and the bytes of their operand; that of LONG1 begins with its length.
_OPERANDS = {b"K": 1, b"M": 2, b"J": 4}
_LONG1 = b"\x8a"

# What the top level of a pickle consists of: frames, and between them texts and bytes that are too large for one. Each
# begins with its length, of so many bytes.
_FRAME = b"\x95"
_OUTSIDE_OF_FRAMES = {b"X": 4, b"B": 4, b"\x8d": 8, b"\x8e": 8}


def _end_of_address(content: bytes, start: int) -> int:
    while start < len(content) and content[start] in _HEX:
        start += 1
    return start


def _end_of_timing(content: bytes, start: int) -> int:
    opcode = content[start : start + 1]
    if opcode == _LONG1:
        return start + 2 + content[start + 1]
    return start + 1 + _OPERANDS[opcode] if opcode in _OPERANDS else start


class _Mark(NamedTuple):
    """What stands before a part in which two pickles of one graph differ."""

    text: bytes
    pair: int
    """Where in it two bytes lie that are rarely neighbours in an entry: the search is for these."""
    end_of: Callable[[bytes, int], int]
    """Where the part ends that begins there."""


_MARKS = (
    _Mark(b" at 0x", 4, _end_of_address),
    # An environment variable that Inductor sets, in a listing of them.
    _Mark(b"_PYOBJECT_TENSOR_DATA_PTR'] = '", 0, _end_of_address),
    _Mark(b"_time_taken_ns\x94", 13, _end_of_timing),
)


def _volatile(content: bytes) -> Iterator[tuple[int, int]]:
    for text, pair, end_of in _MARKS:
        for place in _native.places(content, text, pair):
            start = place + len(text)
            yield start, end_of(content, start)


def _frames(content: bytes) -> Iterator[tuple[int, int]]:
    """The headers of a pickle's frames, whose lengths change with those of the timings inside."""
    at = len(pickle.PROTO + b"\x04")
    while content[at : at + 1] in (_FRAME, *_OUTSIDE_OF_FRAMES):
        opcode = content[at : at + 1]
        size = 8 if opcode == _FRAME else _OUTSIDE_OF_FRAMES[opcode]
        start, at = at, at + 1 + size
        if opcode == _FRAME:
            yield start, at
        at += int.from_bytes(content[at - size : at], "little")


# Changed options are listed in an entry too, in the order of a set: another one in each process.
_LISTED_OPTION = b"\ntorch._inductor.config."


def _listed_options(content: bytes) -> list[tuple[int, int]]:
    found = [(start, content.find(b"\n", start + 1)) for start in _native.places(content, _LISTED_OPTION, 0)]
    return [(start, end) for start, end in found if end >= 0]


def identity(content: bytes) -> bytes:
    """What two entries must share to be one: the pickled bytes but for timings, addresses, and the order of options."""
    options = _listed_options(content)
    parts = sorted([*options, *_frames(content), *_volatile(content)])
    return _native.digest_outside(content, parts, b"".join(sorted(content[start:end] for start, end in options)))


# ---- what an entry depends on besides its key ----


@functools.cache
def vector_isa() -> str:
    """The machine's vector instruction sets, without asking a compiler. PyTorch's key doesn't have them."""
    return " ".join([platform.machine(), *x86_isa_checker(), os.environ.get("ATEN_CPU_CAPABILITY", "")]).strip()


def _cpu_flags() -> list[str]:
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() in ("flags", "Features"):
                    return sorted(value.split())
    except OSError:
        pass
    return [platform.processor()]


@functools.cache
def host_fingerprint() -> str:
    """Equal where a shared object that was compiled here for this very CPU and this Python can be loaded and run."""
    facts = [
        torch.__version__,
        platform.machine(),
        sys.implementation.cache_tag,
        sysconfig.get_config_var("SOABI"),
        list(platform.libc_ver()),
        _cpu_flags(),
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


def requirements(device_types: Iterable[str], extern_libs: str | None) -> dict[str, str]:
    """What a lookup must provide for an entry to be of use."""
    needed = {}
    if "cpu" in device_types:
        needed["vector_isa"] = vector_isa()
    if extern_libs is not None:
        needed["extern_libs"] = extern_libs
    return needed


def compiler() -> str:
    """What Inductor calls the C++ compiler. A process that has another one writes other sources."""
    return " ".join(str(name) for name in config.cpp.cxx if name is not None)


def matmul_precision() -> str:
    """As PyTorch's own tables have it; from 2.15 on the plain getter raises where settings are mixed."""
    key = getattr(codecache, "fp32_matmul_precision_key", torch.get_float32_matmul_precision)
    return str(key())


@functools.cache
def _current_extern_libs() -> str | None:
    try:
        backend = torch.utils._triton.triton_backend()
        return str(torch.utils._triton._extern_libs_key(backend))
    except Exception:
        return None


def provided() -> dict[str, str]:
    """What this process provides: see `requirements`."""
    facts = {"vector_isa": vector_isa(), "cxx": compiler()}
    if (extern_libs := _current_extern_libs()) is not None:
        facts["extern_libs"] = extern_libs
    return facts


# ---- metadata ----


class Binary(NamedTuple):
    """A shared object that a generated module loads: its place in Inductor's directory, and PyTorch's name for it."""

    name: str
    key: str


Binaries: TypeAlias = dict[str, Binary]
"""What a generated module asks to be compiled (as a digest) -> the shared object that is the answer."""


def read_files(names: Iterable[str], directory: str) -> list[Attachment]:
    """Shared objects, as far as they are in their places."""
    found = []
    for name in names:
        path = os.path.join(directory, name)
        if os.path.exists(path):
            with open(path, "rb") as file:
                found.append(Attachment(name, file.read(), executable=True))
    return found


@dataclass(frozen=True)
class Metadata:
    """What is kept beside an entry's payload."""

    host: str = ""
    modules: dict[str, Binaries] = field(default_factory=dict)
    """By generated module."""
    symbols: tuple[str, ...] = ()
    """What the producer called the symbolic inputs, slot by slot; only for keys that don't count names."""
    halves: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Of an AOT entry: the Inductor graphs it refers to by such a key -> what it calls their symbolic inputs."""
    cuts: tuple[Cut, ...] = ()
    """Where attached kernels belong in the payload."""

    def encode(self) -> bytes:
        return json.dumps(vars(self)).encode()

    def files(self) -> list[str]:
        """The attachments that have a place in Inductor's directory."""
        return sorted({binary.name for binaries in self.modules.values() for binary in binaries.values()})

    @classmethod
    def decode(cls, content: bytes) -> Metadata:
        if not content:
            return cls()
        read = json.loads(content)
        modules = {
            module: {request: Binary(*binary) for request, binary in binaries.items()}
            for module, binaries in read["modules"].items()
        }
        halves = {key: tuple(symbols) for key, symbols in read["halves"].items()}
        cuts = tuple(Cut(*cut) for cut in read.get("cuts", ()))
        return cls(read["host"], modules, tuple(read["symbols"]), halves, cuts)
