"""Each compile of an adapter: described, looked up, compiled once among all who want it, loaded, and told."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import guardcache
from guardcache import Cache, Compiled, Durability, Error, Graph, Hints, Hit, Variant
from guardcache._classes import Record
from guardcache.adapter.records import BYPASS, HIT, MISS, Counts, Lookup, Statistics

log = logging.getLogger("guardcache.adapter")

# What `lookups` and `explain` can look back on.
RECORDS_MAX = 1000

T = TypeVar("T")
Listener = Callable[[Lookup], object]


class Task(Record):
    """What is to be compiled, and how its result may be used; but for `describe` as in `Cache.get_or_compile`."""

    describe: Callable[[], Graph]
    """Everything that decides what the compiler makes of it. An exception says that it can't be described: it is
    compiled without the cache, and the exception's text is the bypass's reason."""
    label: str | None = None
    """Whose it is, in the user's words: ``train.py:12 step(x)``."""
    hints: Hints | None = None
    """The present sizes, by the names that guards use."""
    sources: Mapping[str, str] | None = None
    """What the hints are in the user's program."""
    provides: Mapping[str, str] | None = None
    """What entries may require."""
    accept_renames: bool = False
    """`load` puts the caller's names, `Hit.renames`, in place of the producer's, or needs none."""
    variant: str | None = None
    expect_variant: str | None = None
    compile_as: Variant | str | None = None
    """The variant that a miss is compiled as, with its priority."""
    bypass: str | None = None
    """Why this can't be cached at all."""
    why_asked: str | None = None
    """Why the framework compiles, a reason a line: explanations have it above their own."""
    min_compile_time: float = 0.0
    """Seconds; what compiles faster isn't stored."""
    refresh: bool = False
    """What is stored is ignored, and compiled again."""
    reader: bool = False
    """Another process is the one that writes."""
    follow: bool = False
    """A reader that waits for it."""
    lease_timeout: float = 0.0
    """Seconds; how long to wait for another's compile."""
    flight: str | None = None
    """Those who give the same name wait for each other, whatever their hints."""

    def options(self) -> dict[str, Any]:
        """As `Cache.get_or_compile` takes them: what nobody set isn't there."""
        given = {name: getattr(self, name) for name in self._fields if name not in ("describe", "hints")}
        return {name: value for name, value in given.items() if value}


