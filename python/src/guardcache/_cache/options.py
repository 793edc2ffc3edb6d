"""Keyword options that several calls share, their defaults, and how the library takes them."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias, Union, cast

from guardcache import _native
from guardcache._checked import in_ns, whole
from guardcache._classes import NamedTuple, TypedDict
from guardcache._signing import Signing
from guardcache._tier import Tier

if TYPE_CHECKING:
    from guardcache._cache.events import Listener
    from guardcache._cache.results import Hit

Log: TypeAlias = Callable[[str], object]
Progress: TypeAlias = Callable[[int, int], object]
"""Hears how much is done of how much; 0 while nobody knows."""
Tiers: TypeAlias = Union[str, Iterable[Union[str, Tier]]]
GuardTest: TypeAlias = Callable[[tuple[str, ...]], object]
PostLoad: TypeAlias = "Callable[[Hit], object]"
Group: TypeAlias = tuple[str, int]
"""Processes that decide alike: its name, which is of one run of a job alone, and how many members there are."""


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


class CacheOptions(TypedDict, total=False):
    """How a cache is opened. Numbers that are 0 mean the default."""

    read_only: bool
    """Nothing is ever written into the directory."""
    strict: bool
    """Trouble with the store raises instead of being a miss."""
    disabled: bool
    """Every lookup misses, and nothing is stored."""
    unsafe_skip_guards: bool
    """For debugging: every candidate's guards pass."""
    refresh: bool
    """Every lookup misses, and what is stored then is preferred."""
    bypass: str | None
    """Why nothing can be cached for now."""
    durability: Durability
    trust: Trust
    """Whose files are handed out."""
    namespace: str | None
    """A part of every key."""
    max_candidates: int
    """Under one key, beyond which its longest unused go."""
    max_size: int
    """Size cap in bytes on disk."""
    max_age: float
    """Seconds; `Cache.gc` evicts what was unused for longer. 0: never for its age."""
    memory_bytes: int
    """For decoded candidates."""
    compression_level: int
    """Of zstd; -1 stores payloads as they are."""
    journal: bool
    """False: lookups leave nothing behind to be explained or counted by afterwards."""
    record: str | os.PathLike[str] | None
    """A folder that gets a trace of lookups and inserts, for ``guardcache test``."""
    log: Log | None
    """Called with a line of text for people: what was quarantined, what could not be written. Any thread may call
    it."""
    listener: Listener | None
    """Called with an `Event` for whatever the cache does, by the thread that does it, while locks may be held: it
    mustn't use the cache itself, and had better be quick. `log_event` is one that logs."""
    signing: Signing | None
    """Keys; a mapping from ids to secrets stands for keys of HMAC. Inserts are signed with the first that has a
    secret."""
    require_signature: bool
    """Only entries that one of the keys signed are handed out or imported. With public keys alone nothing can be
    inserted then (`ReadOnlyError`)."""
    columns: int
    """`Cache.explain` breaks its lines there; 0: at 110."""
    color: bool
    """And colours them for a terminal."""
    tiers: Tiers | None
    """Where else to look, in this order, after the directory, and to store: URLs separated by spaces (``redis://host``,
    ``file:///shared``), or a list of URLs and of `Tier` objects, which come after the URLs. What is stored goes to
    them in the background."""
    flush_timeout: float
    """How many seconds `Cache.close` waits for what is still on its way to tiers."""


class Variant(NamedTuple):
    """What a miss is compiled as. Variants of a graph lie side by side under its key."""

    label: str
    priority: int = 0
    """Where a lookup names no variant, the one with the highest priority is served."""


class Asked(TypedDict, total=False):
    """What a lookup asks for besides graph and hints."""

    variant: str | None
    """Only candidates of this variant."""
    expect_variant: str | None
    """This variant rather than another."""
    provides: Mapping[str, str] | None
    """What candidates' requirements are compared with."""
    accept_renames: bool
    """Candidates whose producer used other names, of symbols or inside texts, are welcome: the caller renames by the
    hit's `renames` what it loads."""
    label: str | None
    """Whose lookup it is, for explanations: ``train.py:88 forward``."""
    sources: Mapping[str, str] | None
    """What the hints are in the user's program, for explanations: ``{"t0": "x.size(0)"}``."""
    guard_test: GuardTest | None
    """Takes the place of evaluating guards: is asked whether a candidate with these guards is welcome."""
    bypass: str | None
    """Why this can't be cached at all: a miss that is remembered with its reason."""
    why_asked: str | None
    """Why the caller compiles at all, a reason a line: explanations have it above their own."""


class CompileAsked(Asked, total=False):
    """What `Cache.get_or_compile` and `Cache.begin` are asked for besides."""

    compile_as: Variant | str | None
    """The variant that a miss is compiled as, unless what is compiled says so itself. Without it, `variant`."""
    refresh: bool
    """Ignore what is stored, compile, and store."""
    min_compile_time: float
    """What compiles in fewer seconds isn't stored."""
    reader: bool
    """Another process is the one that writes: use, but don't store, and wait for no lease."""
    follow: bool
    """A reader that waits, up to `lease_timeout`, for the writer to store what is wanted."""
    post_load: PostLoad | None
    """Gets a hit before it is handed out; what is false turns it into a miss, `Reason.UNREADABLE`. The payload is a
    copy there, and the hit's attachments can be placed only within the call."""
    group: Group | None
    """Processes that get the same outcome for the same question, as the ranks of a job have to
    (``("train-20260501-1402", 64)``): one of them looks up or compiles, the others take its answer."""
    lease_timeout: float
    """For how many seconds others' compiles are waited for; 0: the library's default, twenty minutes."""
    flight: str | None
    """The caller's name for what one compile will serve (``batch 9-16``): of all that miss a key with it one compiles,
    and the others wait. Without one those who miss with other hints wait for at most two rounds of others' compiles."""


