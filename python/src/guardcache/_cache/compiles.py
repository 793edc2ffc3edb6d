"""Look up or compile, in one call or in two halves, once among all threads and processes: `guardcache/compile.h`."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Unpack

from guardcache import _native
from guardcache._cache.handle import Handle
from guardcache._cache.options import CompileAsked, Variant, make_compile_request, variant_of
from guardcache._cache.results import Attachment, Buffer, Hit, Miss, Reason, make_hit, make_miss
from guardcache._checked import texts, whole
from guardcache._classes import Record, field
from guardcache._errors import NotStoredWarning
from guardcache._graph import Graph, native_of
from guardcache._values import Hints

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


class Compiled(Record):
    """What a compile function gives: the code, and what it assumed."""

    payload: Buffer
    guards: Iterable[str] = ()
    metadata: bytes = b""
    variant: str | None = None
    priority: int = 0
    requirements: Mapping[str, str] = field(default_factory=dict)
    attachments: Iterable[Attachment] = ()
    compile_ns: int = 0
    """What compiling took; 0: the time the function took."""
    label: str | None = None
    """Whose compile it was; None: what the call's `label` says."""
    identity: bytes | None = None
    """Stands for the payload where entries are compared, for payloads that have timings or addresses inside."""
    deltas: Mapping[str, int] = field(default_factory=dict)
    """How far compiling moved the compiler's counters: handed back with a hit, to be applied again."""
    do_not_store: str | None = None
    """Why it must not be kept (``it calls back into this process``)."""
    value: Any = None
    """Whatever else the compile made, for who called: it isn't stored."""


class Fresh(Compiled):
    """What was compiled just now, whatever became of storing it."""

    key: str = ""
    reason: Reason = Reason.NONE
    """Why it had to be compiled."""
    note: str = ""
    """Why it isn't stored; empty if it is."""

    @property
    def stored(self) -> bool:
        return not self.note


def _entry_of(compiled: Compiled, variant: Variant | None, label: str | None) -> _native._Entry:
    """As the library takes it."""
    name, priority = compiled.variant, compiled.priority
    if variant is not None and name is None:
        name, priority = variant
    return (
        texts("guards", compiled.guards),
        compiled.payload,
        compiled.metadata,
        name,
        priority,
        compiled.requirements,
        whole("compile_ns", compiled.compile_ns),
        compiled.label or label,
        compiled.identity,
        tuple((a.name, a.content, a.executable) for a in compiled.attachments),
        compiled.deltas,
    )


def check_compiled(made: object) -> Compiled:
    if not isinstance(made, Compiled):
        raise TypeError(f"a compile function gives a guardcache.Compiled, not {_what(made)}")
    return made


def _what(made: object) -> str:
    return "None" if made is None else f"a value of type {type(made).__name__}"


def _callers_level() -> int:
    """For a warning by who calls this: the first frame that isn't of this package, an adapter's apart."""
    frame, level = sys._getframe(2), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return level


class Call:
    """One call: what is compiled in it, and what comes out. The library calls it to compile."""

    def __init__(
        self, strict: bool, variant: Variant | None, label: str | None, compile: Callable[[], Compiled] | None = None
    ) -> None:
        self._strict = strict
        self._variant = variant
        self._label = label
        self._compile = compile
        self._compiled: Compiled | None = None

    def __call__(self) -> tuple[_native._Entry | Exception, str | None]:
        if not callable(self._compile):
            raise TypeError(f"a compile function is needed, not {self._compile!r}")
        return self.take(check_compiled(self._compile()))

    def take(self, compiled: Compiled) -> tuple[_native._Entry | Exception, str | None]:
        """The entry, or what is wrong with it, which must not cost the compile."""
        self._compiled = compiled
        try:
            return _entry_of(compiled, self._variant, self._label), compiled.do_not_store
        except Exception as error:
            return error, compiled.do_not_store

    def outcome(self, found: _native._Hit | _native._Product) -> Hit | Fresh:
        if len(found) != 6:
            return make_hit(found)
        assert self._compiled is not None
        key, reason, note, status, compile_ns, trouble = found
        if trouble is not None:
            note = f"not stored: {trouble}"
        fresh = _fresh_of(self._compiled, key, Reason(reason), note, compile_ns)
        if trouble is not None and self._strict:
            trouble.__dict__["compiled"] = fresh
            raise trouble
        if trouble is not None or status != "OK":
            warnings.warn(note, NotStoredWarning, stacklevel=_callers_level())
        return fresh

    def settled(self, found: _native._Hit | _native._Product | Exception | None) -> Hit | Fresh | Exception | None:
        """The same where exceptions are outcomes."""
        if found is None or isinstance(found, Exception):
            return found
        try:
            return self.outcome(found)
        except Exception as error:
            return error


