"""A cache directory: open, look up, insert, explain, look around."""

from __future__ import annotations

import atexit
import enum
import json
import os
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, TypeAlias, Union, Unpack

from guardcache import _native
from guardcache._compile import Call, Compile, Compiled, Fresh
from guardcache._errors import ArgumentError, BusyError
from guardcache._graph import Graph
from guardcache._guards import make_verdict
from guardcache._kinds import load_kinds
from guardcache._options import SECOND_NS, Asked, CompileAsked, make_compile_request, make_request, variant_of
from guardcache._results import (
    Attachment,
    Buffer,
    Entry,
    Hit,
    Inserted,
    Miss,
    Problem,
    Reason,
    Site,
    Synced,
    TierAnswer,
    TierState,
    Transfer,
    Verified,
    make_hit,
    make_miss,
    make_transfer,
    payload_of,
)
from guardcache._signing import Signing, key_parts, make_key
from guardcache._tier import Tier
from guardcache._values import Hints

Log: TypeAlias = Callable[[str], object]
Benchmark: TypeAlias = Callable[[], Sequence[float]]
Progress: TypeAlias = Callable[[int, int], object]
Tiers: TypeAlias = Union[str, Iterable[Union[str, Tier]]]
# How long the end of the interpreter waits for a tier's method that some thread is in.
_ENDING_SECONDS = 2.0

# How long it waits for tiers to take what is on its way: all in all, and since the last entry they took.
_SETTLING_SECONDS = 10.0
_STILL_SECONDS = 4.0

# A flush that waits lets Python look for signals so often.
_FLUSH_SECONDS = 0.5

_open: weakref.WeakSet[Cache] = weakref.WeakSet()


class Durability(enum.IntEnum):
    """What an insert that returned survives."""

    ENTRY = 0
    """A crash of the process; after a power cut the entry is whole or absent."""
    FULL = 1
    """A power cut."""
    NONE = 2
    """Nothing is promised but that no wrong entry is ever served."""


class Trust(enum.IntEnum):
    """Whose files are handed out, since what is in a cache gets executed. What others may have written is a miss."""

    OWNER = 0
    """Files of this user or root that nobody else may write to."""
    GROUP = 1
    """Also those of the cache directory's group, which is one of this process's own."""
    ANY = 2
    """Everybody's, if signed with a key of ours: opening is refused without `signing` and `require_signature`."""


def _split_tiers(tiers: Tiers | None) -> tuple[str | None, tuple[Tier, ...]]:
    """The URLs as the library takes them, and the program's own."""
    given = (tiers,) if isinstance(tiers, str) else tuple(tiers or ())
    urls = " ".join(tier for tier in given if isinstance(tier, str))
    return urls or None, tuple(tier for tier in given if not isinstance(tier, str))


def _native_tier(tier: Tier) -> _native.UserTier:
    if not isinstance(tier, Tier):
        raise TypeError(f"a tier is a URL or a guardcache.Tier, not {tier!r}")
    return _native.UserTier(
        tier,
        tier._shown(),
        tier._has("touch"),
        tier._has("share"),
        tier._has("lease", "keep", "release"),
        tier._has("walk"),
        tier.read_only,
        int(tier.ttl * SECOND_NS),
        int(tier.timeout * SECOND_NS),
    )


@contextmanager
def _entered(tiers: tuple[Tier, ...]) -> Iterator[tuple[_native.UserTier, ...]]:
    """They are left again where what is done with them fails, else by the library when it has let go of them."""
    natives = tuple(_native_tier(tier) for tier in tiers)
    for tier in tiers:
        tier._enter()
    try:
        yield natives
    except BaseException:
        for tier in tiers:
            tier._leave()
        raise