class EachAsked(TypedDict, total=False):
    """What `Cache.compile_many` asks for each module, as in `CompileAsked`."""

    variant: str | None
    expect_variant: str | None
    provides: Mapping[str, str] | None
    accept_renames: bool
    label: str | None
    why_asked: str | None
    compile_as: Variant | str | None
    refresh: bool
    min_compile_time: float
    reader: bool
    follow: bool
    lease_timeout: float
    flight: str | None


class Selected(TypedDict, total=False):
    """Which misses of the journal are meant; all, unless something is said."""

    since_ns: int
    """Not before this, in nanoseconds since 1970."""
    label: str | None
    """Only labels that contain this."""
    key: str | None
    """Only keys that begin with this."""
    reason: str
    """Only misses for this `Reason`."""
    namespace: str | None
    """Only of this namespace; "" is the empty one."""


class Chosen(Selected, total=False):
    """Which entries of the journal are meant."""

    last: int
    """Only so many, the newest."""
    misses_only: bool


_OPENED = CacheOptions.__annotations__
_CHOSEN = Chosen.__annotations__
_EACH = EachAsked.__annotations__
_ASKED = Asked.__annotations__
_COMPILE_ASKED = CompileAsked.__annotations__
_PLAIN: _native._Request = (None, None, None, False, None, None, None, None, None)


def check_names(call: str, given: Mapping[str, object], known: Mapping[str, object]) -> None:
    """`TypeError` for an option that `call` doesn't have, naming those that it may have meant."""
    for name in given:
        if name not in known:
            import difflib

            near = " or ".join(repr(other) for other in difflib.get_close_matches(name, known))
            hint = f"; did you mean {near}?" if near else f"; it has {', '.join(known)}"
            raise TypeError(f"{call}() got an unexpected keyword argument {name!r}{hint}")


def check_opening(options: Mapping[str, object]) -> None:
    check_names("Cache", options, _OPENED)


def make_query(call: str, chosen: Chosen) -> _native._Query:
    """As the library takes it."""
    check_names(call, chosen, _CHOSEN)
    return (
        whole("last", chosen.get("last", 0)),
        whole("since_ns", chosen.get("since_ns", 0)),
        chosen.get("label"),
        chosen.get("key"),
        chosen.get("reason", ""),
        chosen.get("misses_only", False),
        chosen.get("namespace"),
    )


def make_request(call: str, asked: Asked) -> _native._Request:
    """As the library takes it."""
    if not asked:
        return _PLAIN
    check_names(call, asked, _ASKED)
    return _request_of(asked)


def _request_of(asked: Asked) -> _native._Request:
    return (
        asked.get("variant"),
        asked.get("expect_variant"),
        asked.get("provides"),
        asked.get("accept_renames", False),
        asked.get("label"),
        asked.get("sources"),
        asked.get("guard_test"),
        asked.get("bypass"),
        asked.get("why_asked"),
    )


def check_compile_asked(call: str, asked: CompileAsked) -> None:
    check_names(call, asked, _COMPILE_ASKED)


def make_compile_request(
    call: str, asked: CompileAsked, make_hit: Callable[[_native._Hit], Hit]
) -> tuple[_native._Request, _native._CompileOptions]:
    """The same for calls that may compile."""
    check_names(call, asked, _COMPILE_ASKED)
    post_load = asked.get("post_load")
    options = (
        asked.get("refresh", False),
        in_ns("min_compile_time", asked["min_compile_time"]) if "min_compile_time" in asked else 0,
        asked.get("reader", False),
        asked.get("follow", False),
        None if post_load is None else lambda found: post_load(make_hit(found)),
        asked.get("group"),
        in_ns("lease_timeout", asked["lease_timeout"]) if "lease_timeout" in asked else 0,
        asked.get("flight"),
    )
    return _request_of(asked), options


def make_each_request(asked: EachAsked) -> tuple[_native._Request, _native._EachOptions]:
    """The same for `Cache.compile_many`."""
    check_names("compile_many", asked, _EACH)
    options = (
        asked.get("refresh", False),
        in_ns("min_compile_time", asked["min_compile_time"]) if "min_compile_time" in asked else 0,
        asked.get("reader", False),
        asked.get("follow", False),
        in_ns("lease_timeout", asked["lease_timeout"]) if "lease_timeout" in asked else 0,
        asked.get("flight"),
    )
    return _request_of(cast(Asked, asked)), options


def variant_of(asked: CompileAsked | EachAsked) -> Variant | None:
    """What a miss is compiled as, unless what is compiled says so itself."""
    chosen = asked.get("compile_as") or asked.get("variant")
    return Variant(chosen) if isinstance(chosen, str) else chosen
