"""Frames that Dynamo compiles, kept in guardcache.

1. The first key is what the frame's code is, with settings and versions. Under it lie lists: what has to be looked at.
2. For each list everything in it is looked at in the present frame. What is seen, but for sizes, makes the second key.
3. Under that lie variants, and guardcache's guards on sizes choose among them before a byte of any is unpickled.
4. Dynamo's guards are built from the present frame's values, those on identities too, and are asked about this frame.

A frame is stored once what its backend made is stored, which for training is after the backward. Anything else than
equality in all four steps is a miss, and Dynamo compiles as if nothing of this were there.
"""

from __future__ import annotations

import dataclasses
import logging
import pickle
import re
import sys
import threading
import time
import types
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch._dynamo import convert_frame, pgo
from torch._dynamo.decorators import disable
from torch._dynamo.guards import CheckFunctionManager
from torch._dynamo.output_graph import OutputGraphCommon, get_builtins_dict
from torch._dynamo.package import SerializedCode
from torch._dynamo.types import GuardedCode, wrap_guarded_code
from torch._dynamo.utils import orig_code_map
from torch._dynamo.variables import builder
from torch._functorch._aot_autograd.aot_autograd_result import BundledAOTAutogradCacheArtifact
from torch._guards import GuardsSet
from torch.utils._ordered_set import OrderedSet

import guardcache
from guardcache import Attachment, Graph, Hit, Miss
from guardcache.torch import _entries as entries
from guardcache.torch._kernels import Apart, Cut
from guardcache.torch.precompile import facts, key, pickling
from guardcache.torch.precompile.content import UnprovableError, digest
from guardcache.torch.precompile.facts import Look, Scope, Seen
from guardcache.torch.precompile.recording import Recording

if TYPE_CHECKING:
    from guardcache.torch._adapter import Adapter

log = logging.getLogger("guardcache.torch")

KIND = "dynamo"

# Frames that wait for their backward, and what backends made for frames that aren't finished.
_WAITING_MAX = 256

# Lists of what is looked at: one for each way through the function.
_LISTS_MAX = 64


@dataclass(frozen=True)
class Made:
    """What a backend made of a graph: AOT's entry without its kernels, and the shared objects that it loads."""

    apart: Apart
    modules: dict[str, entries.Binaries]
    files: list[Attachment]


@dataclass(frozen=True)
class Stored:
    """A payload."""

    looks: list[Look]
    state: Any
    shapes: Any
    guards: list[Any]
    code: SerializedCode
    resumed: list[Any]
    imports: dict[str, str]
    backends: dict[str, tuple[bytes, tuple[Cut, ...]]]
    """AOT's entries without their kernels, and where those belong."""


class _Waiting(NamedTuple):
    recording: Recording
    first: key.Key
    label: str
    took_ns: int


class _Frame(NamedTuple):
    code: types.CodeType
    world: dict[str, Any]
    local: dict[str, Any]
    closure: tuple[types.CellType, ...] | None
    compile_id: Any


class _Tried(NamedTuple):
    """What came of one list."""

    found: Hit | Miss | None = None
    refused: str = ""
    result: Any = None


class _Thread(threading.local):
    recording: Recording | None = None
    asked: str | None = None