class Cache:
    """An open cache directory. Any number of threads may use it, and any number of processes the directory.

    Payloads that were handed out stay valid after `close`, which waits for them. Caches that are open when the
    interpreter ends are closed then. One that is pickled is opened anew where it is unpickled: with the same
    directory and options, but without `log`, `signing` and tiers that are objects; of tiers whose URLs have credentials
    these aren't in the pickle, the other process has them from its own `settings`.
    """

    __slots__ = ("__weakref__", "_flush_timeout", "_native", "_own_tiers", "_strict", "directory")

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
        trust: Trust = Trust.OWNER,
        namespace: str | None = None,
        max_candidates: int = 0,
        max_size: int = 0,
        memory_bytes: int = 0,
        compression_level: int = 0,
        record: str | os.PathLike[str] | None = None,
        log: Log | None = None,
        signing: Signing | None = None,
        require_signature: bool = False,
        columns: int = 0,
        color: bool = False,
        tiers: Tiers | None = None,
        flush_timeout: float = 0,
    ) -> None:
        """Opens a directory and makes it (mode 0700) if it isn't there. Numbers that are 0 mean the default.

        With `strict`, trouble with the store raises instead of being a miss. With `refresh` every lookup misses, and
        what is inserted then is preferred; with `disabled` nothing is inserted either. `bypass` says why nothing can be
        cached for now. `trust` says whose files are handed out. `namespace` is a part of every key. `record`
        is a folder that gets a trace of lookups and inserts, for ``guardcache test``. `log` is called with a line of
        text for people; any thread may call it. `signing` has the keys (a mapping from ids to secrets stands for keys
        of HMAC): inserts are signed with the first that has a secret, and with `require_signature` only entries that
        one of them signed are handed out or imported. With public keys alone nothing can be inserted then
        (`ReadOnlyError`).
        `explain` breaks its lines at `columns` (110 of them unless said otherwise) and with `color` colours them for a
        terminal.

        `tiers` are where else to look, in this order, after the directory, and to store: URLs separated by spaces
        (``redis://host``, ``file:///shared``), or a list of URLs and of `Tier` objects, which come after the URLs. What
        is stored goes to them in the background; `close` waits `flush_timeout` seconds for what is still on its way.
        """
        self.directory = os.fspath(directory)
        self._strict = strict
        urls, own = _split_tiers(tiers)
        self._own_tiers = bool(own)
        self._flush_timeout = flush_timeout
        with _entered(own) as natives:
            self._native = _native.Cache(
                self.directory,
                read_only,
                strict,
                disabled,
                unsafe_skip_guards,
                refresh,
                bypass,
                durability,
                trust,
                namespace,
                max_candidates,
                max_size,
                memory_bytes,
                compression_level,
                None if record is None else os.fspath(record),
                log,
                key_parts(signing),
                require_signature,
                columns,
                color,
                urls,
                natives,
                int(flush_timeout * SECOND_NS),
            )
        _open.add(self)

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

    def __reduce__(self) -> tuple[Callable[[str, bool], Cache], tuple[str, bool]]:
        return _restore, (self._native.save(), self._strict)

    def __repr__(self) -> str:
        return f"<guardcache.Cache {self.directory!r}{' closed' if self.closed else ''}>"

    # ---- lookup ----

    def lookup(self, graph: Graph, hints: Hints | None = None, **asked: Unpack[Asked]) -> Hit | Miss:
        """Looks for the best stored candidate whose guards hold for `hints`.

        Options are those of `Asked`. A graph that can't be keyed safely is a miss: `Reason.BYPASS`.
        """
        found = self._native.lookup(graph._native, hints, make_request("lookup", asked))
        return make_miss(found) if len(found) == 4 else make_hit(found)

    def place(self, hit: Hit, directory: str | os.PathLike[str], names: Iterable[str] | None = None) -> None:
        """Puts the attachments of a hit, or those with these names, in place below `directory`, verified, each
        atomically.
        """
        payload, place = payload_of(hit), os.fspath(directory)
        for name in (None,) if names is None else names:
            self._native.place(payload, place, name)

    def attachment(self, hit: Hit, name: str) -> bytes:
        """The verified bytes of an attachment of a hit, for what needs no file."""
        return self._native.attachment(payload_of(hit), name)

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
        deltas: Mapping[str, int] | None = None,
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
            deltas,
        )
        stored, reason, key, name, existed, verdict, shadows = self._native.insert(graph._native, hints, entry)
        return Inserted(stored, Reason(reason) if reason else None, key, name, existed, make_verdict(verdict), shadows)

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
        return call.outcome(self._native.get_or_compile(graph._native, hints, request, options, call))

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
        found, begun = self._native.begin(graph._native, hints, request, options)
        if len(found) != 4:
            return make_hit(found), None
        assert begun is not None
        return make_miss(found), Compile(begun, Call(self._strict, variant_of(asked), asked.get("label")))

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
        self, graph: Graph, hints: Hints | None = None, *, everything: bool = False, **asked: Unpack[Asked]
    ) -> str:
        """Says in words why a lookup hits or misses now: at most 25 lines, or `everything`. Options are those of
        `Asked`.
        """
        return self._native.explain(graph._native, hints, make_request("explain", asked), 1 if everything else 0)

    def explain_data(self, graph: Graph, hints: Hints | None = None, **asked: Unpack[Asked]) -> dict[str, Any]:
        """The same for programs: outcome, reason, candidates with their guards, nearest keys with what differs."""
        text = self._native.explain(graph._native, hints, make_request("explain_data", asked), 2)
        explained: dict[str, Any] = json.loads(text)
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

    def export(
        self,
        file: str | os.PathLike[str],
        *,
        key: str | None = None,
        label: str | None = None,
        namespace: str | None = None,
        since_ns: int = 0,
        until_ns: int = 0,
        entries_only: bool = False,
    ) -> Transfer:
        """Writes what is stored into one file for another machine; entries keep the signatures they have.

        `key`, `label` (a text that occurs in it), `namespace` and times select entries; then, or with `entries_only`,
        blobs and tuning results stay out. What can't be read is left out and told.
        """
        chosen = (key, label, namespace, since_ns, until_ns, entries_only)
        return make_transfer(self._native.export(os.fspath(file), *chosen))

    def import_(self, file: str | os.PathLike[str], *, provides: Mapping[str, str] | None = None) -> Transfer:
        """Adds what an export holds; payloads are executed, so import only what you trust.

        A file that is damaged or doesn't hold what it says raises, and nothing of it is imported. What is no good, or
        what nobody vouches for if signatures are required, is left out and told; nothing is signed. With `provides`
        entries whose requirements aren't met are left out too.
        """
        return make_transfer(self._native.import_file(os.fspath(file), provides))

    # ---- a fleet ----

    def tiers(self) -> list[TierState]:
        """The tiers in the order they are asked, and what was asked of them. Nobody is asked now."""
        return [TierState(*found) for found in self._native.tiers()]

    def ping(self) -> list[TierAnswer]:
        """The same after asking each tier whether it is there, also one that is left alone for now."""
        return [
            TierAnswer(name, read_only, left_alone, counts, answered, Reason(reason), message, ns / SECOND_NS, numbers)
            for name, read_only, left_alone, counts, answered, reason, message, ns, numbers in self._native.ping()
        ]

    def flush(self, timeout: float | None = None) -> None:
        """Waits until what was stored so far is in every tier that is written to.

        With a `timeout` in seconds tiers in trouble are asked again and again. Without one, until everything has been
        offered once. `BusyError`, which is a `TimeoutError`, says what didn't get there.
        """
        if timeout is None:
            self._native.flush(0)
            return
        end = time.monotonic() + timeout
        while True:
            left = end - time.monotonic()
            try:
                self._native.flush(max(1, int(min(left, _FLUSH_SECONDS) * SECOND_NS)))
                return
            except BusyError:
                if left <= _FLUSH_SECONDS:
                    raise

    def sync(
        self, url: str | None = None, *, push: bool = True, pull: bool = True, progress: Progress | None = None
    ) -> Synced:
        """Makes the directory and the tiers equal, entry by entry: takes there what isn't there, fetches what isn't
        here.

        `url` is of one tier, which needn't be among the cache's own. `progress` hears how many keys are done, of how
        many; 0 while nobody knows. `BusyError` or `StoreError`: a tier is in trouble; what was done until then needn't
        be done again.
        """
        if not push and not pull:
            raise ArgumentError("neither push nor pull: there is nothing to do")
        return Synced._make(self._native.sync(url, push, pull, progress))

    def verify(self) -> Verified:
        """Reads everything and checks it against its checksums."""
        keys, entries, size, problems = self._native.verify()
        return Verified(keys, entries, size, tuple(Problem(*found) for found in problems))


