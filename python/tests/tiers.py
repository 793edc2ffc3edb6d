"""What every tier has to pass, written in Python or not: the contract of guardcache.Tier as checks.

``check_tier(MyTier())`` runs all of them; keys are new ones each time, so that a server may keep what earlier
runs left.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

from guardcache import FencedError, Tier, TierCall, TierLease, TierObject

Check = Callable[[Tier], None]
CHECKS: list[Check] = []


def check(function: Check) -> Check:
    CHECKS.append(function)
    return function


def check_tier(tier: Tier) -> None:
    for function in CHECKS:
        function(tier)


def call(**more: Any) -> TierCall:
    end = time.monotonic() + 60
    plain = TierCall(deadline=end, connect_deadline=end, max_bytes=1 << 30, ttl=None, fence=None)
    return plain._replace(**more)


def new_object(kind: str, key: str, content: bytes) -> TierObject:
    name = "" if kind == "description" else secrets.token_hex(16 if kind == "head" else 32)
    return TierObject(kind, key if kind in ("head", "payload", "description") else "", name, content)


def entry(key: str) -> list[TierObject]:
    """As they are published: the head last, so that whoever sees it gets the rest."""
    kinds = ("attachment", "payload", "description", "head")
    return [new_object(kind, key, secrets.token_bytes(1 + index * 1000)) for index, kind in enumerate(kinds)]


def asked_for(objects: list[TierObject]) -> list[TierObject]:
    return [found._replace(content=None) for found in objects]


def defines(tier: Tier, *names: str) -> bool:
    return all(getattr(type(tier), name) is not getattr(Tier, name) for name in names)


@check
def an_absent_key_has_nothing(tier: Tier) -> None:
    key = secrets.token_hex(32)
    assert list(tier.list(call(), key)) == []
    assert list(tier.fetch(call(), asked_for(entry(key)))) == []


@check
def what_is_published_is_found(tier: Tier) -> None:
    key = secrets.token_hex(32)
    objects = entry(key)
    tier.publish(call(), objects)
    assert list(tier.list(call(), key)) == objects[-1:]
    assert sorted(tier.fetch(call(), asked_for(objects))) == sorted(objects)
    tier.publish(call(), objects)
    assert list(tier.list(call(), key)) == objects[-1:]


@check
def keys_and_kinds_are_kept_apart(tier: Tier) -> None:
    one, other = secrets.token_hex(32), secrets.token_hex(32)
    name = secrets.token_hex(32)
    objects = [TierObject("head", key, name[:32], key.encode()) for key in (one, other)]
    objects += [TierObject("payload", one, name, b"payload"), TierObject("attachment", "", name, b"attachment")]
    tier.publish(call(), objects)
    assert list(tier.list(call(), one)) == objects[:1]
    assert list(tier.list(call(), other)) == objects[1:2]
    assert sorted(tier.fetch(call(), asked_for(objects))) == sorted(objects)


@check
def of_what_is_wanted_those_there_are_handed_out(tier: Tier) -> None:
    key = secrets.token_hex(32)
    there, absent = entry(key), entry(secrets.token_hex(32))
    tier.publish(call(), there)
    assert sorted(tier.fetch(call(), asked_for([*there, *absent]))) == sorted(there)


@check
def what_is_removed_is_gone(tier: Tier) -> None:
    key = secrets.token_hex(32)
    objects = entry(key)
    tier.publish(call(), objects)
    tier.remove(call(), asked_for(objects))
    tier.remove(call(), asked_for(objects))
    assert list(tier.list(call(), key)) == []
    assert list(tier.fetch(call(), asked_for(objects))) == []


@check
def writers_lose_nothing(tier: Tier) -> None:
    key = secrets.token_hex(32)
    written = [entry(key) for _ in range(16)]
    threads = [threading.Thread(target=tier.publish, args=(call(), objects)) for objects in written]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(tier.list(call(), key)) == sorted(objects[-1] for objects in written)


@check
def the_first_value_is_shared(tier: Tier) -> None:
    if not defines(tier, "share"):
        return
    first, second = new_object("value", "", b"one"), new_object("value", "", b"two")
    assert tier.share(call(), first) is None
    assert tier.share(call(), first._replace(content=b"three")) == b"one"
    assert tier.share(call(), second) is None


def lease(key: str, ttl: float) -> TierLease:
    return TierLease(key, secrets.token_hex(32), secrets.token_hex(16), ttl, 0)


@check
def a_lease_is_its_holders(tier: Tier) -> None:
    if not defines(tier, "lease", "keep", "release"):
        return
    mine = lease(secrets.token_hex(32), 60)
    theirs = mine._replace(holder=secrets.token_hex(16))
    token = tier.lease(call(), mine)
    assert token is not None
    assert tier.lease(call(), theirs) is None
    assert not tier.keep(call(), theirs)
    assert tier.keep(call(), mine)
    assert tier.release(call(), mine)
    assert not tier.release(call(), mine)
    later = tier.lease(call(), theirs)
    assert later is not None
    assert later > token
    tier.publish(call(fence=theirs._replace(token=later)), entry(mine.key))
    try:
        tier.publish(call(fence=mine._replace(token=token)), entry(mine.key))
    except FencedError:
        pass
    else:
        raise AssertionError("an older token publishes")
    assert len(list(tier.list(call(), mine.key))) == 1


@check
def a_lease_runs_out(tier: Tier) -> None:
    if not defines(tier, "lease", "keep", "release"):
        return
    mine = lease(secrets.token_hex(32), 0.05)
    assert tier.lease(call(), mine) is not None
    time.sleep(0.1)
    assert tier.lease(call(), mine._replace(holder=secrets.token_hex(16))) is not None
    assert not tier.keep(call(), mine)


@check
def a_walk_meets_every_key(tier: Tier) -> None:
    if not defines(tier, "walk"):
        return
    keys = {secrets.token_hex(32) for _ in range(5)}
    for key in keys:
        tier.publish(call(), entry(key))
    met: set[str] = set()
    cursor: str | None = ""
    while cursor is not None:
        found, cursor = tier.walk(call(), cursor)
        met.update(found)
    assert keys <= met


@check
def statistics_are_numbers(tier: Tier) -> None:
    assert all(isinstance(number, int) and number >= 0 for number in tier.statistics(call()).values())
