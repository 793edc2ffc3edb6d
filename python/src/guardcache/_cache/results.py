"""What calls of a cache return."""

from __future__ import annotations

import enum
from typing import Literal, TypeAlias, Union

from guardcache import _native
from guardcache._classes import Record, field
from guardcache._guards import Verdict

Buffer: TypeAlias = Union[bytes, bytearray, memoryview]


class Reason(enum.StrEnum):
    """Why a lookup missed, or an insert was refused: the library's closed list (`guardcache/status.h`)."""

    NONE = ""
    """There is none: it was a hit, or it was stored."""
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
    REFRESH = "refresh"

    @property
    def text(self) -> str:
        """In a sentence; empty for `NONE`."""
        return dict(_native.reasons()).get(self.value, "")


class Hit(Record):
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
    """The producer's names -> the caller's: of symbols, and of what the description's texts name."""
    renamed: bool
    """At least one name differs."""
    variant: str
    priority: int
    compile_ns: int
    """What compiling had taken: what the hit saved."""
    note: str
    attachments: tuple[str, ...]
    """Names of the files that belong to the entry: see `Cache.place`."""
    tier: str = "local"
    """Who had it: ``memory``, ``local`` (the directory), ``group`` (its members' decision), or the tier's
    URL without credentials."""
    deltas: dict[str, int] = field(default_factory=dict)
    """How far the compile that the hit stands for moved the compiler's counters."""

    def __bool__(self) -> Literal[True]:
        return True


class Miss(Record):
    """Nothing stored holds. Always false."""

    key: str
    reason: Reason
    note: str = ""
    local_reason: Reason = Reason.NONE
    """Where a tier was in trouble (`Reason.REMOTE_TIMEOUT`, `Reason.REMOTE_UNAVAILABLE`): what the reason would be if
    it had nothing."""

    def __bool__(self) -> Literal[False]:
        return False


class Inserted(Record):
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
    shadows: str = ""
    """An older entry that differs in its payload alone, so that no lookup will choose it any more."""

    def __bool__(self) -> bool:
        return self.stored


class Attachment(Record):
    """A named file that belongs to an entry. `name` is a relative path below the directory given to `Cache.place`."""

    name: str
    content: Buffer
    executable: bool = False


class Entry(Record):
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
    shadowed_by: str = ""
    """Of `Cache.shadowed`: the id of the entry that is chosen instead."""


def make_miss(found: _native._Miss) -> Miss:
    key, reason, note, local_reason = found
    return Miss(key, Reason(reason), note, Reason(local_reason))


def make_hit(found: _native._Hit) -> Hit:
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
        tier=found[12],
        deltas=found[13],
    )


def payload_of(hit: Hit) -> _native.Payload:
    """It keeps alive what the library knows of the hit."""
    payload = hit.payload.obj
    assert isinstance(payload, _native.Payload)
    return payload