class Adapter:
    """A compiler's results in a cache. Any number of threads may use it."""

    def __init__(
        self, name: str, cache: Cache | str | os.PathLike[str] | None = None, *, kind: str = "generic", **options: Any
    ) -> None:
        """`cache` is an open one, a directory, or None for the default directory: see `open_cache`, which also takes
        the options, and what can't be opened raises. What is opened here is closed by `close`. `kind` is that of
        descriptions that can't be made.
        """
        if isinstance(cache, Cache) and options:
            raise TypeError(f"a cache that is open has its options already: {', '.join(options)}")
        self.name = name
        self.kind = kind
        self.cache = cache if isinstance(cache, Cache) else open_cache(cache, log, **options)
        self._own = not isinstance(cache, Cache)
        self._lock = threading.Lock()
        self._counts = Counts()
        self._listeners: tuple[Listener, ...] = ()
        self.lookups: deque[Lookup] = deque(maxlen=RECORDS_MAX)
        """Of this process, oldest first; the last thousand are kept."""

    def compile(self, task: Task, build: Callable[[], tuple[T, Compiled]], load: Callable[[Hit], T]) -> T:
        """What `load` makes of a stored entry or, on a miss, what `build` made just now, whose second part is stored.

        One of all threads and processes that want the same builds, the others wait for its result. Exceptions of
        `build` are the caller's. An entry that `load` raises at is compiled again. Trouble with the cache costs the
        caching, never the compile, unless the cache is strict.
        """
        return _Run(self, task, build, load).run()

    def explain(self, last: int = 1, *, label: str | None = None, everything: bool = False) -> str:
        """Why the last compiles were needed, newest first, by any process: whose labels contain a text, if given."""
        return self.cache.explain_past(last, label=label, everything=everything)

    def statistics(self) -> Statistics:
        with self._lock:
            return self._counts.sum()

    def listen(self, listener: Listener) -> None:
        """From now on `listener` hears of each lookup, in the thread that compiled; what it raises is logged."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

    def close(self) -> None:
        if self._own:
            self.cache.close()

    def _remember(self, lookup: Lookup) -> None:
        with self._lock:
            self._counts.add(lookup)
            self.lookups.append(lookup)
            listeners = self._listeners
        for listener in listeners:
            try:
                listener(lookup)
            except Exception:
                log.exception("%s: a listener failed", self.name)


class _Run(Generic[T]):
    """One call of `Adapter.compile`."""

    def __init__(
        self, adapter: Adapter, task: Task, build: Callable[[], tuple[T, Compiled]], load: Callable[[Hit], T]
    ) -> None:
        self._adapter, self._task, self._build, self._load = adapter, task, build, load
        self._values: list[T] = []
        """What load or build gave, once one of them has."""
        self._failed: BaseException | None = None
        """What `build` raised."""
        self._refused: dict[str, str] = {}
        """Entries that `load` raised at, and what it said: a lookup finds them again once the lease is there."""

    def run(self) -> T:
        began = time.perf_counter()
        graph, bypass = self._described()
        try:
            found = self._adapter.cache.get_or_compile(
                graph, self._compile, self._task.hints, post_load=self._usable, **{**self._task.options(), **bypass}
            )
        except (Error, ValueError) as error:  # a closed cache is a ValueError
            if self._failed is error or self._adapter.cache._strict:
                raise
            return self._alone(error, time.perf_counter() - began)
        self._tell(found, bypass.get("bypass") or self._task.bypass, time.perf_counter() - began)
        return self._values[-1]

    def _described(self) -> tuple[Graph, dict[str, str]]:
        try:
            return self._task.describe(), {}
        except Exception as error:
            return Graph(self._adapter.kind), {"bypass": str(error) or type(error).__name__}

    def _compile(self) -> Compiled:
        try:
            value, compiled = _checked(self._build())
        except BaseException as error:
            self._failed = error
            raise
        self._values.append(value)
        return compiled

    def _usable(self, hit: Hit) -> bool:
        if hit.entry in self._refused:
            return False
        try:
            self._values.append(self._load(hit))
        except Exception as error:
            told = f"entry {hit.entry[:6]} can't be loaded: {type(error).__name__}: {error}"
            self._refused[hit.entry] = told
            log.warning("%s: %s: %s", self._adapter.name, self._task.label or hit.key[:12], told)
            return False
        return True

    def _alone(self, error: Exception, seconds: float) -> T:
        """The cache can't help, as where this thread is compiling the same already; what was built isn't lost."""
        if not self._values:
            self._compile()
        told = Lookup(MISS, type(error).__name__, self._task.label or "", "", str(error), seconds, 0.0)
        self._adapter._remember(told)
        return self._values[-1]

    def _tell(self, found: Any, bypass: str | None, seconds: float) -> None:
        label = self._task.label or ""
        if isinstance(found, Hit):
            told = Lookup(HIT, "", label, found.key, found.note, seconds, found.compile_ns / 1e9, found.tier)
        elif bypass or found.reason == guardcache.Reason.BYPASS:
            told = Lookup(BYPASS, bypass or found.note, label, found.key, "", seconds, 0.0)
        else:
            notes = [*self._refused.values(), *([found.note] if found.note and not found.stored else [])]
            told = Lookup(MISS, str(found.reason), label, found.key, "; ".join(notes), seconds, 0.0)
        self._adapter._remember(told)


def _checked(made: Any) -> tuple[Any, Compiled]:
    if isinstance(made, tuple) and len(made) == 2 and isinstance(made[1], Compiled):
        return made
    shown = ", ".join(type(part).__name__ for part in made) if isinstance(made, tuple) else type(made).__name__
    raise TypeError(f"build gives a pair, what was built and a guardcache.Compiled of it, not ({shown})")


def open_cache(directory: str | os.PathLike[str] | None, log: logging.Logger = log, **options: Any) -> Cache:
    """A cache as adapters open it: entries aren't synced, as compilers' own caches aren't: what a power cut takes is
    compiled again, never misread. Nor are they compressed: that would take as long as all the rest of an insert, and
    some of each hit.

    Settings that somebody made, of the environment or the directory, count here as for the command, those two included;
    options of `Cache` that are given here overrule them. Kinds of the user's own are loaded.
    """
    guardcache.load_kinds()
    chosen = guardcache.default_directory() if directory is None else directory
    opened: dict[str, Any] = {"durability": Durability.NONE, "compression_level": -1, **guardcache.settings(chosen)}
    return Cache(chosen, log=lambda line: log.warning("%s", line), **{**opened, **options})
