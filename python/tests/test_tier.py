"""A cache for a fleet: tiers of the program's own, and what a cache says of its tiers."""

from __future__ import annotations

import pickle
import re
import secrets
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import tiers
from descriptions import matmul

import guardcache
from guardcache import (
    Cache,
    Compiled,
    FencedError,
    Hit,
    Miss,
    Reason,
    Tier,
    TierCall,
    TierLease,
    TierObject,
)

README = Path(__file__).parents[1] / "README.md"


def from_readme() -> type[Tier]:
    (example,) = (
        text
        for text in re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)
        if "DictTier" in text
    )
    names: dict[str, Any] = {}
    exec(compile(example, str(README), "exec"), names)
    found: type[Tier] = names["DictTier"]
    return found


DictTier: Any = from_readme()


class Whole(DictTier):  # type: ignore[misc]
    """All of the contract, over dictionaries and a lock."""

    name = "whole://"

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.RLock()
        self.leases: dict[str, tuple[str, int, float]] = {}
        self.tokens: dict[str, int] = {}
        self.closed = 0
        self.touched = 0

    def fenced(self, fence: TierLease | None) -> None:
        if fence is not None and self.tokens.get(fence.name, 0) > fence.token:
            raise FencedError("somebody else leads by now")

    def publish(self, call: TierCall, objects: Sequence[TierObject]) -> None:
        with self.lock:
            self.fenced(call.fence)
            super().publish(call, objects)

    def touch(self, call: TierCall, wanted: Sequence[TierObject]) -> None:
        self.touched += len(wanted)

    def share(self, call: TierCall, value: TierObject) -> bytes | None:
        with self.lock:
            there = self.stored.setdefault(value.path, value)
            return None if there is value else there.content

    def holds(self, lease: TierLease) -> bool:
        holder, _, end = self.leases.get(lease.name, ("", 0, 0.0))
        return holder == lease.holder and time.monotonic() < end

    def lease(self, call: TierCall, lease: TierLease) -> int | None:
        with self.lock:
            holder, token, end = self.leases.get(lease.name, ("", 0, 0.0))
            if time.monotonic() < end and holder != lease.holder:
                return None
            token = self.tokens[lease.name] = self.tokens.get(lease.name, 0) + 1
            self.leases[lease.name] = (lease.holder, token, time.monotonic() + lease.ttl)
            return token

    def keep(self, call: TierCall, lease: TierLease) -> bool:
        with self.lock:
            if not self.holds(lease):
                return False
            self.leases[lease.name] = (lease.holder, self.tokens[lease.name], time.monotonic() + lease.ttl)
            return True

    def release(self, call: TierCall, lease: TierLease) -> bool:
        with self.lock:
            held = self.holds(lease)
            if held:
                del self.leases[lease.name]
            return held

    def walk(self, call: TierCall, cursor: str) -> tuple[Iterable[str], str | None]:
        """Two heads at a time."""
        heads = sorted(path for path in self.stored if path.startswith("head/") and path > cursor)
        return [path.split("/")[1] for path in heads[:2]], heads[1] if len(heads) > 2 else None

    def statistics(self, call: TierCall) -> Mapping[str, int]:
        return {"objects": len(self.stored)}

    def close(self) -> None:
        self.closed += 1


class Failing(DictTier):  # type: ignore[misc]
    """Each call does what it is told to."""

    name = "failing://"
    timeout = 0.3

    def __init__(self, fail: Callable[[], object]) -> None:
        super().__init__()
        self.fail = fail
        self.asked = 0

    def list(self, call: TierCall, key: str) -> Iterable[TierObject]:
        self.asked += 1
        self.fail()
        found: Iterable[TierObject] = super().list(call, key)
        return found

    def publish(self, call: TierCall, objects: Sequence[TierObject]) -> None:
        self.fail()
        super().publish(call, objects)


def hit(found: Hit | Miss | Compiled) -> Hit:
    assert isinstance(found, Hit)
    return found


def miss(found: Hit | Miss) -> Miss:
    assert isinstance(found, Miss)
    return found


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Callable[..., Cache]]:
    """Makes caches of hosts that share what is given."""
    opened: list[Cache] = []

    def new(*shared: str | Tier, **options: Any) -> Cache:
        opened.append(Cache(tmp_path / f"host{len(opened)}", tiers=shared, **options))
        return opened[-1]

    yield new
    for cache in opened:
        cache.close()