def _restore(text: str, strict: bool) -> Cache:
    """What a pickled cache becomes in another process."""
    saved = json.loads(text)
    # URLs with credentials stay out of pickles.
    withheld = saved.get("withheld_tiers")
    tiers = settings(saved["directory"]).get("tiers") if withheld else None
    if withheld and not tiers:
        warnings.warn(
            f"without {withheld}: a pickled cache has no credentials, GUARDCACHE_TIERS has them", stacklevel=2
        )
    cache = Cache.__new__(Cache)
    cache.directory = saved["directory"]
    cache._strict = strict
    cache._own_tiers = False
    cache._flush_timeout = saved.get("flush_ns", 0) / SECOND_NS
    cache._native = _native.Cache.restore(text, tiers, (), None)
    _open.add(cache)
    return cache


def _settle(cache: Cache) -> bool:
    """Whether everything is in the tiers; as long as more and more gets there it is waited for."""
    began = moved = time.monotonic()
    before = 0
    while True:
        try:
            cache._native.flush(SECOND_NS // 10)
            return True
        except BusyError:
            arrived = sum(tier.counts["published"] + tier.counts["not_published"] for tier in cache.tiers())
            now = time.monotonic()
            if arrived != before:
                before, moved = arrived, now
            if now - moved > _STILL_SECONDS or now - began > (cache._flush_timeout or _SETTLING_SECONDS):
                return False


def _end() -> None:
    """The interpreter ends: what is on its way to tiers still gets there, and no thread of the library's calls Python
    any more afterwards.
    """
    left: list[Cache] = []
    for cache in list(_open):
        with suppress(Exception):
            # The library waits by itself when it closes a cache; but a payload that is held keeps it open, and a tier
            # in Python may not return.
            waits = not cache._own_tiers and cache._native.idle()
            if not cache.closed and not waits and not _settle(cache):
                left.append(cache)
            else:
                cache.close()
    _native.callbacks_end(_ENDING_SECONDS)
    for cache in left:
        cache.close()


atexit.register(_end)
os.register_at_fork(after_in_child=_native.callbacks_forked)


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

    ``guardcache config`` lists them all. `ArgumentError` for a variable that makes no sense; what can't be read of
    config.json is a `UserWarning`. A key file that can't be read is an error, as `SigningKey.read` says: else a program
    would go on without it.
    """
    namespace = os.environ.get("GUARDCACHE_NAMESPACE")
    found, trouble = _native.settings(os.fspath(default_directory() if directory is None else directory), namespace)
    for line in trouble:
        warnings.warn(line, stacklevel=2)
    if "signing" in found:
        found["signing"] = tuple(make_key(parts) for parts in found["signing"])
    for option, variable in (("namespace", "GUARDCACHE_NAMESPACE"), ("record", "GUARDCACHE_RECORD")):
        if value := os.environ.get(variable):
            found[option] = value
    return found


def open(directory: str | os.PathLike[str] | None = None, **options: Any) -> Cache:
    """Opens a cache as the command does: in `default_directory()` if none is named, with the `settings` of environment
    and file, after `load_kinds()`. Options are those of `Cache`, and overrule them.
    """
    load_kinds()
    chosen = default_directory() if directory is None else directory
    return Cache(chosen, **{**settings(chosen), **options})
