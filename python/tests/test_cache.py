"""A cache directory."""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from descriptions import matmul

import guardcache
from guardcache import (
    Attachment,
    Cache,
    Compiled,
    Durability,
    Graph,
    Hit,
    Miss,
    Reason,
    SigningAlgorithm,
    SigningKey,
    Site,
    _native,
)

MULTIPLE_OF_8 = "s0 % 8 == 0"


def hit(found: Hit | Miss) -> Hit:
    assert isinstance(found, Hit)
    return found


def miss(found: Hit | Miss) -> Miss:
    assert isinstance(found, Miss)
    return found


def test_miss_insert_hit(cache: Cache) -> None:
    graph = matmul()
    assert miss(cache.lookup(graph, {"s0": 48})).reason == Reason.NO_KEY
    inserted = cache.insert(
        graph, b"machine code", guards=[MULTIPLE_OF_8], hints={"s0": 48}, compile_ns=7, metadata=b"m"
    )
    assert inserted
    assert not inserted.existed
    found = hit(cache.lookup(matmul(), {"s0": 16}))
    assert bytes(found.payload) == b"machine code"
    assert found.guards == (MULTIPLE_OF_8,)
    assert (found.entry, found.key) == (inserted.entry, graph.key)
    assert (found.compile_ns, found.metadata) == (7, b"m")
    assert miss(cache.lookup(graph, {"s0": 12})).reason == Reason.GUARD_FALSE


def test_hits_are_true_and_misses_false(cache: Cache) -> None:
    graph = matmul()
    assert not cache.lookup(graph)
    cache.insert(graph, b"x")
    assert cache.lookup(graph)