class Frames:
    """Dynamo's frames over one adapter's cache."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._thread = _Thread()
        self._lock = threading.RLock()
        self._made: OrderedDict[str, Made | str] = OrderedDict()
        """By backend; a text says why AOT's cache leaves out what it made."""
        self._waiting: list[_Waiting] = []

    # ---- around Dynamo's compile of a frame ----

    def compile(self, original: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        code, world, local, _, closure, compiler, one_graph, export, _, hooks, *_ = arguments
        if export or named.get("package") is not None or not self._adapter.at_home():
            return original(*arguments, **named)
        label = f"{code.co_filename}:{code.co_firstlineno} {code.co_qualname}"
        frame = _Frame(code, world, local, closure, named["compile_id"])
        try:
            first = key.of_frame(code, world, local, compiler, one_graph, hooks)
        except Exception as reason:
            self._adapter.frame_refused(label, _text(reason))
            return original(*arguments, **named)
        found = self._find(first, frame, label)
        if found is not None:
            return found
        recording = Recording(code)
        outer, self._thread.recording = self._thread.recording, recording
        began = time.monotonic_ns()
        try:
            result = original(*arguments, **{**named, "package": recording})
        finally:
            self._thread.recording = outer
        if result.guarded_code is not None:
            self._wait(_Waiting(recording, first, label, time.monotonic_ns() - began))
        return result

    def take_guards(self, manager: Any, *arguments: Any) -> bytes | None:
        """None if it isn't asked for a frame of ours."""
        recording = self._thread.recording
        if recording is None:
            return None
        try:
            recording.take_guards(manager, *arguments)
        except Exception as reason:
            recording.refuse(_text(reason))
        return b"in guardcache"

    # ---- what backends make ----

    def asked(self, backend: str | None) -> None:
        """AOT looks its entry up for this backend."""
        self._thread.asked = backend

    def made(
        self, backend: str | None, apart: Apart, modules: dict[str, entries.Binaries], files: list[Attachment]
    ) -> None:
        """AOT's entry was stored, or found if no backend is named."""
        self._settle(backend or self._thread.asked, Made(apart, modules, files))

    def left_out(self, reason: str, backend: str | None = None) -> None:
        """PyTorch doesn't cache what AOT compiles for a backend, or for the one that this thread asked for."""
        self._settle(backend or self._thread.asked, f"PyTorch doesn't cache what is compiled for it: {_plain(reason)}")

    def _settle(self, backend: str | None, made: Made | str) -> None:
        if backend is None:
            return
        with self._lock:
            self._made[backend] = made
            while len(self._made) > _WAITING_MAX:
                self._made.popitem(last=False)
            ready = [each for each in self._waiting if self._is_ready(each)]
            self._waiting = [each for each in self._waiting if each not in ready]
        for each in ready:
            self._store(each)

    def waiting(self) -> list[str]:
        """The labels of frames that are kept once AOT's entry is there: for training, after the backward."""
        with self._lock:
            return [each.label for each in self._waiting]

    def _is_ready(self, waiting: _Waiting) -> bool:
        return all(backend in self._made for backend in waiting.recording.backends)

    def _wait(self, waiting: _Waiting) -> None:
        recording = waiting.recording
        if recording.reason or recording.seen is None or recording.result is None:
            self._adapter.frame_refused(waiting.label, recording.reason or "Dynamo kept it from being packaged")
            return
        recording.scope = None
        with self._lock:
            ready = self._is_ready(waiting)
            if not ready:
                self._waiting = [*self._waiting[-_WAITING_MAX:], waiting]
        if ready:
            self._store(waiting)

    # ---- storing ----

    def _store(self, waiting: _Waiting) -> None:
        try:
            self._insert(waiting)
        except Exception as error:
            log.info("a frame isn't stored", exc_info=True)
            self._adapter.frame_refused(waiting.label, _text(error))

    def _insert(self, waiting: _Waiting) -> None:
        recording = waiting.recording
        seen = recording.seen
        assert seen is not None
        assert recording.result is not None
        with self._lock:
            made = {backend: _kept(self._made.pop(backend)) for backend in recording.backends}
        stored = Stored(
            recording.looks,
            recording.state,
            recording.shapes,
            recording.guards,
            recording.result,
            recording.resumed,
            recording.imports,
            {backend: (each.apart.rest, each.apart.cuts) for backend, each in made.items()},
        )
        payload = pickling.dumps(stored, recording.modules)
        looked = pickle.dumps((recording.looks, sorted(set(recording.imports.values()))))
        name = digest(repr(part) for part in recording.looks)
        cache = self._adapter.cache
        second = _second(waiting.first, name, seen)
        modules = {module: found for each in made.values() for module, found in each.modules.items()}
        files = {file.name: file for each in made.values() for file in (*each.files, *each.apart.files)}
        inserted = cache.insert(
            Graph.keyed(KIND, second.text, second.lines),
            payload,
            guards=recording.conditions,
            hints=seen.hints,
            metadata=entries.Metadata(entries.host_fingerprint(), modules).encode(),
            compile_ns=waiting.took_ns,
            label=waiting.label,
            attachments=files.values(),
        )
        if not inserted:
            raise UnprovableError(str(inserted.reason))
        cache.insert(
            Graph.keyed(KIND, waiting.first.text, waiting.first.lines),
            looked,
            variant=name,
            label=waiting.label,
            identity=name.encode(),
        )
        self._adapter.frame_stored()

    # ---- finding ----

    def _find(self, first: key.Key, frame: _Frame, label: str) -> Any:
        """None, and the reason recorded, where nothing is provably the same."""
        began = time.perf_counter_ns()
        found: Hit | Miss | None = None
        refused = ""
        try:
            for entry in self._lists(first):
                tried = self._try(first, entry, frame, label)
                found = found if tried.found is None else tried.found
                refused = tried.refused or refused
                if tried.result is not None:
                    self._adapter.frame_looked_up(label, found, "", time.perf_counter_ns() - began)
                    return tried.result
            if found is None:
                found = self._adapter.cache.lookup(Graph.keyed(KIND, first.text, first.lines), label=label)
        except Exception as error:
            log.info("a frame isn't used", exc_info=True)
            refused = _text(error)
        reason = refused or str(found.reason if isinstance(found, Miss) else guardcache.Reason.NO_KEY)
        self._adapter.frame_looked_up(label, found, reason, time.perf_counter_ns() - began)
        return None

    def _try(self, first: key.Key, entry: guardcache.Entry, frame: _Frame, label: str) -> _Tried:
        """One list. That something can't be looked at or used says nothing of other ways through the function."""
        found: Hit | Miss | None = None
        try:
            seen = self._look(first, entry, frame)
            if seen is None:
                return _Tried()
            second = _second(first, entry.variant, seen)
            graph = Graph.keyed(KIND, second.text, second.lines)
            found = self._adapter.cache.lookup(graph, seen.hints, label=label, sources=seen.sources)
            if isinstance(found, Miss):
                return _Tried(found)
            result = self._restore(found, frame)
            _remember_sizes(frame, seen)
            return _Tried(found, "", result)
        except Exception as error:
            log.info("what is stored of a frame isn't used", exc_info=True)
            return _Tried(found, _text(error))

    def _lists(self, first: key.Key) -> list[guardcache.Entry]:
        """The lists that lie under the first key, newest first."""
        return sorted(self._adapter.cache.entries(first.text), key=lambda entry: -entry.sequence)[:_LISTS_MAX]

    def _look(self, first: key.Key, entry: guardcache.Entry, frame: _Frame) -> Seen | None:
        """What is in the frame of all that a list has; None if the list is gone."""
        found = self._adapter.cache.lookup(Graph.keyed(KIND, first.text), variant=entry.variant)
        if not isinstance(found, Hit):
            return None
        looks, modules = pickle.loads(found.payload)
        return facts.look(Scope(frame.local, facts.world(frame.world, modules)), looks)

    def _restore(self, hit: Hit, frame: _Frame) -> Any:
        self._adapter.bring_binaries(hit)
        stored: Stored = pickle.loads(hit.payload)
        builtins = stored.state.name_of_builtins_dict_key_in_fglobals
        world = frame.world
        for name, value in _made_globals(world, stored.imports, builtins).items():
            if world.setdefault(name, value) is not value:
                raise UnprovableError(f"{name} is something else among the globals here")
        manager = _guards(stored, frame)
        if not manager.check(frame.local):
            raise UnprovableError("guard_false: Dynamo's own guards don't hold")
        names = {
            name: f"{name}_{hit.entry[:16]}" for name in (*stored.backends, *(each.name for each in stored.resumed))
        }
        for backend, (rest, cuts) in stored.backends.items():
            content = self._adapter.whole(hit, rest, cuts)
            run = BundledAOTAutogradCacheArtifact(backend, pickle.loads(content)).after_deserialization()
            world[names[backend]] = disable(run, reason="compiled before")  # type: ignore[no-untyped-call]
        for each in stored.resumed:
            world[names[each.name]] = _function(_code(each.code, names, frame.code), world, names[each.name])
        code = _code(stored.code, names, frame.code)
        convert_frame.output_codes.add(code)
        orig_code_map[code] = frame.code
        annotation = f"Torch-Compiled Region: {frame.compile_id}"
        return wrap_guarded_code(GuardedCode(code, manager, frame.compile_id, annotation))


def _kept(made: Made | str) -> Made:
    if isinstance(made, str):
        raise UnprovableError(made)
    return made


# PyTorch's reasons have lines, and functions with their addresses.
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def _plain(reason: str) -> str:
    return _ADDRESS.sub("", reason.strip().partition("\n")[0]).rstrip(" .")


def _remember_sizes(frame: _Frame, seen: Seen) -> None:
    """As tracing would have: a size that differs the next time becomes dynamic."""
    tracing: Any = types.SimpleNamespace(f_code=frame.code, closure=frame.closure, distributed_state=None)
    for place, value in seen.sized.items():
        if isinstance(value, torch.Tensor):
            builder.record_automatic_dynamic(tracing, place, value)
        else:
            pgo.process_automatic_dynamic(tracing, place, pgo.FrameStateSizeEntry.make_scalar(value))


def _second(first: key.Key, name: str, seen: Seen) -> key.Key:
    return key.made(f"{first.text} {name}", {kind: "\n".join(lines) for kind, lines in seen.facts.items()})


def _made_globals(world: dict[str, Any], imports: dict[str, str], builtins: str | None) -> dict[str, Any]:
    """What Dynamo puts into a frame's globals: the modules and the builtins that it refers to."""
    modules: dict[str, Any] = {alias: sys.modules[name] for alias, name in imports.items() if name in sys.modules}
    return {**modules, builtins: get_builtins_dict(world)} if builtins else modules


def _guards(stored: Stored, frame: _Frame) -> Any:
    state = dataclasses.replace(
        stored.state, local_scope=frame.local, global_scope=frame.world, _guards=GuardsSet(OrderedSet(stored.guards))
    )
    shapes = stored.shapes
    if shapes is not None:
        shapes = dataclasses.replace(shapes, cpp_code_parts=None, python_fallback=True)
    return CheckFunctionManager(
        frame.code, OutputGraphCommon(state), shape_code_parts=shapes, runtime_global_scope=frame.world
    ).guard_manager


def _code(stored: SerializedCode, names: dict[str, str], asked: types.CodeType) -> types.CodeType:
    """With names of its own for what is put into the globals, and standing where the present function stands."""
    code: types.CodeType = SerializedCode.to_code_object(
        dataclasses.replace(
            stored,
            co_names=tuple(names.get(name, name) for name in stored.co_names),
            co_filename=asked.co_filename,
            co_firstlineno=asked.co_firstlineno,
        )
    )
    return code


def _function(code: types.CodeType, world: dict[str, Any], name: str) -> Any:
    if not code.co_freevars:
        return types.FunctionType(code, world, name)
    return lambda closure: types.FunctionType(code, world, name, None, closure)


def _text(error: BaseException) -> str:
    return str(error) if isinstance(error, UnprovableError) else f"{type(error).__name__}: {error}"[:300]
