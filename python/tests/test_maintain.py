"""Verification, repair, collection, doctor; entries looked at one by one; settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from descriptions import matmul

import guardcache
from guardcache import Cache, Graph, Reason, Rules


def test_verify_and_repair(directory: Path) -> None:
    with guardcache.open(directory, compression_level=-1) as cache:
        cache.insert(matmul(1), bytes(40_000))
        cache.insert(matmul(2), bytes(40_000))
    seen: list[tuple[int, int]] = []
    with guardcache.open(directory) as cache:
        assert cache.verify(threads=2, progress=lambda done, total: seen.append((done, total)))
        assert seen[-1][0] > 0
        victim = max((directory / "entries").rglob("*"), key=lambda path: path.stat().st_size * path.is_file())
        content = bytearray(victim.read_bytes())
        content[len(content) // 2] ^= 1
        victim.write_bytes(content)
        damaged = cache.verify()
        assert not damaged
        assert damaged.problems
        repaired = cache.repair()
        assert (repaired.entries, repaired.lost) == (1, 1)
        assert repaired.problems
        assert cache.verify()


def test_what_progress_raises_ends_it(cache: Cache) -> None:
    cache.insert(matmul(), b"code")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.verify(progress=stop)
    assert cache.verify()


def test_gc_by_size_namespace_and_age(cache: Cache) -> None:
    for columns in range(1, 6):
        cache.insert(matmul(columns), bytes([columns]) * 10_000)
    told = cache.gc(dry_run=True, target_bytes=1)
    assert told.entries == 5
    assert len(told.victims) == 5
    assert len(list(cache.entries())) == 5
    collected = cache.gc(target_bytes=1)
    assert (collected.entries, {v.key for v in collected.victims}) == (5, {matmul(n).key for n in range(1, 6)})
    assert list(cache.entries()) == []
    missed = cache.lookup(matmul(1))
    assert not missed
    assert missed.reason is Reason.EVICTED


def test_gc_names_victims_of_a_namespace(directory: Path) -> None:
    with guardcache.open(directory, namespace="team") as cache:
        inserted = cache.insert(matmul(), b"code")
    with guardcache.open(directory) as cache:
        cache.insert(matmul(), b"code")
        victims = cache.gc(namespace="team").victims
        assert [(victim.key, victim.entry) for victim in victims] == [(inserted.key, inserted.entry)]
        assert victims[0].bytes > 0
        assert len(list(cache.entries())) == 1


def test_the_doctor(cache: Cache) -> None:
    facts = {fact.name: fact for fact in cache.doctor()}
    assert any(guardcache.__version__ in fact.value for fact in facts.values())
    assert all(fact.warning is None or fact.warning for fact in facts.values())


# ---- entries one by one ----


def test_shadowed_entries(cache: Cache) -> None:
    narrow = cache.insert(matmul(), b"narrow", guards=["s0 >= 8", "s0 <= 16"])
    wide = cache.insert(matmul(), b"wide", guards=["s0 >= 2"], priority=1)
    shadowed = list(cache.shadowed())
    assert [(entry.id, entry.shadowed_by) for entry in shadowed] == [(narrow.entry, wide.entry)]
    assert [entry.shadowed_by for entry in cache.entries()] == ["", ""]


def test_an_entry_by_its_id(cache: Cache) -> None:
    inserted = cache.insert(matmul(), b"code", guards=["s0 == 9"], deltas={"kernels": 3})
    found = cache.read_entry(inserted.key, inserted.entry)
    assert (bytes(found.payload), found.guards, found.deltas) == (b"code", ("s0 == 9",), {"kernels": 3})
    assert cache.counters()["hits"] == 0
    with pytest.raises(guardcache.NotFoundError):
        cache.read_entry(inserted.key, "0" * 32)


def test_an_insert_says_what_it_shadows(cache: Cache) -> None:
    first = cache.insert(matmul(), b"one")
    assert first.shadows == ""
    assert cache.insert(matmul(), b"two").shadows == first.entry


# ---- comparisons ----


def test_descriptions_are_compared(cache: Cache) -> None:
    first, second = matmul(4), matmul(8)
    cache.insert(first, b"code")
    compared = cache.compare(first.key, second)
    assert compared.differences >= 1
    assert "16, 8" in compared.text or "8" in compared.text
    data = cache.compare_data(first.key, second)
    assert data["equal"] is False
    assert data["components"]["inputs"] == "differs"
    assert guardcache.compare(first, second) == compared
    assert guardcache.compare_data(first, matmul(4))["equal"] is True
    assert guardcache.compare(first, matmul(4)) == ("", 0)
    assert guardcache.diff(first.canonical, second.canonical).differences == compared.differences
    with pytest.raises(guardcache.NotFoundError):
        cache.compare(first, "0" * 64)
    with pytest.raises(guardcache.CorruptError):
        guardcache.diff(b"x", first.canonical)
    many = guardcache.compare(matmul(4, a=1, b=2, c=3), matmul(4, a=9, b=9, c=9), max_items=1)
    assert many.differences == 3


# ---- rules ----


def test_rules_of_ones_own(tmp_path: Path) -> None:
    text = Rules.shipped("llvm-ir")
    assert text is not None
    assert {"fx", "llvm-ir", "stablehlo"} <= set(Rules.kinds())
    rules = Rules(text, "llvm-ir/rules.json")
    assert rules.name
    assert len(rules.hash) == 64
    assert {rule.kind for rule in rules.rules} >= {"bypass"}
    tested = rules.test()
    assert tested.examples > 0
    assert tested.problems == ()

    def module(rules: Rules | None, kind: str = "mycompiler/1") -> Graph:
        graph = Graph(kind, rules=rules)
        graph.component("module", "  %1 = inttoptr i64 94210245423104 to ptr\n")
        return graph

    assert module(None).key
    with pytest.raises(guardcache.BypassError):
        _ = module(rules).key
    assert Rules.of_kind("llvm-ir").hash == rules.hash
    with pytest.raises(ValueError, match="uses these rules"):
        rules.advise("{}")
    with pytest.raises(guardcache.ParseError):
        Rules("{", "broken.json")


def test_a_kinds_folder_is_read_without_being_loaded(tmp_path: Path) -> None:
    text = Rules.shipped("triton")
    assert text is not None
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "rules.json").write_text(text)
    rules = Rules.read_kind(tmp_path / "mine")
    assert rules.hash == Rules.load(tmp_path / "mine" / "rules.json").hash
    assert Rules.folder("mine") is None
    assert Rules.folder("triton") is None


# ---- settings ----


def test_settings_one_by_one(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guardcache.open(directory).close()
    guardcache.write_setting(directory, "max-size", "5 GiB")
    guardcache.write_setting(directory, "strict", "1", namespace="team")
    monkeypatch.setenv("GUARDCACHE_READ_ONLY", "1")
    settings = {setting.name: setting for setting in guardcache.setting_list(directory)}
    assert (settings["max-size"].value, settings["max-size"].origin) == ("5 GiB", "file")
    assert (settings["read-only"].value, settings["read-only"].origin) == ("1", "environment")
    assert settings["read-only"].variable == "GUARDCACHE_READ_ONLY"
    assert settings["strict"].origin == "default"
    assert guardcache.settings(directory) == {"max_size": 5 << 30, "read_only": True}
    guardcache.write_setting(directory, "max-size", None)
    assert "max-size" not in json.loads((directory / "config.json").read_text())
    with pytest.raises(guardcache.NotFoundError):
        guardcache.write_setting(directory, "max_size", "1")
    with pytest.raises(guardcache.ArgumentError):
        guardcache.write_setting(directory, "max-size", "much")


def test_every_reason_has_a_sentence() -> None:
    assert all(reason.text for reason in Reason if reason)
    assert Reason.GUARD_FALSE.text == "no candidate's guards hold for the hints"
