"""What the adapter remembers of a process, for `lookups()`, `statistics()` and `explain()`."""

from __future__ import annotations

from dataclasses import dataclass, field

from guardcache import TierState

HIT, MISS, BYPASS, UNUSED = "hit", "miss", "bypass", "unused"


@dataclass(frozen=True)
class Lookup:
    """A past lookup of this process."""

    kind: str
    """``fx``, ``aot``, or ``dynamo``: a frame, with ``precompile=True``."""
    outcome: str
    """``hit``, ``miss``, ``bypass``, or ``unused``: a hit that PyTorch dropped."""
    reason: str
    """Of a miss: guardcache's reason. Of a bypass: PyTorch's. Of an unused hit: what stood against it."""
    label: str = ""
    """The compiled function: ``train.py:88 forward(x)``."""
    key: str = ""
    """PyTorch's key."""
    hints: dict[str, int] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    """What hints and inputs are in the user's program: ``{"t0": "x.size(0)", "example_inputs[2]": "x"}``."""
    took_ns: int = 0
    tier: str = ""
    """Of a hit: who had it, `guardcache.Hit.tier`."""
    local_reason: str = ""
    """Of a miss while a tier was in trouble: what the reason would be without it."""


@dataclass(frozen=True)
class Statistics:
    """What the adapter did in this process."""

    hits: int
    misses: dict[str, int]
    """By reason."""
    bypasses: dict[str, int]
    """By PyTorch's reason."""
    stored: int
    duplicates: int
    unpickled: int
    """Payloads that were unpickled: one a hit."""
    saved_ns: int
    """Compile time the hits saved."""
    unused: dict[str, int]
    """Hits that PyTorch dropped, by what stood against them; they are among `hits`."""
    passed_by: dict[str, int]
    """Compiles and lookups that didn't come to guardcache, by what put it aside."""
    not_stored: dict[str, int]
    """Compiles whose results weren't stored, by the reason."""
    frames: int = 0
    """With ``precompile=True``: functions that Dynamo didn't have to trace."""
    frames_stored: int = 0
    frame_misses: dict[str, int] = field(default_factory=dict)
    """Functions that it had to trace, by reason."""
    frames_refused: dict[str, int] = field(default_factory=dict)
    """Functions whose results can't be kept, by reason."""
    frames_waiting: int = 0
    """Functions that are kept once what was compiled for them is stored: for training, after the backward."""
    hits_by_tier: dict[str, int] = field(default_factory=dict)
    """Who had them: ``memory``, ``local``, or a tier's URL."""
    tiers: tuple[TierState, ...] = ()
    """What tiers did for this process."""
