"""Keyword options that several calls share, their defaults, and how the library takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict

from guardcache import _native

if TYPE_CHECKING:
    from guardcache._results import Hit

SECOND_NS = 1_000_000_000

GuardTest: TypeAlias = Callable[[tuple[str, ...]], object]
PostLoad: TypeAlias = "Callable[[Hit], object]"
Group: TypeAlias = tuple[str, int]
"""Processes that decide alike: its name, which is of one run of a job alone, and how many members there are."""


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


_ASKED: dict[str, Any] = {
    "variant": None,
    "expect_variant": None,
    "provides": None,
    "accept_renames": False,
    "label": None,
    "sources": None,
    "guard_test": None,
    "bypass": None,
    "why_asked": None,
}
_COMPILE_ONLY: dict[str, Any] = {
    "compile_as": None,
    "refresh": False,
    "min_compile_time": 0,
    "reader": False,
    "follow": False,
    "post_load": None,
    "group": None,
    "lease_timeout": 0,
}
_COMPILE_ASKED = _ASKED | _COMPILE_ONLY
_PLAIN: _native._Request = (None, None, None, False, None, None, None, None, None)


def check_names(call: str, given: Mapping[str, object], known: Mapping[str, object]) -> None:
    """`TypeError` for an option that `call` doesn't have, naming those that it may have meant."""
    for name in given:
        if name not in known:
            import difflib  # It takes longer to import than all of this.

            near = " or ".join(repr(other) for other in difflib.get_close_matches(name, known))
            hint = f"; did you mean {near}?" if near else f"; it has {', '.join(known)}"
            raise TypeError(f"{call}() got an unexpected keyword argument {name!r}{hint}")


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


def make_compile_request(
    call: str, asked: CompileAsked, make_hit: Callable[[_native._Hit], Hit]
) -> tuple[_native._Request, _native._CompileOptions]:
    """The same for calls that may compile."""
    check_names(call, asked, _COMPILE_ASKED)
    post_load = asked.get("post_load")
    options = (
        asked.get("refresh", False),
        in_ns(asked.get("min_compile_time", 0)),
        asked.get("reader", False),
        asked.get("follow", False),
        None if post_load is None else lambda found: post_load(make_hit(found)),
        asked.get("group"),
        in_ns(asked.get("lease_timeout", 0)),
    )
    return _request_of(asked), options


def variant_of(asked: CompileAsked) -> Variant | None:
    """What a miss is compiled as, unless what is compiled says so itself."""
    chosen = asked.get("compile_as") or asked.get("variant")
    return Variant(chosen) if isinstance(chosen, str) else chosen


def in_ns(seconds: float) -> int:
    return int(seconds * SECOND_NS)
