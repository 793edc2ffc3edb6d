"""Past lookups of this process, explained in PyTorch's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import guardcache
from guardcache import Guards, TierState
from guardcache.torch import _entries as entries
from guardcache.torch._adapter import Adapter
from guardcache.torch._records import BYPASS, HIT, UNUSED, Lookup


def split_conjunction(text: str) -> list[str]:
    """The parts of a guard text between its top-level `and`s: the guards as they were before PyTorch joined them."""
    parts, depth, start, i = [], 0, 0, 0
    while i < len(text):
        depth += (text[i] in "([") - (text[i] in ")]")
        if depth == 0 and text.startswith(" and ", i):
            parts.append(text[start:i])
            i += len(" and ")
            start = i
        else:
            i += 1
    return [*parts, text[start:]]


def joining_changed(text: str, hints: guardcache.Hints) -> bool:
    """Whether the joined text and the conjunction of its guards disagree for these hints.

    PyTorch joins guards with `and` and no parentheses, so that a guard `a or b` beside `c` reads `a or (b and c)`.
    """
    parts = split_conjunction(text)
    if len(parts) < 2 or not any(" or " in part for part in parts):
        return False
    try:
        return Guards([text]).evaluate(hints).holds != Guards(parts).evaluate(hints).holds
    except guardcache.ParseError:
        return False


def explain_lookup(adapter: Adapter, lookup: Lookup) -> str:
    """Why a past lookup missed or was bypassed: as the library wrote it down then, with a word on PyTorch."""
    if lookup.outcome == BYPASS:
        return "\n".join(_bypass(adapter, lookup))
    if lookup.outcome == UNUSED:
        return f"unused hit: {lookup.reason}    {lookup.label}    ({lookup.kind})"
    text = adapter.cache.explain_past(key=entries.stored_key(lookup.kind, lookup.key)).rstrip("\n")
    first = text or f"{lookup.outcome}: {lookup.reason}    {lookup.label}    ({lookup.kind})"
    return "\n".join([first, *_joined(adapter, lookup)])


def _bypass(adapter: Adapter, lookup: Lookup) -> Iterator[str]:
    yield f"bypass: {lookup.reason}    {lookup.label}    ({lookup.kind})"
    yield "PyTorch doesn't cache this graph: it is compiled in every process."
    told = adapter.cache.explain_data(guardcache.Graph(lookup.kind), bypass=lookup.reason)
    if "advice" in told:
        yield f"  advice:     {told['advice']}"


def _joined(adapter: Adapter, lookup: Lookup) -> Iterator[str]:
    """What counts is the text as PyTorch evaluates it; where its parts say something else, that is worth knowing."""
    if not lookup.hints:
        return
    for entry in adapter.cache.entries(entries.stored_key(lookup.kind, lookup.key)):
        if entry.guards and joining_changed(entry.guards[0], lookup.hints):
            yield (
                f"  note:       {entry.id[:6]}: PyTorch joins guards without parentheses; as one expression they say "
                "something else here than one by one. The expression counts, as it does in PyTorch."
            )


def _compiles(records: Iterable[Lookup]) -> list[list[Lookup]]:
    """What one compile looked up: AOT's entry first, then, if that missed, its graphs."""
    compiles: list[list[Lookup]] = []
    for lookup in records:
        if (lookup.kind == entries.AOT and lookup.outcome != UNUSED) or not compiles:
            compiles.append([])
        compiles[-1].append(lookup)
    return compiles


def _cause(compile: list[Lookup]) -> Lookup | None:
    """The lookup that says why a compile was needed; None if it wasn't.

    Where AOT's key is unknown, or its hit wasn't used, and the graph below it missed too, the graph says what differs
    in what is compiled; where only AOT's is, or its guards fail, that says it all.
    """
    failed = [lookup for lookup in compile if lookup.outcome != HIT]
    if not failed:
        return None
    above, below = failed[0], [lookup for lookup in failed if lookup.kind == entries.FX]
    told_below = above.reason == guardcache.Reason.NO_KEY or any(lookup.outcome == UNUSED for lookup in failed)
    return below[0] if below and told_below else above


def explain(adapter: Adapter, last: int) -> str:
    """Why the last compiles were needed, newest first, and what never came to guardcache."""
    records = [lookup for lookup in adapter.records if lookup.kind != entries.DYNAMO]
    causes = [cause for compile in _compiles(records) if (cause := _cause(compile)) is not None]
    texts = [explain_lookup(adapter, cause) for cause in reversed(causes[-last:])]
    if not texts:
        texts.append("nothing missed in this process" if records else "nothing was looked up in this process")
    return "\n\n".join([*texts, *_frames(adapter, last), *_past(adapter)])


def _frames(adapter: Adapter, last: int) -> Iterator[str]:
    """Why Dynamo traced: the last functions that weren't found, or can't be kept."""
    frames = [lookup for lookup in adapter.records if lookup.kind == entries.DYNAMO and lookup.outcome != HIT]
    for lookup in reversed(frames[-last:]):
        told = adapter.cache.explain_past(key=lookup.key).rstrip("\n") if lookup.key else ""
        why = "traced, can't be kept" if lookup.outcome == BYPASS else "traced"
        yield told or f"{why}: {lookup.reason}    {lookup.label}    ({lookup.kind})"
    waiting = adapter.frames.waiting() if adapter.frames is not None else []
    for label in waiting[-last:]:
        yield f"traced, kept once its backward is compiled: {label}    ({entries.DYNAMO})"


def _past(adapter: Adapter) -> Iterator[str]:
    told = adapter.statistics()
    for reason, count in told.passed_by.items():
        yield f"past guardcache {_times(count)}: {reason}"
    for reason, count in told.not_stored.items():
        yield f"compiled but not stored {_times(count)}: {reason}"
    yield from map(_tier, told.tiers)


def _tier(tier: TierState) -> str:
    """What one tier did for this process, in a line."""
    counts = tier.counts
    told = f"tier {tier.name}: {counts['hits']} of {counts['asked']} lookups served"
    for count, words in (
        ("timeouts", "no answer in time"),
        ("unavailable", "in trouble"),
        ("left_alone", "left alone"),
        ("refused", "refused as damaged or unsigned"),
    ):
        told += f", {words} {_times(counts[count])}" if counts[count] else ""
    if not tier.read_only:
        told += f"; {counts['published']} entries taken"
        told += f", {counts['not_published']} not" if counts["not_published"] else ""
    return told


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