def test_another_process_finds_it(directory: Path) -> None:
    script = f"""
import guardcache, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from descriptions import matmul
with guardcache.open({str(directory)!r}) as cache:
    assert cache.insert(matmul(), b"from elsewhere", guards=["s0 <= 64"])
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    with guardcache.open(directory) as cache:
        assert bytes(hit(cache.lookup(matmul(), {"s0": 64})).payload) == b"from elsewhere"


def test_guards_that_do_not_hold_are_refused(cache: Cache) -> None:
    refused = cache.insert(matmul(), b"x", guards=[MULTIPLE_OF_8], hints={"s0": 12})
    assert not refused
    assert refused.reason == Reason.GUARD_FALSE
    assert refused.verdict.guard == 0
    raising = cache.insert(matmul(), b"x", guards=["1 // (s0 - 12) == 0"], hints={"s0": 12})
    assert (raising.reason, raising.verdict.exception) == (Reason.GUARD_ERROR, "ZeroDivisionError")
    assert list(cache.entries()) == []


def test_guards_that_are_no_guards(cache: Cache) -> None:
    with pytest.raises(guardcache.ParseError):
        cache.insert(matmul(), b"x", guards=["s0 %"])


def test_priority_and_variants(cache: Cache) -> None:
    graph = matmul()
    cache.insert(graph, b"plain")
    cache.insert(graph, b"tuned", variant="pgle", priority=1)
    assert bytes(hit(cache.lookup(graph)).payload) == b"tuned"
    assert bytes(hit(cache.lookup(graph, expect_variant="pgle")).payload) == b"tuned"
    assert miss(cache.lookup(graph, variant="other")).reason == Reason.VARIANT
    expected = hit(cache.lookup(graph, expect_variant="other"))
    assert "other" in expected.note


def test_requirements(cache: Cache) -> None:
    graph = matmul()
    cache.insert(graph, b"x", requirements={"libdevice": "abc"})
    assert miss(cache.lookup(graph)).reason == Reason.REQUIREMENT
    assert miss(cache.lookup(graph, provides={"libdevice": "abd"})).reason == Reason.REQUIREMENT
    assert cache.lookup(graph, provides={"libdevice": "abc", "more": "x"})


def test_equal_entries_are_stored_once(cache: Cache) -> None:
    graph = matmul()
    first = cache.insert(graph, b"took 5 ms", guards=["s0 > 1"], identity=b"same")
    again = cache.insert(graph, b"took 6 ms", guards=["s0 > 1"], identity=b"same")
    other = cache.insert(graph, b"took 6 ms", guards=["s0 > 1"], identity=b"another")
    assert (first.existed, again.existed, other.existed) == (False, True, False)
    assert again.entry == first.entry
    assert len(list(cache.entries())) == 2


def test_names(cache: Cache) -> None:
    cache.insert(matmul(), b"x", guards=["s0 <= 64"])
    other = guardcache.Graph("mycompiler/1")
    x = other.input("a", guardcache.Tensor("float32", ["s7", 16]))
    w = other.input("b", guardcache.Tensor("float32", [16, 4]))
    other.output(other.call("matmul", x, w, allow_tf32=False))
    other.component("options", {})
    assert miss(cache.lookup(other, {"s7": 3})).reason == Reason.NAMES
    found = hit(cache.lookup(other, {"s7": 3}, accept_renames=True))
    assert found.renamed
    assert found.renames == {"s0": "s7"}
    assert found.guards == ("s7 <= 64",)


def test_a_test_of_the_callers_own(cache: Cache) -> None:
    graph = matmul()
    for text in ("s0 == 1", "s0 == 2"):
        cache.insert(graph, text.encode(), guards=[text])
    asked: list[tuple[str, ...]] = []

    def wanted(guards: tuple[str, ...]) -> bool:
        asked.append(guards)
        return guards == ("s0 == 1",)

    assert bytes(hit(cache.lookup(graph, guard_test=wanted)).payload) == b"s0 == 1"
    assert set(asked) == {("s0 == 1",), ("s0 == 2",)}
    assert miss(cache.lookup(graph, guard_test=lambda guards: False)).reason == Reason.GUARD_FALSE


def test_a_test_that_raises(cache: Cache) -> None:
    graph = matmul()
    cache.insert(graph, b"x", guards=["s0 == 1"])

    def broken(guards: tuple[str, ...]) -> bool:
        raise LookupError("broken")

    with pytest.raises(LookupError, match="broken"):
        cache.lookup(graph, guard_test=broken)


# ---- payloads ----


def test_payloads_are_views_that_outlive_cache_and_entry(directory: Path) -> None:
    content = os.urandom(200_000)
    cache = guardcache.open(directory)
    graph = matmul()
    entry = cache.insert(graph, content)
    found = hit(cache.lookup(graph))
    view = found.payload
    assert view.readonly
    cache.remove(entry.key, entry.entry)
    cache.close()
    assert cache.closed
    del found, cache
    gc.collect()
    assert view == content
    assert view[1000:2000] == content[1000:2000]


def test_payloads_are_not_copied(cache: Cache) -> None:
    graph = matmul()
    cache.insert(graph, bytes(1_000_000))
    view = hit(cache.lookup(graph)).payload
    assert isinstance(view.obj, _native.Payload)
    assert memoryview(view.obj).nbytes == 1_000_000


def test_any_buffer_is_a_payload(cache: Cache) -> None:
    for i, payload in enumerate((b"abc", bytearray(b"abc"), memoryview(b"xabcx")[1:4], b"")):
        graph = matmul(number=i)
        cache.insert(graph, payload)
        assert bytes(hit(cache.lookup(graph)).payload) == bytes(payload)
    with pytest.raises(TypeError):
        cache.insert(matmul(), "text")  # type: ignore[arg-type]


def test_attachments(cache: Cache, tmp_path: Path) -> None:
    graph = matmul()
    library = os.urandom(50_000)
    cache.insert(
        graph,
        b"loads kernel.so",
        attachments=[Attachment("ab/kernel.so", library, True), Attachment("notes.txt", b"n")],
    )
    found = hit(cache.lookup(graph))
    assert found.attachments == ("ab/kernel.so", "notes.txt")
    cache.place(found, tmp_path / "there")
    placed = tmp_path / "there" / "ab" / "kernel.so"
    assert placed.read_bytes() == library
    assert os.access(placed, os.X_OK)
    assert not os.access(tmp_path / "there" / "notes.txt", os.X_OK)


def test_attachments_one_by_one(cache: Cache, directory: Path, tmp_path: Path) -> None:
    graph = matmul()
    kernel = os.urandom(50_000)
    cache.insert(graph, b"p", attachments=[Attachment("k/kernel.cubin", kernel), Attachment("notes.txt", b"n")])
    found = hit(cache.lookup(graph))
    assert cache.attachment(found, "k/kernel.cubin") == kernel
    assert cache.attachment(found, "notes.txt") == b"n"
    cache.place(found, tmp_path / "there", ["notes.txt"])
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["notes.txt"]
    for ask in (lambda: cache.attachment(found, "x"), lambda: cache.place(found, tmp_path, ["x"])):
        with pytest.raises(guardcache.ArgumentError, match="no attachment x"):
            ask()
    for path in (directory / "attachments").rglob("*"):
        if path.is_file() and path.stat().st_size == len(kernel):
            path.chmod(0o600)
            path.write_bytes(kernel[::-1])
    with pytest.raises(guardcache.CorruptError, match=r"kernel\.cubin is damaged"):
        cache.attachment(found, "k/kernel.cubin")
    assert not cache.lookup(graph)


# ---- the handle ----


def test_trust(directory: Path) -> None:
    with guardcache.Cache(directory) as cache:
        cache.insert(matmul(), b"x")
    for pool in directory.glob("entries/*/*.pool"):
        pool.chmod(0o666)
    with guardcache.Cache(directory) as cache:
        found = cache.lookup(matmul())
        assert not found
        assert found.reason == Reason.UNREADABLE
        assert "everybody may write to it (mode 666)" in found.note
    with pytest.raises(guardcache.UntrustedError, match="signatures must be required"):
        guardcache.Cache(directory, trust=guardcache.Trust.ANY)
    directory.chmod(0o770)
    with pytest.raises(guardcache.UntrustedError, match="may write to it"):
        guardcache.Cache(directory)
    guardcache.Cache(directory, trust=guardcache.Trust.GROUP).close()


def test_settings_that_cant_be_read_are_a_warning(directory: Path, tmp_path: Path) -> None:
    guardcache.Cache(directory).close()
    config = directory / "config.json"
    config.write_text('{"format": "guardcache-config/1", "settings": {"strict": "perhaps", "max-candidates": "7"}}')
    with pytest.warns(UserWarning, match="'perhaps' is no flag for strict"):
        assert guardcache.settings(directory) == {"max_candidates": 7}
    config.write_text('{"format": "guardc')
    with pytest.warns(UserWarning, match="its settings don't count"):
        guardcache.open(directory).close()


def test_settings_of_environment_and_file(directory: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert guardcache.settings(directory) == {}
    with guardcache.open(directory) as cache:
        cache.insert(matmul(), b"x")
    (directory / "config.json").write_text(
        '{"format": "guardcache-config/1", "settings": {"max-candidates": "7"},'
        ' "namespaces": {"b": {"durability": "full"}}}'
    )
    monkeypatch.setenv("GUARDCACHE_READ_ONLY", "1")
    monkeypatch.setenv("GUARDCACHE_MAX_SIZE", "1 GiB")
    monkeypatch.setenv("GUARDCACHE_MEMORY", "none")
    assert guardcache.settings(directory) == {
        "max_candidates": 7,
        "read_only": True,
        "max_size": 1 << 30,
        "memory_bytes": sys.maxsize,
    }
    with guardcache.open(directory) as cache, pytest.raises(guardcache.ReadOnlyError):
        cache.insert(matmul(), b"y")
    with guardcache.open(directory, read_only=False) as cache:
        assert cache.insert(matmul(), b"y")
    monkeypatch.setenv("GUARDCACHE_NAMESPACE", "b")
    assert guardcache.settings(directory)["durability"] == Durability.FULL
    with guardcache.open(directory) as cache:
        assert miss(cache.lookup(matmul())).reason == Reason.NO_KEY
    monkeypatch.setenv("GUARDCACHE_READ_ONLY", "perhaps")
    with pytest.raises(guardcache.ArgumentError, match="GUARDCACHE_READ_ONLY"):
        guardcache.open(directory)


def test_bypass_and_refresh(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with guardcache.open(directory) as cache:
        cache.insert(matmul(), b"x")
    with guardcache.open(directory, refresh=True) as cache:
        assert miss(cache.lookup(matmul())).reason == Reason.REFRESH
    monkeypatch.setenv("GUARDCACHE_BYPASS", "under repair")
    with guardcache.open(directory) as cache:
        assert miss(cache.lookup(matmul())).reason == Reason.BYPASS


def test_a_recorded_run_is_played(directory: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GUARDCACHE_RECORD", str(tmp_path / "trace"))
    with guardcache.open(directory) as cache:
        for size in (16, 12):
            cache.lookup(matmul(), {"s0": size})
            cache.insert(matmul(), b"x", guards=[f"s0 == {size}"])
            assert cache.lookup(matmul(), {"s0": size})
    command = [sys.executable, "-m", "guardcache"]
    done = subprocess.run([*command, "replay", str(tmp_path / "trace")], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) >= 6


def test_options(directory: Path) -> None:
    with guardcache.open(directory, durability=Durability.FULL, namespace="tests", compression_level=-1) as cache:
        cache.insert(matmul(), b"x")
    with guardcache.open(directory) as cache:
        assert miss(cache.lookup(matmul())).reason == Reason.NO_KEY
    with guardcache.open(directory, namespace="tests", read_only=True) as cache:
        assert cache.lookup(matmul())
        with pytest.raises(guardcache.ReadOnlyError):
            cache.insert(matmul(), b"y")
    with guardcache.open(directory, namespace="tests", disabled=True) as cache:
        assert miss(cache.lookup(matmul())).reason == Reason.DISABLED
        assert len(list(cache.entries())) == 1


def test_explanations_fit_their_columns(directory: Path) -> None:
    guards = ["2147483648*s0*s0 // 7 <= 274877906944 and s0 != 3 or s0 == 5"]
    with guardcache.open(directory, columns=40, color=True) as cache:
        cache.insert(matmul(), b"x", guards=guards)
        text = cache.explain(matmul(), {"s0": 100003})
    assert "\x1b[1;31mfalse\x1b[0m" in text
    plain = re.sub("\x1b\\[[0-9;]*m", "", text)
    assert max(map(len, plain.splitlines())) <= 40
    assert str(2147483648 * 100003 * 100003 // 7) in plain
    with guardcache.open(directory) as cache:
        assert "\x1b" not in cache.explain(matmul(), {"s0": 100003})


def test_closed(directory: Path) -> None:
    cache = guardcache.open(directory)
    cache.close()
    cache.close()
    with pytest.raises(ValueError, match="closed"):
        cache.lookup(matmul())
    with pytest.raises(ValueError, match="closed"):
        cache.verify()
    assert "closed" in repr(cache)


def test_a_place_that_cannot_be_a_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(guardcache.Error) as caught:
        guardcache.open(tmp_path / "file")
    assert isinstance(caught.value, (OSError, ValueError))
    full = tmp_path / "home"
    full.mkdir()
    (full / "thesis.txt").write_text("")
    with pytest.raises(guardcache.ArgumentError):
        guardcache.open(full)


def test_default_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GUARDCACHE_DIR", str(tmp_path / "named"))
    assert guardcache.default_directory() == str(tmp_path / "named")
    monkeypatch.delenv("GUARDCACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert guardcache.default_directory() == str(tmp_path / "guardcache")


def test_the_log_gets_lines(directory: Path) -> None:
    lines: list[str] = []
    with guardcache.open(directory, log=lines.append) as cache:
        cache.insert(matmul(), os.urandom(100_000))
    for path in directory.rglob("*"):
        if path.is_file() and path.stat().st_size > 50_000:
            damaged = bytearray(path.read_bytes())
            damaged[len(damaged) // 2] ^= 1
            path.write_bytes(bytes(damaged))
    with guardcache.open(directory, log=lines.append) as cache:
        assert miss(cache.lookup(matmul())).reason == Reason.CORRUPT
    assert lines


# ---- explain and look around ----


def test_explain(cache: Cache) -> None:
    graph = matmul(fast=True)
    cache.insert(graph, b"x", guards=[MULTIPLE_OF_8], label="train.py:88 forward")
    text = cache.explain(graph, {"s0": 12}, label="train.py:88 forward", sources={"s0": "x.size(0)"})
    assert text.startswith("miss: guard_false")
    assert "train.py:88 forward" in text
    assert "12 % 8" in text
    told = cache.explain_data(graph, {"s0": 12})
    assert (told["outcome"], told["reason"]) == ("miss", "guard_false")
    assert told["candidates"][0]["first_failing"] == 0
    other = cache.explain_data(matmul(fast=False), {"s0": 16})
    assert other["reason"] == "no_key"
    assert other["nearest"][0]["differs"][0]["path"] == "options.fast"


def test_entries(cache: Cache) -> None:
    graph = matmul()
    cache.insert(graph, b"12345", guards=["s0 > 1"], requirements={"a": "b"}, metadata=b"m", label="l", compile_ns=5)
    cache.insert(matmul(fast=True), b"1")
    (entry,) = cache.entries(graph.key)
    assert entry.key == graph.key
    assert (entry.guards, entry.requirements) == (("s0 > 1",), {"a": "b"})
    assert (entry.payload_size, entry.metadata, entry.label, entry.compile_ns) == (5, b"m", "l", 5)
    assert abs(entry.created_ns / 1e9 - time.time()) < 60
    assert len(list(cache.entries())) == 2
    cache.remove(entry.key, entry.id)
    assert len(list(cache.entries())) == 1
    assert miss(cache.lookup(graph, {"s0": 2})).reason == Reason.EVICTED
    with pytest.raises(guardcache.NotFoundError):
        cache.remove(entry.key, "0" * 32)


def test_verify(directory: Path) -> None:
    with guardcache.open(directory) as cache:
        for i in range(5):
            cache.insert(matmul(number=i), os.urandom(10_000))
        verified = cache.verify()
        assert verified
        assert (verified.keys, verified.entries) == (5, 5)
    for path in directory.rglob("*"):
        if path.is_file() and path.stat().st_size >= 10_000 and "entries" in path.parts:
            damaged = bytearray(path.read_bytes())
            damaged[5000] ^= 255
            path.write_bytes(bytes(damaged))
            break
    with guardcache.open(directory) as cache:
        verified = cache.verify()
        assert not verified
        assert verified.problems[0].problem


def test_export_and_import(directory: Path, tmp_path: Path) -> None:
    file = tmp_path / "all.gcx"
    ours, theirs = {"k1": b"our secret"}, {"k3": b"their secret"}
    with guardcache.open(directory, signing=ours, require_signature=True) as cache:
        cache.insert(matmul(number=1), b"one", label="train.py:1")
        cache.insert(matmul(number=2), b"two", requirements={"driver": "535"})
        assert cache.export(file, label="train.py").entries == 1
        written = cache.export(file)
        assert (written.entries, written.keys, written.left_out, written.reasons) == (2, 2, 0, ())
    with guardcache.open(tmp_path / "theirs", signing=theirs, require_signature=True) as cache:
        refused = cache.import_(file)
        assert (refused.entries, refused.left_out) == (0, 2)
        assert all("isn't one of ours" in reason for reason in refused.reasons)
        assert not cache.lookup(matmul(number=1))
    # Whoever holds their key among others signs nothing of it anew.
    with guardcache.open(tmp_path / "both", signing={**theirs, **ours}, require_signature=True) as cache:
        assert cache.import_(file).entries == 2
        assert cache.import_(file).existed == 2
    with guardcache.open(tmp_path / "both", signing=ours, require_signature=True) as cache:
        assert hit(cache.lookup(matmul(number=1))).payload == b"one"
    with guardcache.open(tmp_path / "there") as cache:
        read = cache.import_(file, provides={"driver": "550"})
        assert (read.entries, read.unmet) == (1, 1)
        assert "requires driver=535, here it is 550" in read.reasons[0]
    file.write_bytes(file.read_bytes()[:-1])
    with (
        guardcache.open(tmp_path / "empty") as cache,
        pytest.raises(guardcache.CorruptError, match="nothing was imported"),
    ):
        cache.import_(file)
    with pytest.raises(guardcache.ArgumentError, match="no key"):
        guardcache.open(tmp_path / "empty", require_signature=True)


def test_readers_hold_public_keys_only(directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private = SigningKey.new(tmp_path / "fleet.key", "fleet")
    public = SigningKey.read(tmp_path / "fleet.key.pub")
    assert (private.id, private.algorithm, public.secret) == ("fleet", SigningAlgorithm.ED25519, None)
    assert public.public_key == private.public_key
    assert private.secret is not None
    assert repr(private.secret) not in repr(private)
    stranger = SigningKey("fleet", bytes(32))
    with guardcache.open(directory, signing=[private], require_signature=True) as cache:
        cache.insert(matmul(number=1), b"one")
    with guardcache.open(directory, signing=[stranger]) as cache:
        cache.insert(matmul(number=2), b"forged")
    # By the environment, as the command and the adapters are told.
    monkeypatch.setenv("GUARDCACHE_SIGNING_KEYS", str(tmp_path / "fleet.key.pub"))
    monkeypatch.setenv("GUARDCACHE_REQUIRE_SIGNATURE", "1")
    assert guardcache.settings(directory) == {"signing": (public,), "require_signature": True}
    with guardcache.open(directory) as cache:
        assert hit(cache.lookup(matmul(number=1))).payload == b"one"
        assert not cache.lookup(matmul(number=2))
        with pytest.raises(guardcache.ReadOnlyError, match="none of our keys can sign"):
            cache.insert(matmul(number=3), b"three")
    monkeypatch.setenv("GUARDCACHE_SIGNING_KEYS", str(tmp_path / "nowhere.key"))
    with pytest.raises(guardcache.NotFoundError, match=r"nowhere\.key"):
        guardcache.open(directory)


def test_signing_keys_are_checked(tmp_path: Path) -> None:
    shared = SigningKey.new(tmp_path / "shared.key", algorithm=SigningAlgorithm.HMAC)
    assert (len(shared.id), shared.public_key) == (16, None)
    (tmp_path / "shared.key").chmod(0o644)
    with pytest.raises(guardcache.UntrustedError, match="a secret is in it"):
        SigningKey.read(tmp_path / "shared.key")
    with pytest.raises(ValueError, match="32 bytes"):
        guardcache.open(tmp_path / "cache", signing=[SigningKey("k", public_key=b"brief")])
    with pytest.raises(guardcache.ArgumentError, match="neither a seed nor a public key"):
        guardcache.open(tmp_path / "cache", signing=[SigningKey("k")])


def test_reasons_are_the_librarys() -> None:
    assert [str(reason) for reason in Reason] == ["", *(word for word, _ in _native.reasons())]


# ---- timings ----


def test_timings(cache: Cache) -> None:
    site = Site("cpu", "mm", "4x4", None, "highest")
    measured: list[int] = []

    def benchmark() -> list[float]:
        measured.append(1)
        return [0.5, float("inf")]

    assert cache.timings(site, ["a", "b"]) is None
    assert cache.timings(site, ["a", "b"], benchmark) == (0.5, float("inf"))
    assert cache.timings(site, ["b", "a"]) == (float("inf"), 0.5)
    assert cache.timings(site, ["a", "b", "c"]) is None
    assert cache.timings(site._replace(hint="8"), ["a", "b"]) is None
    assert len(measured) == 1
    with pytest.raises(ZeroDivisionError):
        cache.timings(site, ["c"], lambda: [1 / 0])
    with pytest.raises(ValueError, match="every choice"):
        cache.timings(site, ["c"], list)
    assert cache.timings(site, ["c"]) is None


def test_many_threads_on_one_handle(cache: Cache) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(50):
                graph = matmul(number=(number + i) % 10)
                if not cache.lookup(graph, {"s0": 8}):
                    cache.insert(graph, bytes([number]) * 5000, guards=[MULTIPLE_OF_8])
                found = hit(cache.lookup(graph, {"s0": 16}))
                assert len(set(bytes(found.payload))) == 1
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert cache.verify()


# ---- names inside texts ----


def numba(version: str) -> Graph:
    graph = Graph("llvm-ir")
    graph.component("module", f"define i32 @_ZN8__main__3addB{version}B38cE(i32 %a) {{\n  ret i32 %a\n}}\n")
    return graph


def test_names_inside_texts(cache: Cache) -> None:
    cache.insert(numba("2v3"), b"object")
    refused = cache.lookup(numba("3v17"))
    assert isinstance(refused, Miss)
    assert refused.reason is Reason.NAMES
    found = hit(cache.lookup(numba("3v17"), accept_renames=True))
    assert found.renamed
    assert found.renames == {"_ZN8__main__3addB2v3B38cE": "_ZN8__main__3addB3v17B38cE"}
    assert '"asked": "_ZN8__main__3addB3v17B38cE"' in json.dumps(cache.explain_data(numba("3v17")))

    renamed = cache.get_or_compile(numba("3v17"), lambda: pytest.fail("compiled"), accept_renames=True)
    assert isinstance(renamed, Hit)
    assert renamed.renamed
    assert isinstance(cache.get_or_compile(numba("3v17"), lambda: Compiled(b"own")), Compiled)
    assert hit(cache.lookup(numba("3v17"))).payload == b"own"
    assert hit(cache.lookup(numba("2v3"))).payload == b"object"
