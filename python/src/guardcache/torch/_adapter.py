"""The adapter: PyTorch's two graph caches, kept in guardcache.

PyTorch looks up with a key, integer hints and a function that evaluates a guard string; it saves pickled entries that
have their guard string inside. Here guards are evaluated by the library before any payload is read, and only the
winner is unpickled. Everything that PyTorch does after a hit still happens: recording the artifact, evaluating the
guards once more with symbolic integers, rewriting generated sources, counters.

Locking: `_lock` guards the statistics; PyTorch's own compile lock isn't relied upon.
"""

from __future__ import annotations

import logging
import os
import pickle
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch import distributed
from torch._inductor import config
from torch._inductor.runtime.cache_dir_utils import cache_dir

import guardcache
from guardcache import Cache, Compile, Graph, Hit, Miss, Reason
from guardcache.torch import _entries as entries
from guardcache.torch import _kernels as kernels
from guardcache.torch import _labels as labels
from guardcache.torch import _live as live
from guardcache.torch._binaries import BinaryStore, Taken
from guardcache.torch._recompiles import Recompiles
from guardcache.torch._records import BYPASS, HIT, MISS, UNUSED, Lookup, Statistics
from guardcache.torch._symbols import Descriptions, rename_entry

if TYPE_CHECKING:
    from guardcache.torch.precompile.frames import Frames

log = logging.getLogger("guardcache.torch")

GuardFunction = Callable[[str, Sequence[Any]], object]

# What puts the adapter aside: see `at_home`.
ELSEWHERE = (
    "Inductor works in another directory than when guardcache was installed "
    "(TORCHINDUCTOR_CACHE_DIR, fresh_cache(), a standalone artifact)"
)

# What `explain` can look back on.
_RECORDS_MAX = 1000

# Misses whose insert may still come. AOT's come with the backward, and a model in pieces has a forward for each.
_MISSED_MAX = 256

# How long to wait for another process's compile: what PyTorch waits for its own file locks.
_LEASE_SECONDS = 600

GuardTest = Callable[[tuple[str, ...]], bool]


@dataclass
class _Question:
    """What a lookup's surroundings know about it, and the seam that is replaced isn't told."""

    label: str = ""
    sources: dict[str, str] = field(default_factory=dict)
    lines: Sequence[str] = ()
    """PyTorch's, about what the key is made of."""
    inputs: Sequence[Any] = ()
    asked_ns: int = field(default_factory=time.monotonic_ns)
    components: list[entries.Component] | None = None
    hit: Hit | None = None
    """What was found."""

    def made_of(self) -> list[entries.Component]:
        """What the lines say. The insert that follows a miss wants it again."""
        if self.components is None:
            self.components = entries.components(self.lines)
        return self.components


class _Thread(threading.local):
    def __init__(self) -> None:
        self.question: _Question | None = None
        self.saving: tuple[str, Any] | None = None
        """The key and the live object of the entry that is being written."""
        self.halves: dict[str, tuple[str, ...]] = {}
        """Of the last AOT hit: see `Metadata`."""
        self.backend: str | None = None
        """What Dynamo calls the backend whose AOT entry is written."""
        self.compiles = 0
        """Inductor compiles that are under way."""
        self.lines: tuple[str, Callable[[], Sequence[str]] | None] = ("", None)
        """AOT's key that was made last, and what says in lines what it is made of."""
        self.arguments = labels.Arguments()
        self.begun: list[Compile] = []
        """What others wait for, innermost last."""