def _fresh_of(compiled: Compiled, key: str, reason: Reason, note: str, compile_ns: int) -> Fresh:
    given = {name: getattr(compiled, name) for name in Compiled._fields}
    return Fresh(**{**given, "compile_ns": compile_ns}, key=key, reason=reason, note=note)


class Compile:
    """A compile that has begun (`Cache.begin`), for which others wait until its `end`.

    As a context manager it ends when the block does: others go on then, also after an exception.
    """

    __slots__ = ("_call", "_ended", "_native")

    def __init__(self, native: _native.Compile, call: Call) -> None:
        self._native = native
        self._call = call
        self._ended = False

    def end(self, compiled: Compiled | None = None) -> Hit | Fresh | None:
        """Ends it, by the thread that began it: stores what was compiled, if it is given, and lets others go on.

        Returns what `Cache.get_or_compile` would. A second time it does nothing and returns None.
        """
        self._ended = True
        if compiled is None:
            self._native.end(None, None)
            return None
        try:
            check_compiled(compiled)
        except TypeError:
            self._native.end(None, None)
            raise
        found = self._native.end(*self._call.take(compiled))
        return None if found is None else self._call.outcome(found)

    def __enter__(self) -> Compile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()

    def __del__(self) -> None:
        if not self._ended:
            warnings.warn("a compile that has begun never ended", ResourceWarning, stacklevel=2, source=self)


class Compiles(Handle):
    __slots__ = ()

    def get_or_compile(
        self,
        graph: Graph,
        compile: Callable[[], Compiled],
        hints: Hints | None = None,
        **asked: Unpack[CompileAsked],
    ) -> Hit | Fresh:
        """Looks up; on a miss compiles through the function, once among all threads and processes, and stores the
        result.

        Others who want the same wait and find what was stored. A failing function stores nothing, and its exception is
        the caller's. Options are those of `CompileAsked`.

        What was compiled is returned whatever becomes of storing it, with the reason why it isn't as its `note`. If
        storing it failed (a guard that can't be parsed or doesn't hold, a full disk) there is a `NotStoredWarning`; on
        a strict cache the error is raised, with what was compiled as its `compiled`. A graph without a key is compiled
        without the cache, for the reason `Reason.BYPASS`; on a strict cache what is described wrongly raises.
        """
        request, options = make_compile_request("get_or_compile", asked, make_hit)
        call = Call(self._strict, variant_of(asked), asked.get("label"), compile)
        try:
            native = graph._native
        except AttributeError:
            native = native_of(graph)  # says what it should be
        return call.outcome(self._native.get_or_compile(native, hints, request, options, call))

    def begin(
        self, graph: Graph, hints: Hints | None = None, **asked: Unpack[CompileAsked]
    ) -> tuple[Hit, None] | tuple[Miss, Compile]:
        """The first half of `get_or_compile`, for compilers that call instead of being called.

        Looks up; on a miss takes the lease, or waits for whoever holds it, and looks again. Whoever gets a miss
        compiles, and calls `end` of the second with what was compiled, or with nothing if it failed or was inserted
        already, in the same thread and whatever came of it; until then others who want the same wait. After a hit there
        is nothing to end. `ArgumentError` if this thread is compiling the same already. Options are those of
        `CompileAsked`.
        """
        request, options = make_compile_request("begin", asked, make_hit)
        found, begun = self._native.begin(native_of(graph), hints, request, options)
        if len(found) != 4:
            return make_hit(found), None
        assert begun is not None
        return make_miss(found), Compile(begun, Call(self._strict, variant_of(asked), asked.get("label")))

    async def get_or_compile_async(
        self,
        graph: Graph,
        compile: Callable[[], Compiled | Awaitable[Compiled]],
        hints: Hints | None = None,
        **asked: Unpack[CompileAsked],
    ) -> Hit | Fresh:
        """As `get_or_compile`; `compile` is called in the event loop, and what it returns is awaited if it can be.

        Whoever is cancelled stores nothing, and others who wait compile for themselves. The call takes a thread of its
        own, since a pool's might all wait for the very compile that needs one.
        """
        # asyncio takes longer to import than all the rest.
        from guardcache._cache.waiting import Waiting

        return await Waiting(self, graph, compile, hints, asked).outcome()