@pytest.mark.parametrize("check", tiers.CHECKS, ids=lambda check: str(check.__name__))
@pytest.mark.parametrize("kind", [DictTier, Whole])
def test_the_contract(kind: type[Tier], check: Callable[[Tier], None]) -> None:
    check(kind())


@pytest.mark.parametrize("kind", [DictTier, Whole])
def test_what_one_host_stores_another_finds(hosts: Callable[..., Cache], kind: type[Tier]) -> None:
    tier = kind()
    one, other = hosts(tier), hosts(tier)
    # Random bytes can't be compressed, so they don't lie beside the head.
    codes = {divisor: secrets.token_bytes(30000) for divisor in (8, 9)}
    for divisor in codes:
        one.insert(matmul(), codes[divisor], guards=[f"s0 % {divisor} == 0"], compile_ns=7)
    one.flush(timeout=30)
    found = hit(other.lookup(matmul(), {"s0": 48}))
    assert bytes(found.payload) == codes[8]
    assert (found.tier, found.compile_ns) == (tier.name, 7)
    # Once it is stored the directory has it, and the other variant comes from the tier.
    other.flush(timeout=30)
    assert hit(other.lookup(matmul(), {"s0": 48})).tier in ("local", "memory")
    assert hit(other.lookup(matmul(), {"s0": 27})).tier == tier.name
    (state,) = other.tiers()
    assert (state.name, state.read_only, state.left_alone) == (tier.name, False, False)
    assert (state.counts["asked"], state.counts["hits"], state.counts["misses"]) == (2, 2, 0)
    assert state.counts["bytes_received"] > 10000
    assert one.tiers()[0].counts["published"] == 2


def test_attachments_come_too(hosts: Callable[..., Cache], tmp_path: Path) -> None:
    tier = DictTier()
    one, other = hosts(tier), hosts(tier)
    one.insert(matmul(), b"x", attachments=[guardcache.Attachment("lib/k.so", b"binary" * 3000, executable=True)])
    one.flush(timeout=30)
    other.place(hit(other.lookup(matmul())), tmp_path / "placed")
    assert (tmp_path / "placed" / "lib" / "k.so").read_bytes() == b"binary" * 3000


def test_one_of_all_hosts_compiles(hosts: Callable[..., Cache]) -> None:
    tier = Whole()
    ran: list[int] = []

    def compile(number: int) -> Compiled:
        ran.append(number)
        time.sleep(0.3)
        return Compiled(b"machine code")

    def host(number: int, cache: Cache) -> None:
        found = cache.get_or_compile(matmul(), lambda: compile(number))
        assert bytes(found.payload) == b"machine code"

    threads = [threading.Thread(target=host, args=(number, hosts(tier))) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ran) == 1


