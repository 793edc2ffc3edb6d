"""Look up, insert, explain, look around: `guardcache/cache.h`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Unpack

from guardcache._cache.handle import Handle
from guardcache._cache.options import Asked, make_request
from guardcache._cache.results import (
    Attachment,
    Buffer,
    Entry,
    Hit,
    Inserted,
    Miss,
    Reason,
    make_hit,
    make_miss,
    payload_of,
)
from guardcache._checked import texts, whole
from guardcache._compare import Comparison, Subject, compare_data_in, compare_in
from guardcache._graph import Graph, native_of
from guardcache._guards import make_verdict
from guardcache._values import Hints


class Lookups(Handle):
    __slots__ = ()

    def lookup(self, graph: Graph, hints: Hints | None = None, **asked: Unpack[Asked]) -> Hit | Miss:
        """Looks for the best stored candidate whose guards hold for `hints`.

        Options are those of `Asked`. A graph that can't be keyed safely is a miss: `Reason.BYPASS`.
        """
        try:
            native = graph._native
        except AttributeError:
            native = native_of(graph)  # says what it should be
        found = self._native.lookup(native, hints, make_request("lookup", asked))
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
            texts("guards", guards),
            payload,
            metadata,
            variant,
            priority,
            requirements,
            whole("compile_ns", compile_ns),
            label,
            identity,
            tuple((a.name, a.content, a.executable) for a in attachments),
            deltas,
        )
        stored, reason, key, name, existed, verdict, shadows = self._native.insert(native_of(graph), hints, entry)
        return Inserted(stored, Reason(reason) if reason else None, key, name, existed, make_verdict(verdict), shadows)

    def explain(
        self, graph: Graph, hints: Hints | None = None, *, everything: bool = False, **asked: Unpack[Asked]
    ) -> str:
        """Says in words why a lookup hits or misses now: at most 25 lines, or `everything`. Options are those of
        `Asked`.
        """
        return self._native.explain(native_of(graph), hints, make_request("explain", asked), 1 if everything else 0)

    def explain_data(self, graph: Graph, hints: Hints | None = None, **asked: Unpack[Asked]) -> dict[str, Any]:
        """The same for programs: outcome, reason, candidates with their guards, nearest keys with what differs."""
        text = self._native.explain(native_of(graph), hints, make_request("explain_data", asked), 2)
        explained: dict[str, Any] = json.loads(text)
        return explained

    def explain_page(self, graph: Graph, hints: Hints | None = None, **asked: Unpack[Asked]) -> str:
        """The same as a page of HTML that stands alone."""
        return self._native.explain(native_of(graph), hints, make_request("explain_page", asked), 3)

    # ---- look around ----

    def entries(self, key: str | None = None) -> Iterator[Entry]:
        """Every stored entry, or those of one key: keys in order, candidates in rank order."""
        return (Entry(*found) for found in self._native.entries(key))

    def shadowed(self, key: str | None = None) -> Iterator[Entry]:
        """Entries that no lookup with integer hints will choose, as far as their guards decide it: `Entry.shadowed_by`
        is chosen instead.
        """
        return (Entry(*found) for found in self._native.shadowed(key))

    def read_entry(self, key: str, entry: str) -> Hit:
        """One entry by its id, whatever its guards. It isn't a lookup: nothing is counted. `NotFoundError`."""
        return make_hit(self._native.read_entry(key, entry))

    def remove(self, key: str, entry: str) -> None:
        """Takes an entry out; that it was there stays known, for `explain`."""
        self._native.remove(key, entry)

    def compare(self, stored: Subject, asked: Subject, *, max_items: int = 0) -> Comparison:
        """How two descriptions differ, each given as a `Graph` or as a key that the cache holds.

        At most `max_items` differences are written (0: 50). `NotFoundError`: nothing is stored under a key.
        """
        return compare_in(self._native, stored, asked, max_items)

    def compare_data(self, stored: Subject, asked: Subject, *, max_items: int = 0) -> dict[str, Any]:
        """The same for programs: ``equal``, ``components``, ``differs``, ``left_out``."""
        return compare_data_in(self._native, stored, asked, max_items)
