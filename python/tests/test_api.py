"""Every public function of the C library has its place in Python, or a reason why it has none."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest

import guardcache

TOP = Path(__file__).parents[2]

# C function -> what in Python calls it.
PLACES = {
    "gcache_artifacts_add": "Artifacts.add",
    "gcache_artifacts_begin": "Cache.artifacts",
    "gcache_artifacts_dirty": "Artifacts.dirty",
    "gcache_artifacts_end": "Artifacts.end",
    "gcache_artifacts_save": "Artifacts.save",
    "gcache_attachment_get": "Cache.attachment",
    "gcache_best_each": "Cache.all_best",
    "gcache_best_find": "Cache.find_best",
    "gcache_best_put": "Cache.put_best",
    "gcache_best_verdict_name": "Cache.find_best",
    "gcache_blob_get": "Cache.get_blob",
    "gcache_blob_put": "Cache.put_blob",
    "gcache_blobs_expire": "Cache.expire_blobs",
    "gcache_bundle_begin": "Cache.bundle",
    "gcache_bundle_end": "Cache.bundle",
    "gcache_close": "Cache.close",
    "gcache_compare": "Cache.compare",
    "gcache_compile_begin": "Cache.begin",
    "gcache_compile_end": "Compile.end",
    "gcache_compile_many": "Cache.compile_many",
    "gcache_counter_misses": "Cache.misses",
    "gcache_counter_read": "Cache.counters",
    "gcache_diff": "diff",
    "gcache_doctor": "Cache.doctor",
    "gcache_each_entry": "Cache.entries",
    "gcache_each_shadowed": "Cache.shadowed",
    "gcache_event_line": "Event.line",
    "gcache_event_name": "Event.kind",
    "gcache_explain": "Cache.explain",
    "gcache_export": "Cache.export",
    "gcache_export_show": "show_export",
    "gcache_fingerprint_clear": "Fingerprint.clear",
    "gcache_fingerprint_compare": "Fingerprint.compare",
    "gcache_fingerprint_each": "Fingerprint.lines",
    "gcache_fingerprint_fact": "Fingerprint.fact",
    "gcache_fingerprint_file": "Fingerprint.file",
    "gcache_fingerprint_hash": "Fingerprint.hash",
    "gcache_fingerprint_index_open": "Fingerprint.open_index",
    "gcache_fingerprint_index_save": "Fingerprint.save_index",
    "gcache_fingerprint_new": "Fingerprint",
    "gcache_fingerprint_preset": "Fingerprint.preset",
    "gcache_fingerprint_tree": "Fingerprint.tree",
    "gcache_fingerprint_value": "Graph.component",
    "gcache_fingerprint_write": "Fingerprint.write",
    "gcache_gc": "Cache.gc",
    "gcache_get_or_compile_with": "Cache.get_or_compile",
    "gcache_graph_canonical": "Graph.canonical",
    "gcache_graph_component": "Graph.component",
    "gcache_graph_components": "Graph.components",
    "gcache_graph_input_value": "Graph.input",
    "gcache_graph_key": "Graph.key",
    "gcache_graph_kind": "Graph.kind",
    "gcache_graph_kwarg": "Graph.node",
    "gcache_graph_line": "Graph.keyed",
    "gcache_graph_lines": "Graph.lines",
    "gcache_graph_new": "Graph",
    "gcache_graph_new_keyed": "Graph.keyed",
    "gcache_graph_node": "Graph.node",
    "gcache_graph_outputs": "Graph.output",
    "gcache_graph_read": "Graph.read",
    "gcache_graph_subgraph_begin": "Graph.subgraph",
    "gcache_graph_subgraph_end": "Graph.subgraph",
    "gcache_graph_symbols": "Graph.symbols",
    "gcache_graph_text": "Graph.text",
    "gcache_graph_text_names": "Graph.text_names",
    "gcache_graph_trace": "Graph.trace",
    "gcache_graph_use_rules": "Graph.use_rules",
    "gcache_graph_write": "Graph.write",
    "gcache_guards_compile": "Guards",
    "gcache_guards_eval": "Guards.evaluate",
    "gcache_guards_prepare": "Guards.prepare",
    "gcache_guards_show": "Guards.program",
    "gcache_handle_open": "Cache.__reduce__",
    "gcache_handle_save": "Cache.__reduce__",
    "gcache_import": "Cache.import_",
    "gcache_insert": "Cache.insert",
    "gcache_journal_each": "Cache.journal",
    "gcache_journal_explain": "Cache.explain_past",
    "gcache_journal_kind_name": "JournalEntry.kind",
    "gcache_key_from_hex": "Graph.keyed",
    "gcache_key_to_hex": "Graph.key",
    "gcache_kinds_folder": "Rules.folder",
    "gcache_kinds_load": "load_kinds",
    "gcache_kinds_path": "load_kinds",
    "gcache_kinds_read": "Rules.read_kind",
    "gcache_lookup_with": "Cache.lookup",
    "gcache_many_line": "Summary.line",
    "gcache_object_kind_name": "TierObject",
    "gcache_open": "Cache",
    "gcache_origin_name": "setting_list",
    "gcache_place": "Cache.place",
    "gcache_place_one": "Cache.place",
    "gcache_prepared_eval": "Prepared.holds",
    "gcache_read_entry": "Cache.read_entry",
    "gcache_reason_name": "Reason",
    "gcache_reason_text": "Reason.text",
    "gcache_remove": "Cache.remove",
    "gcache_repair": "Cache.repair",
    "gcache_report": "Cache.report",
    "gcache_rules_at": "Rules.rules",
    "gcache_rules_hash": "Rules.hash",
    "gcache_rules_kind": "Rules.kinds",
    "gcache_rules_name": "Rules.name",
    "gcache_rules_of_kind": "Rules.of_kind",
    "gcache_rules_read": "Rules",
    "gcache_rules_read_advice": "Rules.advise",
    "gcache_rules_shipped": "Rules.shipped",
    "gcache_rules_test": "Rules.test",
    "gcache_settings_apply": "settings",
    "gcache_settings_get": "setting_list",
    "gcache_settings_load": "settings",
    "gcache_settings_warning": "settings",
    "gcache_settings_write": "write_setting",
    "gcache_share_value": "Cache.share",
    "gcache_signing_key_make": "SigningKey.new",
    "gcache_signing_key_read": "SigningKey.read",
    "gcache_source_hash": "source_hash",
    "gcache_statistics_get": "Cache.statistics",
    "gcache_statistics_read": "Cache.statistics",
    "gcache_statistics_show": "Cache.show_statistics",
    "gcache_statistics_top": "Cache.top",
    "gcache_status_name": "Error",
    "gcache_subdirectory": "Cache.subdirectory",
    "gcache_tier_count_name": "Cache.tiers",
    "gcache_tiers_each": "Cache.tiers",
    "gcache_tiers_flush": "Cache.flush",
    "gcache_tiers_ping": "Cache.ping",
    "gcache_tiers_sync": "Cache.sync",
    "gcache_timings_each": "Cache.all_timings",
    "gcache_timings_get": "Cache.timings",
    "gcache_timings_put": "Cache.put_timings",
    "gcache_value_bool": "Value",
    "gcache_value_bytes": "Value",
    "gcache_value_enum": "Enum",
    "gcache_value_float": "Value",
    "gcache_value_int": "Value",
    "gcache_value_int_text": "Value",
    "gcache_value_json": "Json",
    "gcache_value_list": "Value",
    "gcache_value_map": "Value",
    "gcache_value_node": "Node",
    "gcache_value_null": "Value",
    "gcache_value_set": "Value",
    "gcache_value_symbolic": "Symbolic",
    "gcache_value_tensor": "Tensor",
    "gcache_value_text": "Value",
    "gcache_value_tuple": "Value",
    "gcache_verify": "Cache.verify",
    "gcache_version": "__version__",
}

FREED = "Python frees what nobody refers to any more"
SHORTER = "the same with fewer arguments"
TYPED = "Python's values have their types: Graph.input and Graph.call take any"
ENUM = "the enumeration's members have their names"
OWN_TESTS = "for the C library's own tests"

# C function -> why it has none.
NONE = {
    "gcache_best_found_clear": FREED,
    "gcache_best_verdict_text": "BestFound.why says more about the case",
    "gcache_fingerprint_free": FREED,
    "gcache_free": FREED,
    "gcache_get_or_compile": SHORTER,
    "gcache_graph_call": TYPED,
    "gcache_graph_free": FREED,
    "gcache_graph_input": TYPED,
    "gcache_graph_kwarg_bool": TYPED,
    "gcache_graph_kwarg_float": TYPED,
    "gcache_graph_kwarg_int": TYPED,
    "gcache_graph_kwarg_text": TYPED,
    "gcache_graph_output": TYPED,
    "gcache_guards_free": FREED,
    "gcache_lookup": SHORTER,
    "gcache_prepared_free": FREED,
    "gcache_result_clear": FREED,
    "gcache_rules_free": FREED,
    "gcache_settings_free": FREED,
    "gcache_settings_set": "options of Cache overrule settings",
    "gcache_signing_algorithm_name": ENUM,
    "gcache_signing_key_free": FREED,
    "gcache_statistics_free": FREED,
    "gcache_status_text": "classes of exceptions have their meaning",
    "gcache_tier_answer_name": "methods of Tier answer with Python's values",
    "gcache_tier_memory_fail": OWN_TESTS,
    "gcache_tier_memory_new": OWN_TESTS,
    "gcache_trust_name": ENUM,
}


def functions() -> set[str]:
    headers = "".join(path.read_text() for path in (TOP / "include/guardcache").glob("*.h"))
    return set(re.findall(r"GCACHE_API[^;(]*?\b(gcache_\w+)\(", headers))


def has(owner: Any, name: str) -> bool:
    return hasattr(owner, name) or name in getattr(owner, "__annotations__", {})


def test_the_headers_are_read() -> None:
    assert {"gcache_lookup_with", "gcache_graph_new", "gcache_version", "gcache_best_verdict_name"} <= functions()
    assert len(functions()) > 150


def test_every_function_is_listed() -> None:
    assert sorted(functions() - PLACES.keys() - NONE.keys()) == []
    assert sorted((PLACES.keys() | NONE.keys()) - functions()) == []
    assert sorted(PLACES.keys() & NONE.keys()) == []


@pytest.mark.parametrize("place", sorted(set(PLACES.values())))
def test_every_place_is_there(place: str) -> None:
    *outer, name = place.split(".")
    owner: Any = functools.reduce(getattr, outer, guardcache)
    assert has(owner, name)


def test_every_place_calls_its_function() -> None:
    source = "".join(path.read_text() for path in (TOP / "python/native").rglob("*.c"))
    assert [name for name in PLACES if not re.search(rf"\b{name}\b", source)] == []