def test_a_group_decides_alike(hosts: Callable[..., Cache]) -> None:
    tier = Whole()
    members = [hosts(tier) for _ in range(3)]
    # One of them has it already; which of them asks first doesn't matter.
    members[2].insert(matmul(), b"code 2")
    found: list[bytes] = [b""] * 3

    def member(number: int) -> None:
        got = members[number].get_or_compile(
            matmul(), lambda: Compiled(f"code {number}".encode()), group=("run 1", 3), lease_timeout=30
        )
        found[number] = bytes(got.payload)

    threads = [threading.Thread(target=member, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    with pytest.raises(ValueError, match="members"):
        members[0].begin(matmul(), group=("run 2", 0))
    with pytest.raises(TypeError):
        members[0].begin(matmul(), group="run 2")  # type: ignore[arg-type]


class OddError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def raising(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("fail", "reason", "message"),
    [
        (raising(ConnectionError("no route\nto host")), Reason.REMOTE_UNAVAILABLE, "ConnectionError: no route to host"),
        (raising(TimeoutError("it took too long")), Reason.REMOTE_TIMEOUT, "it took too long"),
        (raising(KeyError("é" * 300)), Reason.REMOTE_UNAVAILABLE, "KeyError: 'éé"),
        (raising(OddError()), Reason.REMOTE_UNAVAILABLE, "an exception that can't be shown"),
        (raising(ValueError()), Reason.REMOTE_UNAVAILABLE, "ValueError"),
        (lambda: time.sleep(0.5), Reason.REMOTE_TIMEOUT, "the answer came too late"),
    ],
)
def test_trouble_is_a_miss_in_its_own_words(
    hosts: Callable[..., Cache], fail: Callable[[], object], reason: Reason, message: str
) -> None:
    tier = Failing(fail)
    cache = hosts(tier)
    found = miss(cache.lookup(matmul()))
    assert (found.reason, found.local_reason) == (reason, Reason.NO_KEY)
    # It is left alone then.
    began = time.monotonic()
    assert miss(cache.lookup(matmul())).reason == Reason.REMOTE_UNAVAILABLE
    assert time.monotonic() - began < 0.25
    assert tier.asked == 1
    assert cache.tiers()[0].left_alone
    (answer,) = cache.ping()
    assert not answer
    assert answer.message.startswith(message)
    assert answer.reason == reason
    cache.insert(matmul(), b"x")
    with pytest.raises(guardcache.BusyError, match="1 on their way"):
        cache.flush(timeout=0.1)


def test_a_tier_recovers(hosts: Callable[..., Cache]) -> None:
    trouble = [True]

    def fail() -> None:
        if trouble:
            raise ConnectionError

    tier = Failing(fail)
    one, other = hosts(tier), hosts(tier)
    one.insert(matmul(), b"code")
    with pytest.raises(TimeoutError):
        one.flush()
    trouble.clear()
    one.flush(timeout=30)
    assert hit(other.lookup(matmul())).tier == "failing://"


@pytest.mark.parametrize(
    "answer",
    [
        None,
        7,
        ["text"],
        [("head", "", "", "text")],
        [("heads", "", "", b"")],
        [("head", "12", "", b"")],
        [("head", "", "1" * 65, b"")],
        [("head", "0" * 64)],
        [TierObject("head", "0" * 64, "ab", b"damaged")],
    ],
)
def test_nonsense_is_a_miss(hosts: Callable[..., Cache], answer: Any) -> None:
    class Nonsense(DictTier):  # type: ignore[misc]
        def list(self, call: TierCall, key: str) -> Any:
            return answer

    cache = hosts(Nonsense())
    assert not cache.lookup(matmul())
    assert not cache.lookup(matmul())


def test_ctrl_c_in_a_tier_is_the_programs(hosts: Callable[..., Cache]) -> None:
    cache = hosts(Failing(raising(KeyboardInterrupt())))
    with pytest.raises(KeyboardInterrupt):
        cache.lookup(matmul())


def test_a_read_only_tier_gets_nothing(hosts: Callable[..., Cache]) -> None:
    tier = DictTier()
    tier.read_only = True
    cache = hosts(tier)
    cache.insert(matmul(), b"code")
    cache.flush(timeout=5)
    assert tier.stored == {}
    assert cache.tiers()[0].read_only
    with pytest.raises(guardcache.ReadOnlyError):
        cache.sync(pull=False)


def test_ping_and_statistics(hosts: Callable[..., Cache]) -> None:
    plain, whole = hosts(DictTier(), Whole()).ping()
    assert plain
    assert whole
    assert (plain.name, plain.numbers) == ("dict://", {})
    assert (whole.name, whole.numbers, whole.message) == ("whole://", {"objects": 0}, "")
    assert 0 <= whole.seconds < 10


def test_sync(hosts: Callable[..., Cache]) -> None:
    tier = Whole()
    alone, other = hosts(), hosts(tier)
    assert alone.tiers() == alone.ping() == []
    with pytest.raises(guardcache.ArgumentError):
        alone.sync()
    for columns in range(5):
        other.insert(matmul(columns), b"code")
    other.flush(timeout=30)
    third = hosts(tier)
    third.insert(matmul(99), b"more")
    third.flush(timeout=30)
    seen: list[tuple[int, int]] = []
    done = third.sync(push=False, progress=lambda *progress: seen.append(progress))
    assert (done.pulled, done.pushed, done.present) == (5, 0, 1)
    assert seen[-1][0] == done.keys
    assert hit(third.lookup(matmul(3))).tier in ("local", "memory")
    tier.stored.clear()
    assert third.sync(pull=False).pushed == 6
    with pytest.raises(ZeroDivisionError):
        third.sync(progress=lambda *progress: 1 // 0)
    with pytest.raises(guardcache.ArgumentError, match="nothing to do"):
        third.sync(push=False, pull=False)
    with pytest.raises(guardcache.ArgumentError):
        third.sync("nowhere://")


def test_a_tier_is_closed_with_the_last_cache(tmp_path: Path) -> None:
    tier = Whole()
    one, other = (Cache(tmp_path / name, tiers=[tier]) for name in "ab")
    one.insert(matmul(), b"code")
    held = one.lookup(matmul())
    one.close()
    other.close()
    assert tier.closed == 0
    del held
    assert tier.closed == 1
    with pytest.raises(guardcache.ArgumentError):
        Cache(tmp_path / "c", tiers=[tier, "nowhere://"])
    assert tier.closed == 2
    with pytest.raises(TypeError):
        Cache(tmp_path / "c", tiers=[7])  # type: ignore[list-item]


def test_tiers_are_a_setting(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "redis://cache.example?ttl=60"
    monkeypatch.setenv("GUARDCACHE_TIERS", f"{url} redis://me:secret@other.example")
    assert guardcache.settings(directory)["tiers"] == f"{url} redis://me:secret@other.example"
    with guardcache.open(directory) as cache:
        assert [tier.name for tier in cache.tiers()] == [url, "redis://other.example"]
    with guardcache.open(directory, tiers=None) as cache:
        assert cache.tiers() == []
    with guardcache.open(directory, tiers=[url, DictTier()]) as cache:
        assert [tier.name for tier in cache.tiers()] == [url, "dict://"]


def test_a_pickled_cache_has_no_credentials(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Cache(
        directory, tiers=["redis://a.example", "redis://me:s3cret@b.example", DictTier()], namespace="n", strict=True
    ) as cache:
        cache.insert(matmul(), b"code")
        text = pickle.dumps(cache)
    assert b"s3cret" not in text
    with pytest.warns(UserWarning, match=r"without redis://b\.example"):
        restored = pickle.loads(text)
    with restored:
        assert bytes(hit(restored.lookup(matmul())).payload) == b"code"
        assert restored.directory == str(directory)
        assert [tier.name for tier in restored.tiers()] == ["redis://a.example"]
    monkeypatch.setenv("GUARDCACHE_TIERS", "redis://me:s3cret@b.example redis://a.example")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        restored = pickle.loads(text)
    with restored:
        assert [tier.name for tier in restored.tiers()] == ["redis://b.example", "redis://a.example"]
    with pytest.raises(ValueError, match="closed"):
        pickle.dumps(cache)


# ---- the end of a process ----

SCRIPT = """
import atexit, os, sys, threading, time
sys.path.insert(0, {tests!r})
from descriptions import matmul
from test_tier import DictTier
import guardcache

class File(DictTier):
    def publish(self, call, objects):
        time.sleep(0.2)
        with open({log!r}, "a") as log:
            log.write(f"{{len(objects)}}\\n")
        {then}

cache = guardcache.Cache({directory!r}, tiers=[File()], log=print)
"""


def run(script: str, tmp_path: Path, then: str = "pass") -> tuple[str, float]:
    """What reached the tier, and how long the process took from its last line on."""
    log = tmp_path / "published"
    tests = str(Path(__file__).parent)
    whole = SCRIPT.format(tests=tests, log=str(log), directory=str(tmp_path / "c"), then=then) + script
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
    return (log.read_text() if log.exists() else ""), time.monotonic() - began


@pytest.mark.parametrize("held", ["", "held = cache.lookup(matmul())", "begun = cache.begin(matmul(7))"])
def test_what_is_on_its_way_arrives_before_the_process_ends(tmp_path: Path, held: str) -> None:
    said, _ = run(f"cache.insert(matmul(), b'x')\n{held}\n", tmp_path)
    assert said.count("\n") == 1


@pytest.mark.parametrize("held", ["", "held = cache.lookup(matmul())"])
def test_a_tier_that_hangs_doesnt_hang_the_end(tmp_path: Path, held: str) -> None:
    script = f"cache.insert(matmul(), b'x')\n{held}\n"
    said, seconds = run(script, tmp_path, then="threading.Event().wait()")
    assert said.count("\n") == 1
    assert seconds < 30


def test_threads_that_look_up_while_the_process_ends(tmp_path: Path) -> None:
    script = """
def forever():
    for number in range(10 ** 9):
        try:
            cache.lookup(matmul(number))
        except ValueError:
            return
for _ in range(4):
    threading.Thread(target=forever, daemon=True).start()
cache.insert(matmul(), b"x")
time.sleep(0.3)
"""
    said, _ = run(script, tmp_path)
    assert said.count("\n") == 1


def test_a_forked_child_goes_on(tmp_path: Path) -> None:
    script = """
cache.insert(matmul(), b"x")
child = os.fork()
cache.insert(matmul(5 if child else 6), b"x")
if child == 0:
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    said, _ = run(script, tmp_path)
    assert said.count("\n") == 3
