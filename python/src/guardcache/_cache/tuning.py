"""What tuning found out: timings of choices, best configurations of kernels, bundles: `guardcache/tuning.h`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from guardcache import _native
from guardcache._cache.handle import Handle
from guardcache._checked import whole
from guardcache._classes import NamedTuple, Record, field

Benchmark: TypeAlias = Callable[[], Sequence[float]]


class Site(NamedTuple):
    """What is tuned."""

    system: str
    """Whose timings these are: device and versions, or a hash of them."""
    op: str
    inputs: str
    hint: str | None
    """A size that was assumed in place of the present one."""
    precision: str


class Timing(NamedTuple):
    """What a choice took at a site, in a unit of the caller's."""

    site: Site
    choice: str
    timing: float
    at_ns: int


class Kernel(NamedTuple):
    """Which kernel."""

    source_hash: str
    tag: str = ""
    """That its users set to keep caches apart."""
    toolchain: str = ""
    """Fingerprint of what compiles it."""
    backend: str | None = None
    """Hash of the compiler's back end: records go to tiers, and come from them, only with one. No part of the name
    here."""


class Best(Record):
    """What tuning found for a kernel."""

    config: Mapping[str, str] = field(default_factory=dict)
    """Every parameter, those besides the tuned ones too."""
    configs_hash: str = ""
    """Of the configurations it was chosen among."""
    by_descent: bool = False
    """Found by coordinate descent: perhaps none of those."""
    tuning_ns: int = 0
    """What finding it took."""
    kernel_hash: str = ""
    """Of the compiled kernel, if known."""


class BestFound(Record):
    """What became of looking for a kernel's best configuration; true if there is one to use."""

    verdict: str
    """``used``, ``descent``, or why there is none: ``no_record``, ``configs_hash``, ``no_match``, ``several_match``,
    ``unreadable``."""
    index: int | None
    """Of the offered configuration."""
    record: Best | None
    """Whenever there is one, also if it can't be used; of ``descent`` its `config` is the answer."""
    matches: int
    """How many of the offered ones match."""
    why: str
    """For people, both sides of the comparison; empty if it is used."""

    def __bool__(self) -> bool:
        return self.verdict in ("used", "descent")


class Bundle(NamedTuple):
    """What a bundle had for a compile that begins."""

    found: bool
    records: int
    saved_ns: int
    """What finding them had taken."""


def source_hash(source: str, comment: str | None = None) -> str:
    """The hash of a source without comments: what begins one that ends with its line; None: ``#``; "": there are
    none.
    """
    return _native.source_hash(source, comment)


def _make_best(found: tuple[dict[str, str], str, bool, int, str]) -> Best:
    return Best(*found)


def _config(config: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in config.items()}


class Tuning(Handle):
    __slots__ = ()

    def timings(
        self, site: Site, choices: Sequence[str], benchmark: Benchmark | None = None
    ) -> tuple[float, ...] | None:
        """The timings of all choices at a site, in their order, or None.

        Unless every choice is known, all are measured again by `benchmark`, by one process for all who ask, and stored;
        without it nothing is. No concurrent update is lost.
        """
        known, timings, _ = self._native.timings(site, choices, benchmark)
        return timings if known else None

    def put_timings(self, site: Site, timings: Mapping[str, float]) -> bool:
        """Adds or replaces timings, by choice. False: nothing is cached (disabled, bypass)."""
        return self._native.put_timings(site, tuple(timings), tuple(timings.values()))

    def all_timings(self) -> Iterator[Timing]:
        """Every timing in the table, in order."""
        for *site, choice, timing, at_ns in self._native.all_timings():
            yield Timing(Site._make(site), choice, timing, at_ns)

    def put_best(self, kernel: Kernel, best: Best) -> bool:
        """Keeps a kernel's record, in place of the one there is. False: nothing is cached (disabled, bypass)."""
        took = whole("tuning_ns", best.tuning_ns)
        record = (_config(best.config), best.configs_hash, best.by_descent, took, best.kernel_hash)
        return self._native.put_best(kernel, record)

    def find_best(
        self, kernel: Kernel, offered: Sequence[Mapping[str, object]], configs_hash: str, *, allow_descent: bool = False
    ) -> BestFound:
        """The kernel's best configuration among those offered.

        A record is used only if its `configs_hash` is the caller's and exactly one offered configuration matches it in
        every parameter the configuration has; with `allow_descent` one that coordinate descent found is used as it is.
        """
        configs = tuple(_config(config) for config in offered)
        verdict, index, record, matches, why = self._native.find_best(kernel, configs, configs_hash, allow_descent)
        found = None if record is None else _make_best(record)
        return BestFound(verdict, index if verdict == "used" else None, found, matches, why)

    def all_best(self) -> Iterator[tuple[Kernel, Best, int]]:
        """Every record, and when it was put, in nanoseconds since 1970."""
        for *kernel, record, at_ns in self._native.all_best():
            yield Kernel._make(kernel), _make_best(record), at_ns

    @contextmanager
    def bundle(
        self,
        source: str | None = None,
        *,
        source_hash: str | None = None,
        comment: str | None = None,
        backend: str | None = None,
        extra: str | None = None,
    ) -> Iterator[Bundle]:
        """Around the compile of a source: a bundle that is there has all its records found at once; else every record
        put or found meanwhile is collected, and stored as one.

        The source, without comments, or its hash names the bundle. After an exception it is stored all the same, since
        what was found is true.
        """
        yielded = Bundle(*self._native.begin_bundle(source, source_hash, comment, backend, extra))
        try:
            yield yielded
        finally:
            self._native.end_bundle()