class Adapter:
    """PyTorch's caches over one guardcache directory."""

    def __init__(self, cache: Cache, *, own: bool) -> None:
        self.cache = cache
        self.binaries = BinaryStore(self.at_home)
        self.descriptions = Descriptions()
        self.records: deque[Lookup] = deque(maxlen=_RECORDS_MAX)
        self.evaluators: set[Any] = set()
        """PyTorch's functions that evaluate a guard text over the hints, which the library does better."""
        self.recompiles = Recompiles()
        self.frames: Frames | None = None
        """Dynamo's frames, where they are kept too."""
        self._own = own
        self._closed = False
        self._home = cache_dir()
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._misses: Counter[str] = Counter()
        self._bypasses: Counter[str] = Counter()
        self._unused: Counter[str] = Counter()
        self._passed_by: Counter[str] = Counter()
        self._not_stored: Counter[str] = Counter()
        self._frame_misses: Counter[str] = Counter()
        self._frames_refused: Counter[str] = Counter()
        self._hits_by_tier: Counter[str] = Counter()
        self._thread = _Thread()
        self._missed: OrderedDict[str, _Question] = OrderedDict()
        """What inserts are about, by PyTorch's key: a backward's comes from another thread, where nobody asks."""
        self._spent: OrderedDict[str, tuple[int, int]] = OrderedDict()
        """When graphs were compiled, and how long that took, by PyTorch's key."""

    def close(self) -> None:
        self._closed = True
        if self._own:
            self.cache.close()

    def at_home(self) -> bool:
        """False while PyTorch works in another Inductor directory than at installation.

        `fresh_cache` asks for isolation that way, and standalone artifacts for files in PyTorch's own layout: both get
        PyTorch's own store. So does who holds one of the replaced functions after `uninstall`.
        """
        if self._closed:
            return False
        # `cache_dir` makes directories; it also leaves what it returned in the environment.
        return os.environ.get("TORCHINDUCTOR_CACHE_DIR") == self._home or cache_dir() == self._home

    # ---- lookup ----

    def find(
        self, kind: str, key: str, evaluate_guards: GuardFunction, values: Sequence[int]
    ) -> tuple[Any, bytes | None, Hit | Miss]:
        """The unpickled winner and its bytes, or None, None; and what the library found."""
        began = time.perf_counter_ns()
        question = self._thread.question or _Question()
        if kind == entries.AOT and not self._is_stored(key):
            question.lines = self._lines_of(key)
            question.sources |= self._thread.arguments.named(question.inputs, "example_inputs")
        test = self._guard_test(evaluate_guards, values)
        # The extent of a jagged dimension is a symbol of its own and no number: PyTorch alone can judge it.
        hints = {f"t{i}": value for i, value in enumerate(values) if isinstance(value, (int, float))}
        found = self._look_up(kind, key, test, hints, question, self._may_compile(kind, evaluate_guards))
        graph, content = None, None
        if isinstance(found, Hit):
            loaded = self._load(found, key)
            if isinstance(loaded, Reason):
                found = Miss(found.key, loaded)
            else:
                graph, content = loaded
        question.inputs = ()
        question.hit = found if isinstance(found, Hit) else None
        if graph is None:
            question.lines = question.lines or self._lines_of(key)
            self._remember_miss(key, question)
        self._record(kind, key, hints, found, question, time.perf_counter_ns() - began)
        return graph, content, found

    def _is_stored(self, key: str) -> bool:
        try:
            return any(True for _ in self.cache.entries(entries.stored_key(entries.AOT, key)))
        except guardcache.Error:
            return False

    def _lines_of(self, key: str) -> Sequence[str]:
        """Each part of an AOT key is hashed once more for them, so this is for misses only."""
        made, lines = self._thread.lines
        if made != key or lines is None:
            return ()
        try:
            return lines()
        except Exception:
            log.debug("PyTorch doesn't say what a key is made of", exc_info=True)
            return ()

    def key_asked(self, lines: Callable[[], Sequence[str]]) -> None:
        """PyTorch begins to make AOT's key."""
        self._thread.lines = ("", lines)

    def key_made(self, key: str) -> None:
        self._thread.lines = (key, self._thread.lines[1])

    def _remember_miss(self, key: str, question: _Question) -> None:
        with self._lock:
            self._missed[key] = question
            while len(self._missed) > _MISSED_MAX:
                self._missed.popitem(last=False)

    def _forget_miss(self, key: str, entry: Any) -> _Question:
        """The lookup that an insert belongs to; of an entry that nobody looked up, what is known of it."""
        with self._lock:
            question = self._missed.pop(key, None)
        return question or _Question(labels.frame_label(), lines=live.component_lines(entry))

    def _look_up(
        self, kind: str, key: str, test: GuardTest | None, hints: dict[str, int], question: _Question, begin: bool
    ) -> Hit | Miss:
        arguments: dict[str, Any] = {
            "graph": self._description(kind, key, question),
            "hints": hints,
            "provides": entries.provided(),
            "accept_renames": True,
            "label": question.label,
            "sources": question.sources,
            "guard_test": test,
            "why_asked": self.recompiles.why(),
        }
        try:
            return self._begin(arguments) if begin else self.cache.lookup(**arguments)
        except Exception:
            log.warning("a lookup failed and counts as a miss", exc_info=True)
            return Miss(entries.stored_key(kind, key), Reason.UNREADABLE)

    def _may_compile(self, kind: str, evaluate_guards: GuardFunction) -> bool:
        """A miss here is followed by an Inductor compile, which others may want as well.

        The ranks of a job don't wait for each other here: they may do so inside of the compile.
        """
        inside = kind == entries.FX and self._thread.compiles > 0
        return inside and self._evaluates_text(evaluate_guards) and not _is_rank()

    def _begin(self, arguments: dict[str, Any]) -> Hit | Miss:
        """A lookup whose miss others wait for, until the Inductor compile around it has ended."""
        try:
            found, begun = self.cache.begin(**arguments, lease_timeout=_LEASE_SECONDS)
        except guardcache.ArgumentError as error:
            log.info("compiling without a lease: %s", error)
            return self.cache.lookup(**arguments)
        if begun is not None:
            self._thread.begun.append(begun)
        return found

    def _evaluates_text(self, evaluate_guards: GuardFunction) -> bool:
        """Anything else is asked for each candidate: AOT's test for the very text it saved, a switch that skips all
        guards, a caller's own function.
        """
        function = getattr(evaluate_guards, "__func__", evaluate_guards)
        return function in self.evaluators and not config.unsafe_skip_cache_dynamic_shape_guards

    def _guard_test(self, evaluate_guards: GuardFunction, values: Sequence[Any]) -> GuardTest | None:
        """None where the library can evaluate the guards itself."""
        if self._evaluates_text(evaluate_guards) and all(isinstance(value, (int, float)) for value in values):
            return None
        return lambda guards: not guards or bool(evaluate_guards(guards[0], values))

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Around an Inductor compile: whatever becomes of it, what others wait for ends with it."""
        outer = len(self._thread.begun)
        self._thread.compiles += 1
        try:
            yield
        finally:
            self._thread.compiles -= 1
            while len(self._thread.begun) > outer:
                self._thread.begun.pop().end()

    def _load(self, hit: Hit, key: str) -> tuple[Any, bytes] | Reason:
        """The unpickled entry and its bytes, or why it counts as a miss."""
        try:
            metadata = entries.Metadata.decode(hit.metadata)
            content = self.whole(hit, hit.payload, metadata.cuts)
            graph = pickle.loads(content)
        except (guardcache.CorruptError, guardcache.NotFoundError) as error:
            log.warning("a stored graph counts as a miss: %s", error)
            return Reason.CORRUPT
        except Exception:
            log.warning("a stored graph can't be loaded and counts as a miss", exc_info=True)
            return Reason.UNREADABLE
        with self._lock:
            self._counts["unpickled"] += 1
        if metadata.symbols and not self._rename(graph, metadata.symbols, key):
            log.info("a stored graph has other symbol names, which can't be replaced in it: it counts as a miss")
            return Reason.UNREADABLE
        if metadata.halves:
            self._thread.halves = metadata.halves
        self._bring_binaries(hit, metadata)
        if self.frames is not None and hasattr(graph, "sanitized_aot_config"):
            files = entries.read_files(metadata.files(), cache_dir())
            self.frames.made(None, kernels.take_apart(content, live.kernels(graph)), metadata.modules, files)
        return graph, content

    def whole(self, hit: Hit, rest: bytes | memoryview, cuts: Sequence[kernels.Cut]) -> bytes:
        """A pickled entry with its kernels, which are the hit's attachments."""
        return kernels.put_together(rest, cuts, lambda name: self.cache.attachment(hit, name))

    def _rename(self, graph: Any, stored: tuple[str, ...], key: str) -> bool:
        """A graph is looked up to be compiled, or because an AOT hit refers to it: each knows the present names."""
        described = self.descriptions.get(key) if self._thread.compiles > 0 else None
        current = self._thread.halves.get(key) if described is None else described.symbols
        try:
            return current is not None and rename_entry(graph, stored, current)
        except Exception:
            log.warning("a stored graph's names can't be replaced", exc_info=True)
            return False

    def bring_binaries(self, hit: Hit) -> None:
        self._bring_binaries(hit, entries.Metadata.decode(hit.metadata))

    def _bring_binaries(self, hit: Hit, metadata: entries.Metadata) -> None:
        """Without them the hit is still good: PyTorch compiles what is missing."""
        if not metadata.modules or metadata.host != entries.host_fingerprint():
            return
        try:
            self.cache.place(hit, cache_dir(), [name for name in metadata.files() if name in hit.attachments])
        except guardcache.Error as error:
            log.warning("a stored shared object can't be used, compiling instead: %s", error)
            return
        self.binaries.offer(metadata.modules)

    # ---- saving ----

    def write(self, kind: str, key: str, content: bytes) -> None:
        """Stores a pickled entry. What goes wrong is raised: PyTorch counts it, and the compile goes on."""
        saving = self._thread.saving
        entry = saving[1] if saving is not None and saving[0] == key else None
        expression = entry.guards_expr if entry is not None else entries.guards_of_pickle(content)
        question = self._forget_miss(key, entry)
        binaries = self.binaries.take(live.generated_modules(entry))
        apart = kernels.take_apart(content, live.kernels(entry))
        if self.frames is not None and kind == entries.AOT:
            self.frames.made(self._thread.backend, apart, binaries.modules, binaries.files)
        try:
            inserted = self.cache.insert(
                self._description(kind, key, question),
                apart.rest,
                guards=entries.guard_list(expression),
                metadata=self._metadata(key, entry, binaries.modules, apart.cuts).encode(),
                requirements=self._requirements(key, entry, binaries),
                compile_ns=self._own_time_ns(key, entry, question),
                label=question.label,
                identity=entries.identity(content),
                attachments=[*binaries.files, *apart.files],
            )
        except guardcache.ReadOnlyError:
            self._count_not_stored("the cache is read-only")
            return
        except guardcache.NoSpaceError as error:
            self._count_not_stored("no space is left")
            log.warning("not stored: %s", error)
            return
        if not inserted:
            self._count_not_stored(str(inserted.reason))
            return
        with self._lock:
            self._counts["duplicates" if inserted.existed else "stored"] += 1

    def _count_not_stored(self, reason: str) -> None:
        log.info("not stored: %s", reason)
        with self._lock:
            self._not_stored[reason] += 1

    def _requirements(self, key: str, entry: Any, binaries: Taken) -> dict[str, str]:
        """PyTorch's keys have the compiler's name; guardcache's don't, so that an entry that brings all of its binaries
        is of use beside another compiler too.
        """
        needed = entries.requirements(live.device_types(entry), live.extern_libs(entry))
        if self.descriptions.get(key) is not None and "cpu" in live.device_types(entry) and not binaries.complete:
            needed["cxx"] = entries.compiler()
        return needed

    def _own_time_ns(self, key: str, entry: Any, question: _Question) -> int:
        """What compiling took. AOT's time contains that of its graphs, which have entries and hits of their own unless
        they are bundled.
        """
        took = live.time_taken_ns(entry)
        with self._lock:
            for half in live.halves(entry):
                then, spent = self._spent.pop(half, (0, 0))
                took -= spent if then >= question.asked_ns else 0
            self._spent[key] = (time.monotonic_ns(), took)
            while len(self._spent) > _MISSED_MAX:
                self._spent.popitem(last=False)
        return max(took, 0)

    def _description(self, kind: str, key: str, question: _Question) -> Graph:
        """The graph's own description where the adapter made the key, else what PyTorch says about its key."""
        described = self.descriptions.get(key)
        return entries.description(kind, key, question.made_of()) if described is None else described.graph

    def _metadata(
        self, key: str, entry: Any, modules: dict[str, entries.Binaries], cuts: tuple[kernels.Cut, ...]
    ) -> entries.Metadata:
        described = self.descriptions.get(key)
        return entries.Metadata(
            entries.host_fingerprint(),
            modules,
            symbols=described.symbols if described is not None else (),
            halves={
                half: found.symbols for half in live.halves(entry) if (found := self.descriptions.get(half)) is not None
            },
            cuts=cuts,
        )

    def clear(self, kind: str) -> None:
        for entry in list(self.cache.entries()):
            if entry.kind == kind:
                self.cache.remove(entry.key, entry.id)

    # ---- what surrounds lookups and saves ----

    @contextmanager
    def asking(
        self,
        inputs: Sequence[Any],
        lines: Sequence[str] = (),
        suffix: str = "",
        inputs_name: str = "example_inputs",
    ) -> Iterator[_Question]:
        """`inputs_name`: what inputs are called in the key's description."""
        sources = labels.hint_sources(inputs)
        if lines and not suffix:
            sources |= self._thread.arguments.named(inputs, inputs_name)
        question = _Question(labels.frame_label(suffix), sources, lines, inputs)
        outer, self._thread.question = self._thread.question, question
        try:
            yield question
        finally:
            self._thread.question = outer

    def arguments(self, aot_config: Any) -> None:
        """AOT begins: what it knows of its arguments holds for the graph that Inductor then compiles."""
        if self.frames is not None:
            self.frames.asked(getattr(aot_config, "precompile_backend_id", None))
        self._thread.arguments.begin(aot_config)

    @contextmanager
    def saving(self, key: str, entry: Any) -> Iterator[None]:
        outer, self._thread.saving = self._thread.saving, (key, entry)
        if self.frames is not None:
            self._thread.backend = live.take_backend(entry)
        try:
            yield
        finally:
            self._thread.saving = outer

    # ---- frames ----

    def frame_looked_up(self, label: str, found: Hit | Miss | None, reason: str, took_ns: int) -> None:
        """Without a reason it was a hit that was used."""
        with self._lock:
            if reason:
                self._frame_misses[reason] += 1
            else:
                self._counts["frames"] += 1
        key = "" if found is None else found.key
        self.records.append(Lookup(entries.DYNAMO, MISS if reason else HIT, reason, label, key, took_ns=took_ns))

    def frame_refused(self, label: str, reason: str) -> None:
        """Dynamo's result can't be kept."""
        with self._lock:
            self._frames_refused[reason] += 1
        self.records.append(Lookup(entries.DYNAMO, BYPASS, reason, label))

    def frame_stored(self) -> None:
        with self._lock:
            self._counts["frames_stored"] += 1

    # ---- records ----

    def bypassed(self, kind: str, reason: str) -> None:
        """PyTorch doesn't cache a graph: told to the library too, so that `guardcache explain --last` knows."""
        label = labels.frame_label()
        with self._lock:
            self._bypasses[reason] += 1
        self.records.append(Lookup(kind, BYPASS, reason, label))
        self._leave_behind(kind, label, reason)
        # A graph that Inductor's cache leaves out is in AOT's entry all the same, where frames are kept.
        if self.frames is not None and kind == entries.AOT:
            self.frames.left_out(reason)

    def _leave_behind(self, kind: str, label: str, reason: str) -> None:
        if self._closed:
            return
        try:
            self.cache.lookup(Graph(kind), label=label, bypass=reason, why_asked=self.recompiles.why())
        except guardcache.Error as error:
            log.warning("a bypass can't be remembered: %s", error)

    def unused(self, reason: str) -> None:
        """PyTorch drops the AOT hit that this thread found last."""
        with self._lock:
            self._unused[reason] += 1
        self.records.append(Lookup(entries.AOT, UNUSED, reason, labels.frame_label()))

    def passed_by(self, reason: str) -> None:
        """Something isn't looked up in guardcache although the adapter is installed. The library hears of it once."""
        with self._lock:
            self._passed_by[reason] += 1
            first = self._passed_by[reason] == 1
        if first:
            self._leave_behind(entries.FX, labels.frame_label(), reason)

    def warn(self, line: str) -> None:
        log.warning("%s", line)

    def _record(
        self, kind: str, key: str, hints: dict[str, int], found: Hit | Miss, question: _Question, took_ns: int
    ) -> None:
        with self._lock:
            if isinstance(found, Hit):
                self._counts["hits"] += 1
                self._hits_by_tier[found.tier] += 1
                self._counts["saved_ns"] += found.compile_ns
            else:
                self._misses[found.reason] += 1
        self.records.append(
            Lookup(
                kind=kind,
                outcome=HIT if isinstance(found, Hit) else MISS,
                reason="" if isinstance(found, Hit) else str(found.reason),
                label=question.label,
                key=key,
                hints=hints,
                sources=question.sources,
                took_ns=took_ns,
                tier=found.tier if isinstance(found, Hit) else "",
                local_reason="" if isinstance(found, Hit) else str(found.local_reason),
            )
        )

    def statistics(self) -> Statistics:
        waiting = [] if self.frames is None else self.frames.waiting()
        tiers = () if self.cache.closed else tuple(self.cache.tiers())
        with self._lock:
            return Statistics(
                hits=self._counts["hits"],
                misses={str(reason): count for reason, count in self._misses.items()},
                bypasses=dict(self._bypasses),
                stored=self._counts["stored"],
                duplicates=self._counts["duplicates"],
                unpickled=self._counts["unpickled"],
                saved_ns=self._counts["saved_ns"],
                unused=dict(self._unused),
                passed_by=dict(self._passed_by),
                not_stored=dict(self._not_stored),
                frames=self._counts["frames"],
                frames_stored=self._counts["frames_stored"],
                frame_misses=dict(self._frame_misses),
                frames_refused=dict(self._frames_refused),
                frames_waiting=len(waiting),
                hits_by_tier=dict(self._hits_by_tier),
                tiers=tiers,
            )


def _is_rank() -> bool:
    """Whether this process is one of several of a job."""
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1
