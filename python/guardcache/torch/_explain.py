"""Past lookups of this process, explained in PyTorch's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import guardcache
from guardcache import Guards
from guardcache.torch import _entries as entries
from guardcache.torch._adapter import BYPASS, HIT, Adapter, Lookup

_MARK_DYNAMIC = (
    "call torch._dynamo.mark_dynamic({tensor}, {dim}) before the first call, or compile with dynamic=True, to compile "
    "for all sizes at once; what always holds can be told: torch._check({name} % 8 == 0)"
)

_GIVE_UUID = (
    "derive the pass from torch._inductor.custom_graph_pass.CustomGraphPass, with a uuid() that changes with its code"
)
_DO_NOT_FREEZE = "freezing puts parameters into the graph; without torch._inductor.config.freezing the graph is cached"

# The beginning of PyTorch's reason -> what its user can do. Reasons without advice aren't here.
_BYPASS_ADVICE = {
    "Can't cache HigherOrderOperator": (
        "PyTorch declares the operator uncacheable; what surrounds it is cached if it is compiled by itself "
        "(torch._dynamo.graph_break() before and after it)"
    ),
    "Unsupported post grad custom pass": _GIVE_UUID,
    "Unsupported joint custom pass": _GIVE_UUID,
    "Unsupported pre grad custom pass": _GIVE_UUID,
    "Unsupported _fuse_ddp_communication_pass": _GIVE_UUID,
    "Skipping graph with frozen constants": _DO_NOT_FREEZE,
    "Cannot cache a graph with freezing enabled": _DO_NOT_FREEZE,
    "Unsupported call_function target": (
        "wrap the function in a torch.library.custom_op, or, if its result depends on its arguments alone, list it in "
        "torch._inductor.config.unsafe_marked_cacheable_functions"
    ),
    "SAC context_fn does not have a cache_hash attribute": (
        "give the context_fn a cache_hash attribute that changes with its code"
    ),
}


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
    """Why a past lookup missed or was bypassed."""
    if lookup.outcome == BYPASS:
        return "\n".join(_bypass(lookup))
    first = lookup.explanation or f"{lookup.outcome}: {lookup.reason}    {lookup.label}    ({lookup.kind})"
    return "\n".join([first, *_remarks(adapter, lookup)])


def _bypass(lookup: Lookup) -> Iterator[str]:
    yield f"bypass: {lookup.reason}    {lookup.label}    ({lookup.kind})"
    yield "PyTorch doesn't cache this graph: it is compiled in every process."
    for beginning, advice in _BYPASS_ADVICE.items():
        if lookup.reason.startswith(beginning):
            yield f"  advice:     {advice}"


def _remarks(adapter: Adapter, lookup: Lookup) -> Iterator[str]:
    yield from _sources(lookup)
    if lookup.hints:
        yield from _joined(adapter, lookup)
    if lookup.reason == guardcache.Reason.GUARD_FALSE:
        yield from _size_advice(lookup)


def _sources(lookup: Lookup) -> Iterator[str]:
    if lookup.sources:
        yield "  where       " + ", ".join(f"{name} is {source}" for name, source in lookup.sources.items())


def _joined(adapter: Adapter, lookup: Lookup) -> Iterator[str]:
    for entry in adapter.cache.entries(entries.stored_key(lookup.kind, lookup.key)):
        if entry.guards and joining_changed(entry.guards[0], lookup.hints):
            yield (
                f"  note        {entry.id[:6]}: PyTorch joins guards without parentheses; as one expression they are "
                "another thing here than all of them together. What counts is the expression, as in PyTorch."
            )


def _size_advice(lookup: Lookup) -> Iterator[str]:
    for name, source in lookup.sources.items():
        tensor, found, rest = source.partition(".size(")
        if found:
            advice = _MARK_DYNAMIC.format(tensor=tensor, dim=rest.rstrip(")"), name=source)
            yield f"  advice:     {name} is {source}: {advice}"
            return


def explain(adapter: Adapter, last: int) -> str:
    """The last misses and bypasses, newest first."""
    texts = [explain_lookup(adapter, lookup) for lookup in _newest(adapter.records, last)]
    return "\n\n".join(texts) if texts else "nothing missed in this process"


def _newest(records: Iterable[Lookup], count: int) -> list[Lookup]:
    return [lookup for lookup in reversed(list(records)) if lookup.outcome != HIT][:count]
