"""A cache directory: open, look up, insert, explain, look around."""

from __future__ import annotations

import enum
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, NamedTuple, TypeAlias, Union

from guardcache import _native
from guardcache._errors import StoreError
from guardcache._graph import Graph
from guardcache._guards import Verdict, make_verdict
from guardcache._native import Lease
from guardcache._values import Hints

Buffer: TypeAlias = Union[bytes, bytearray, memoryview]
Log: TypeAlias = Callable[[str], object]
Benchmark: TypeAlias = Callable[[], Sequence[float]]
GuardTest: TypeAlias = Callable[[tuple[str, ...]], object]


class Reason(enum.StrEnum):
    """Why a lookup missed, or an insert was refused: the library's closed list (`guardcache/status.h`)."""

    NONE = ""
    """Nothing was looked for: the cache is open with `refresh`."""
    NO_KEY = "no_key"
    GUARD_FALSE = "guard_false"
    GUARD_ERROR = "guard_error"
    REQUIREMENT = "requirement"
    NAMES = "names"
    VARIANT = "variant"
    EVICTED = "evicted"
    CORRUPT = "corrupt"
    UNREADABLE = "unreadable"
    REMOTE_UNAVAILABLE = "remote_unavailable"
    REMOTE_TIMEOUT = "remote_timeout"
    BYPASS = "bypass"
    DISABLED = "disabled"
    LEASE_TIMEOUT = "lease_timeout"


class Durability(enum.IntEnum):
    """What an insert that returned survives."""

    ENTRY = 0
    """A crash of the process; after a power cut the entry is whole or absent."""
    FULL = 1
    """A power cut."""
    NONE = 2
    """Nothing is promised but that no wrong entry is ever served."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A stored candidate whose guards hold. Always true."""

    key: str
    entry: str
    """The entry's id."""
    payload: memoryview
    """The compiler's bytes, verified; not copied, and valid as long as the view lives."""
    metadata: bytes
    guards: tuple[str, ...]
    """The candidate's guards in the caller's names: to be added to the caller's own context."""
    renames: dict[str, str]
    """The producer's symbol names -> the caller's."""
    renamed: bool
    """At least one name differs."""
    variant: str
    priority: int
    compile_ns: int
    """What compiling had taken: what the hit saved."""
    note: str
    attachments: tuple[str, ...]
    """Names of the files that belong to the entry: see `Cache.place`."""

    def __bool__(self) -> Literal[True]:
        return True


@dataclass(frozen=True, slots=True)
class Miss:
    """Nothing stored holds. Always false."""

    key: str
    reason: Reason
    note: str = ""

    def __bool__(self) -> Literal[False]:
        return False


@dataclass(frozen=True, slots=True)
class Inserted:
    """What became of an insert; true if the entry is in the cache now."""

    stored: bool
    reason: Reason | None
    """Why it was refused."""
    key: str
    entry: str
    existed: bool
    """An equal entry was there already."""
    verdict: Verdict
    """Of the guards for the hints, where hints were given."""

    def __bool__(self) -> bool:
        return self.stored


