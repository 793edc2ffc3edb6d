"""What a cache has been doing: counters of the handle, statistics of the directory, the journal:
`guardcache/observe.h`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias, Unpack

from guardcache._cache.handle import Handle
from guardcache._cache.options import Chosen, Selected, make_query
from guardcache._cache.results import Reason
from guardcache._checked import whole
from guardcache._classes import Record

Form: TypeAlias = Literal["text", "prometheus"]
Top: TypeAlias = Literal["misses", "keys", "guards"]

_TEXT, _JSON, _PROMETHEUS = 0, 1, 2
_EXPLAIN_TEXT, _EXPLAIN_ALL, _EXPLAIN_JSON, _EXPLAIN_PAGE = 0, 1, 2, 3
_TOPS: dict[str, int] = {"misses": 0, "keys": 1, "guards": 2}
_FORMS: dict[str, int] = {"text": _TEXT, "prometheus": _PROMETHEUS}


class JournalEntry(Record):
    """An entry of the journal. Texts are empty where there is nothing to say."""

    at_ns: int
    """Nanoseconds since 1970, UTC."""
    kind: str
    """``miss``, ``hit``, ``insert``, ``not_stored``, ``takeover``, ``tier``."""
    reason: Reason
    """Of a miss."""
    process: int
    key: str
    namespace: str
    graph_kind: str
    label: str
    hints: dict[str, str]
    """By name, as Python writes them."""
    entry: str
    """Of a hit or an insert."""
    hits: int
    """How many hits it stands for."""
    saved_ns: int
    """What compiling those had taken."""
    elapsed_ns: int
    """Of a hit: what the lookup itself took."""
    compile_ns: int
    payload_size: int
    text: str
    """Why it was not stored, why it can't be cached, from whom a lease was taken over."""
    sources: dict[str, str]
    """Of a miss: hints in the words of the user's program."""
    why_asked: str
    """Of a miss: as the caller said."""
    tier: str
    """Which served a hit, or whose counts these are."""
    waited_ns: int
    """How long a lookup waited for tiers."""
    tier_counts: dict[str, int]


def _word(words: dict[str, int], given: str, what: str) -> int:
    if given not in words:
        raise ValueError(f"{what} is {' or '.join(words)}, not {given!r}")
    return words[given]


class Observes(Handle):
    __slots__ = ()

    def counters(self) -> dict[str, int]:
        """What this handle has been doing: ``hits``, ``saved_ns``, ``inserts``, ``not_stored``, ``evictions``, ..."""
        return self._native.counters()

    def misses(self) -> dict[Reason, int]:
        """How many lookups of this handle missed, for each reason there was."""
        return {Reason(reason): count for reason, count in self._native.misses().items() if count}

    def statistics(self) -> dict[str, int]:
        """Of the directory: how large it is, and what all processes have done with it since it was made."""
        return self._native.statistics()

    def journal(self, **chosen: Unpack[Chosen]) -> Iterator[JournalEntry]:
        """Entries of the journal, newest first; options are those of `Chosen`."""
        for at_ns, kind, reason, *rest in self._native.journal(make_query("journal", chosen)):
            yield JournalEntry(at_ns, kind, Reason(reason), *rest)

    def explain_past(self, last: int = 1, *, everything: bool = False, **chosen: Unpack[Selected]) -> str:
        """Explains past misses of any process, newest first, as they were then, and says what has changed since; "" if
        there is none. Options are those of `Selected`.
        """
        return self._explain_past(last, chosen, _EXPLAIN_ALL if everything else _EXPLAIN_TEXT)

    def explain_past_data(self, last: int = 1, **chosen: Unpack[Selected]) -> list[dict[str, Any]]:
        """The same for programs."""
        return [json.loads(line) for line in self._explain_past(last, chosen, _EXPLAIN_JSON).splitlines()]

    def explain_past_page(self, last: int = 1, **chosen: Unpack[Selected]) -> str:
        """The same as a page of HTML that stands alone."""
        return self._explain_past(last, chosen, _EXPLAIN_PAGE)

    def _explain_past(self, last: int, chosen: Selected, form: int) -> str:
        asked: Chosen = {**chosen, "last": last, "misses_only": True}
        return self._native.explain_past(make_query("explain_past", asked), form)

    def show_statistics(self, form: Form = "text", **chosen: Unpack[Chosen]) -> str:
        """Hit rate, misses by reason, compile time saved, what is stored and evicted: for people, or for Prometheus to
        scrape. Options are those of `Chosen`.
        """
        return self._native.show_statistics(make_query("show_statistics", chosen), _word(_FORMS, form, "form"))

    def statistics_data(self, **chosen: Unpack[Chosen]) -> dict[str, Any]:
        """The same for programs."""
        found: dict[str, Any] = json.loads(self._native.show_statistics(make_query("statistics_data", chosen), _JSON))
        return found

    def top(self, kind: Top = "misses", count: int = 10, **chosen: Unpack[Chosen]) -> str:
        """What costs most: ``misses`` by key and reason, ``keys`` with their hits, or ``guards`` that fail and for
        which values. Options are those of `Chosen`.
        """
        return self._native.top(make_query("top", chosen), _word(_TOPS, kind, "kind"), whole("count", count), _TEXT)

    def top_data(self, kind: Top = "misses", count: int = 10, **chosen: Unpack[Chosen]) -> dict[str, Any]:
        """The same for programs."""
        text = self._native.top(
            make_query("top_data", chosen), _word(_TOPS, kind, "kind"), whole("count", count), _JSON
        )
        found: dict[str, Any] = json.loads(text)
        return found

    def report(self, **chosen: Unpack[Chosen]) -> str:
        """One page of HTML, without scripts or network: what to fix first and what it costs. Options are those of
        `Chosen`.
        """
        return self._native.report(make_query("report", chosen))
