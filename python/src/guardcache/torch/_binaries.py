"""The shared objects of generated modules: noticed while PyTorch compiles them, brought back by a hit.

A generated module hands C++ source to `CppCodeCache.load_async` and gets a loader back. PyTorch's own way from source
to loader asks the compiler for its version, probes the vector instruction sets, preprocesses a header, and compiles
unless the file is there. An entry remembers what its modules asked for and the shared object that was the answer, so
that a hit on an equal host loads that, and asks no compiler anything.

A generated module is known by PyTorch's key of its source. Per thread, `scope` is the module that is being loaded.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch._inductor.runtime.cache_dir_utils import cache_dir

from guardcache import Attachment
from guardcache.torch._entries import Binaries, Binary

log = logging.getLogger("guardcache.torch")

Loader = Callable[[], Any]

# Modules between their compilation and their entry's insert: a handful, unless inserts never come.
_NOTICED_MAX = 256


@dataclass(frozen=True)
class Taken:
    """What generated modules loaded, for the entry they belong to."""

    modules: dict[str, Binaries]
    files: list[Attachment]
    complete: bool
    """Whether each module loaded binaries, and all of them are here."""


@dataclass
class _Scope:
    offered: Binaries
    noticed: dict[str, Loader] = field(default_factory=dict)


class _Thread(threading.local):
    scope: _Scope | None = None


def _digest(loader_class: str, *request: object) -> str:
    return hashlib.sha256(repr((loader_class, *request)).encode()).hexdigest()


class BinaryStore:
    """What generated modules loaded, and what they may load without compiling."""

    def __init__(self, at_home: Callable[[], bool]) -> None:
        """`at_home`: whether Inductor works where hits put shared objects. Elsewhere it wants its own."""
        self._at_home = at_home
        self._thread = _Thread()
        self._lock = threading.Lock()
        self._offered: dict[str, Binaries] = {}
        self._noticed: OrderedDict[str, dict[str, Loader]] = OrderedDict()

    def offer(self, modules: dict[str, Binaries]) -> None:
        """The shared objects of these modules are in place."""
        with self._lock:
            self._offered.update(modules)

    def take(self, modules: Sequence[str]) -> Taken:
        """What the modules loaded, with the files."""
        found: dict[str, Binaries] = {}
        attachments: dict[str, Attachment] = {}
        outside = False
        for module in modules:
            with self._lock:
                noticed = self._noticed.get(module, {})
            for request, loader in noticed.items():
                binary, path = _describe(loader())
                if binary is None:
                    outside = True
                    continue
                found.setdefault(module, {})[request] = binary
                if binary.name not in attachments:
                    with open(path, "rb") as file:
                        attachments[binary.name] = Attachment(binary.name, file.read(), executable=True)
        complete = bool(modules) and not outside and all(module in found for module in modules)
        return Taken(found, list(attachments.values()), complete)

    # ---- what stands in for PyTorch's functions ----

    def load_module(self, original: Callable[[], Any], module: str) -> Any:
        """Around PyCodeCache.load_by_key_path."""
        with self._lock:
            scope = _Scope(self._offered.get(module, {}) if self._at_home() else {})
        outer, self._thread.scope = self._thread.scope, scope
        try:
            return original()
        finally:
            self._thread.scope = outer
            self._keep(module, scope.noticed)

    def load_async(self, original: Callable[..., Loader], cls: Any, arguments: dict[str, Any]) -> Loader:
        """Around CppCodeCache.load_async."""
        scope = self._thread.scope
        if scope is None:
            return original(**arguments)
        asked = {name: value for name, value in arguments.items() if name != "submit_fn"}
        request = _digest(cls.__name__, sorted(asked.items()))
        offered = scope.offered.get(request)
        loader = original(**arguments) if offered is None else _loader(cls, offered, lambda: original(**arguments))
        scope.noticed[request] = loader
        return loader

    def _keep(self, module: str, noticed: dict[str, Loader]) -> None:
        if not noticed:
            return
        with self._lock:
            self._noticed[module] = noticed
            while len(self._noticed) > _NOTICED_MAX:
                self._noticed.popitem(last=False)


def _loader(cls: Any, binary: Binary, compile_it: Callable[[], Loader]) -> Loader:
    """Loads a shared object; if it can't be loaded here after all, PyTorch's own loader compiles another."""
    lock = threading.Lock()
    path = os.path.join(cache_dir(), binary.name)
    library: Any = None

    def load() -> Any:
        nonlocal library
        with lock:
            if library is None:
                try:
                    library = cls._load_library(path, binary.key)
                except (ImportError, OSError) as error:
                    log.warning("a stored shared object can't be loaded, compiling instead: %s", error)
                    library = compile_it()()
            return library

    return load


def _describe(library: Any) -> tuple[Binary | None, str]:
    """A loaded library (a module, or ctypes' own) and its file; None if it lies outside of Inductor's directory."""
    path = getattr(library, "__file__", None) or library._name
    name = os.path.relpath(path, cache_dir())
    return (None if name.startswith(os.pardir) else Binary(name, library.key)), path