@dataclass(frozen=True, slots=True)
class Attachment:
    """A named file that belongs to an entry. `name` is a relative path below the directory given to `Cache.place`."""

    name: str
    content: Buffer
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a compile callback of `Cache.get_or_compile` returns."""

    payload: Buffer
    guards: Iterable[str] = ()
    metadata: bytes = b""
    variant: str | None = None
    priority: int = 0
    requirements: Mapping[str, str] = field(default_factory=dict)
    attachments: Iterable[Attachment] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """What a stored entry says about itself."""

    key: str
    id: str
    kind: str
    guards: tuple[str, ...]
    requirements: dict[str, str]
    variant: str
    priority: int
    sequence: int
    """Newer is larger, within the key."""
    compile_ns: int
    created_ns: int
    """Nanoseconds since 1970, UTC."""
    payload_size: int
    stored_size: int
    metadata: bytes
    label: str


@dataclass(frozen=True, slots=True)
class Problem:
    path: str
    problem: str


@dataclass(frozen=True, slots=True)
class Verified:
    """What `Cache.verify` found; true if the cache is whole."""

    keys: int
    entries: int
    bytes: int
    problems: tuple[Problem, ...]

    def __bool__(self) -> bool:
        return not self.problems


class Site(NamedTuple):
    """What is tuned."""

    system: str
    """Whose timings these are: device and versions, or a hash of them."""
    op: str
    inputs: str
    hint: str | None
    """A size that was assumed in place of the present one."""
    precision: str


class Cache:
    """An open cache directory. Any number of threads may use it, and any number of processes the directory.

    Payloads that were handed out stay valid after `close`, which waits for them.
    """

    __slots__ = ("_native", "_strict", "directory")

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        read_only: bool = False,
        strict: bool = False,
        disabled: bool = False,
        unsafe_skip_guards: bool = False,
        refresh: bool = False,
        bypass: str | None = None,
        durability: Durability = Durability.ENTRY,
        salt: str | None = None,
        max_candidates: int = 0,
        max_bytes: int = 0,
        memory_bytes: int = 0,
        compression_level: int = 0,
        record: str | os.PathLike[str] | None = None,
        log: Log | None = None,
    ) -> None:
        """Opens a directory and makes it (mode 0700) if it isn't there. Numbers that are 0 mean the default.

        With `strict`, trouble with the store raises instead of being a miss. With `refresh` every lookup misses, and
        what is inserted then is preferred; with `disabled` nothing is inserted either. `bypass` says why nothing can be
        cached for now. `salt` is a namespace: a part of every key. `record` is a folder that gets a trace of lookups
        and inserts, for ``guardcache test``. `log` is called with a line of text for people; any thread may call it.
        """
        self.directory = os.fspath(directory)
        self._strict = strict
        self._native = _native.Cache(
            self.directory,
            read_only,
            strict,
            disabled,
            unsafe_skip_guards,
            refresh,
            bypass,
            durability,
            salt,
            max_candidates,
            max_bytes,
            memory_bytes,
            compression_level,
            None if record is None else os.fspath(record),
            log,
        )

    def close(self) -> None:
        self._native.close()

    @property
    def closed(self) -> bool:
        return self._native.closed()

    def __enter__(self) -> Cache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<guardcache.Cache {self.directory!r}{' closed' if self.closed else ''}>"

    # ---- lookup ----

    def lookup(
        self,
        graph: Graph,
        hints: Hints | None = None,
        *,
        variant: str | None = None,
        expect_variant: str | None = None,
        provides: Mapping[str, str] | None = None,
        accept_renames: bool = False,
        label: str | None = None,
        sources: Mapping[str, str] | None = None,
        guard_test: GuardTest | None = None,
        bypass: str | None = None,
    ) -> Hit | Miss:
        """Looks for the best stored candidate whose guards hold for `hints`.

        `variant` admits only candidates of that variant, `expect_variant` prefers one; `provides` is compared with
        the candidates' requirements; `accept_renames` admits candidates whose producer named its symbols otherwise.
        `label` says whose lookup it is and `sources` what the hints are in the user's program (``{"t0":
        "x.size(0)"}``): both are for explanations. `guard_test` takes the place of evaluating guards.
        `bypass` says why this can't be cached at all: a miss that is remembered with its reason.
        """
        request = (variant, expect_variant, provides, accept_renames, label, sources, guard_test, bypass)
        found = self._native.lookup(graph._native, hints, request)
        if len(found) == 3:
            key, reason, note = found
            return Miss(key, Reason(reason), note)
        return Hit(
            key=found[0],
            entry=found[1],
            payload=memoryview(found[2]),
            metadata=found[3],
            guards=found[4],
            renames=dict(found[5]),
            renamed=found[6],
            variant=found[7],
            priority=found[8],
            compile_ns=found[9],
            note=found[10],
            attachments=found[11],
        )

    def place(self, hit: Hit, directory: str | os.PathLike[str]) -> None:
        """Puts the attachments of a hit in place below `directory`, verified, each atomically."""
        payload = hit.payload.obj
        assert isinstance(payload, _native.Payload)
        self._native.place(payload, os.fspath(directory))

    # ---- insert ----

    def insert(
        self,
        graph: Graph,
        payload: Buffer,
        *,
        guards: Iterable[str] = (),
        hints: Hints | None = None,
        metadata: bytes = b"",
        variant: str | None = None,
        priority: int = 0,
        requirements: Mapping[str, str] | None = None,
        compile_ns: int = 0,
        label: str | None = None,
        identity: bytes | None = None,
        attachments: Iterable[Attachment] = (),
    ) -> Inserted:
        """Stores a variant. With `hints`, the guards must hold for them, else it is refused.

        An entry that is equal to a stored one is stored once. `identity` stands for the payload in that comparison,
        for payloads that have timings or addresses inside.
        """
        entry = (
            tuple(guards),
            payload,
            metadata,
            variant,
            priority,
            requirements,
            compile_ns,
            label,
            identity,
            tuple((a.name, a.content, a.executable) for a in attachments),
        )
        stored, reason, key, name, existed, verdict = self._native.insert(graph._native, hints, entry)
        return Inserted(stored, Reason(reason) if reason else None, key, name, existed, make_verdict(verdict))

    def get_or_compile(
        self,
        graph: Graph,
        compile: Callable[[], Compiled],
        hints: Hints | None = None,
        *,
        label: str | None = None,
        provides: Mapping[str, str] | None = None,
        lease_timeout: float = 0,
    ) -> Hit | Compiled:
        """Looks up; on a miss compiles through the callback, once among all threads and processes, and stores the
        result.

        Others who want the same wait up to `lease_timeout` seconds (0: the library's default) and find what was
        stored. A failing callback stores nothing, and its exception is the caller's. If only the caching fails, what
        was compiled is returned all the same, unless the cache is strict.
        """
        found = self.lookup(graph, hints, label=label, provides=provides)
        if isinstance(found, Hit):
            return found
        with self._compiling(graph, hints, found.reason, lease_timeout, provides) as lease:
            if lease is not None and lease.stored():
                found = self.lookup(graph, hints, label=label, provides=provides)
                if isinstance(found, Hit):
                    return found
            began = time.perf_counter_ns()
            compiled = compile()
            self._keep(graph, hints, compiled, time.perf_counter_ns() - began, label)
        return compiled

    @contextmanager
    def _compiling(
        self, graph: Graph, hints: Hints | None, reason: Reason, timeout: float, provides: Mapping[str, str] | None
    ) -> Iterator[Lease | None]:
        """Holds the lease, if there is one to be had."""
        lease = None
        try:
            lease = self.lease(graph, hints, reason, timeout=timeout, provides=provides)
        except StoreError:
            if self._strict:
                raise
        try:
            yield lease
        finally:
            if lease is not None:
                lease.release()

    def _keep(self, graph: Graph, hints: Hints | None, compiled: Compiled, took_ns: int, label: str | None) -> None:
        try:
            self.insert(
                graph,
                compiled.payload,
                guards=compiled.guards,
                hints=hints,
                metadata=compiled.metadata,
                variant=compiled.variant,
                priority=compiled.priority,
                requirements=compiled.requirements,
                compile_ns=took_ns,
                label=label,
                attachments=compiled.attachments,
            )
        except StoreError:
            if self._strict:
                raise

    def lease(
        self,
        graph: Graph,
        hints: Hints | None,
        reason: Reason,
        *,
        timeout: float = 0,
        provides: Mapping[str, str] | None = None,
    ) -> Lease:
        """After a miss with `reason`: takes the lease on compiling, or waits for whoever holds it.

        Whoever has it compiles, inserts and releases it, in the same thread; but if `stored()` of it is true, something
        that holds was stored meanwhile, and looking up again finds it. `BusyError` after `timeout` seconds (0: the
        library's default), `ArgumentError` if this thread holds it already.
        """
        request = (None, None, provides, True, None, None, None, None)
        return self._native.lease(graph._native, hints, request, str(reason), int(timeout * 1_000_000_000))

    def remove(self, key: str, entry: str) -> None:
        """Takes an entry out; that it was there stays known, for `explain`."""
        self._native.remove(key, entry)

    def timings(
        self, site: Site, choices: Sequence[str], benchmark: Benchmark | None = None
    ) -> tuple[float, ...] | None:
        """The timings of all choices at a site, in their order, or None.

        Unless every choice is known, all are measured again by `benchmark`, by one process for all who ask, and stored;
        without it nothing is. No concurrent update is lost.
        """
        known, timings, _ = self._native.timings(site, choices, benchmark)
        return timings if known else None

    # ---- explain and look around ----

    def explain(
        self,
        graph: Graph,
        hints: Hints | None = None,
        *,
        everything: bool = False,
        variant: str | None = None,
        expect_variant: str | None = None,
        provides: Mapping[str, str] | None = None,
        accept_renames: bool = False,
        label: str | None = None,
        sources: Mapping[str, str] | None = None,
        guard_test: GuardTest | None = None,
    ) -> str:
        """Says in words why a lookup hits or misses now: at most 25 lines, or `everything`."""
        request = (variant, expect_variant, provides, accept_renames, label, sources, guard_test, None)
        return self._native.explain(graph._native, hints, request, 1 if everything else 0)

    def explain_data(
        self,
        graph: Graph,
        hints: Hints | None = None,
        *,
        variant: str | None = None,
        provides: Mapping[str, str] | None = None,
        accept_renames: bool = False,
        label: str | None = None,
        sources: Mapping[str, str] | None = None,
        guard_test: GuardTest | None = None,
    ) -> dict[str, Any]:
        """The same for programs: outcome, reason, candidates with their guards, nearest keys with what differs."""
        request = (variant, None, provides, accept_renames, label, sources, guard_test, None)
        explained: dict[str, Any] = json.loads(self._native.explain(graph._native, hints, request, 2))
        return explained

    def explain_past(
        self, last: int = 1, *, label: str | None = None, key: str | None = None, everything: bool = False
    ) -> str:
        """Explains past misses of any process, newest first, as they were then; "" if there is none.

        `label` and `key` select: labels that contain a text, keys that begin with one.
        """
        return self._native.explain_past(last, label, key, 1 if everything else 0)

    def entries(self, key: str | None = None) -> Iterator[Entry]:
        """Every stored entry, or those of one key: keys in order, candidates in rank order."""
        return (Entry(*found) for found in self._native.entries(key))

    def verify(self) -> Verified:
        """Reads everything and checks it against its checksums."""
        keys, entries, size, problems = self._native.verify()
        return Verified(keys, entries, size, tuple(Problem(*found) for found in problems))


def default_directory() -> str:
    """``GUARDCACHE_DIR``, else ``guardcache`` in the XDG cache directory: what the command uses."""
    chosen = os.environ.get("GUARDCACHE_DIR")
    if chosen:
        return chosen
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "guardcache")


def settings(directory: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """What the environment (``GUARDCACHE_READ_ONLY=1``, ``GUARDCACHE_NAMESPACE``, ...) and the directory's config.json
    say, as options of `Cache`; what nobody set isn't there.

    ``guardcache config`` lists them all. `ArgumentError` or `FormatError` for a value that makes no sense.
    """
    space = os.environ.get("GUARDCACHE_NAMESPACE")
    found = _native.settings(os.fspath(default_directory() if directory is None else directory), space)
    for option, variable in (("salt", "GUARDCACHE_NAMESPACE"), ("record", "GUARDCACHE_RECORD")):
        if value := os.environ.get(variable):
            found[option] = value
    return found


def open(directory: str | os.PathLike[str] | None = None, **options: Any) -> Cache:
    """Opens a cache as the command does: in `default_directory()` if none is named, with the `settings` of environment
    and file. Options are those of `Cache`, and overrule them.
    """
    chosen = default_directory() if directory is None else directory
    return Cache(chosen, **{**settings(chosen), **options})
