"""What the headers list and what tests/unit/cache/test_statuses*.c bring about are the same statuses.

What is missing there needs a fault of the machine or a lock that is held, or stands in ELSEWHERE with the test that has it.

Arguments: the top of the tree.
"""

from __future__ import annotations

import re

import statuses
import tree

TESTS = "tests/unit/cache"
CASE = re.compile(r"\bX\((gcache_\w+), (\w+)\)")
# No memory, a failing call, a full disk, a lock that somebody holds for seconds.
FAULTS = {"ERROR_MEMORY", "ERROR_IO", "ERROR_NO_SPACE", "ERROR_BUSY"}
# Possible everywhere, listed only where there is more to say.
EVERYWHERE = {"ERROR_ARGUMENT", "ERROR_MEMORY"}
UNIT = "tests/unit"
# Or why it is nowhere.
ELSEWHERE = {
    "gcache_best_each ERROR_CORRUPT": "needs a tables.db that SQLite calls damaged",
    "gcache_compare ERROR_CORRUPT": "needs a stored description that is damaged and yet verifies",
    "gcache_export ERROR_LIMIT": "needs more than four billion things",
    "gcache_export_show ERROR_CORRUPT": "cache/test_artifacts.c",
    "gcache_graph_canonical ERROR_LIMIT": "graph/test_canon.c",
    "gcache_graph_components ERROR_LIMIT": "graph/test_canon.c",
    "gcache_graph_key ERROR_LIMIT": "graph/test_canon.c",
    "gcache_graph_lines ERROR_LIMIT": "graph/test_canon.c",
    "gcache_graph_symbols ERROR_LIMIT": "graph/test_canon.c",
    "gcache_graph_text_names ERROR_LIMIT": "graph/test_canon.c",
    "gcache_graph_trace ERROR_LIMIT": "graph/test_canon.c",
    "gcache_handle_open ERROR_FORMAT": "cache/test_share.c",
    "gcache_import REFUSED": "cache/test_import.c",
    "gcache_insert ERROR_FORMAT": "needs a key that a newer version has stored under: tests/cli/newer_format.sh",
    "gcache_lookup_with ERROR_READ_ONLY": "needs a file system that is mounted so",
    "gcache_kinds_load ERROR_LIMIT": "graph/test_rules.c",
    "gcache_kinds_read ERROR_LIMIT": "graph/test_rules.c",
    "gcache_open ERROR_FORMAT": "store/test_open.c",
    "gcache_open ERROR_READ_ONLY": "needs a file system that is mounted so",
    "gcache_place ERROR_LIMIT": "needs a stored name that no insert takes",
    "gcache_place_one ERROR_LIMIT": "needs a stored name that no insert takes",
    "gcache_place ERROR_READ_ONLY": "needs a file system that is mounted so",
    "gcache_place_one ERROR_READ_ONLY": "needs a file system that is mounted so",
    "gcache_read_entry ERROR_CORRUPT": "needs damage that only shows when its payload is read: tests/damage",
    "gcache_remove ERROR_FORMAT": "needs a key that a newer version has stored under: tests/cli/newer_format.sh",
    "gcache_rules_read ERROR_LIMIT": "graph/test_rules.c",
    "gcache_settings_write ERROR_FORMAT": "cache/test_config_file.c",
    "gcache_settings_write ERROR_LIMIT": "needs a config.json near its limit of size",
    "gcache_settings_write ERROR_READ_ONLY": "needs a file system that is mounted so",
    "gcache_signing_key_make ERROR_READ_ONLY": "needs a file system that is mounted so",
    "gcache_share_value ERROR_CORRUPT": "needs a value that is damaged while a follower waits",
    "gcache_share_value ERROR_READ_ONLY": "needs a leader that may not write, under strict",
    "gcache_timings_each ERROR_CORRUPT": "needs a tables.db that SQLite calls damaged",
}


def main() -> None:
    top = tree.root()
    groups = statuses.groups(top)
    listed = {function: words for functions, words in groups for function in functions}
    cases: dict[str, set[str]] = {}
    for test in (top / TESTS).glob("test_statuses*.c"):
        for function, status in CASE.findall(test.read_text()):
            cases.setdefault(function, set()).add(status)
    problems = [
        f"{function} lists no status"
        for function in sorted(statuses.functions(top))
        if not listed.get(function)
    ]
    for function, found in sorted(cases.items()):
        if function not in listed:
            problems.append(f"no header declares {function}")
        else:
            unlisted = sorted(found - listed[function] - EVERYWHERE)
            problems += [
                f"{function} returns {status}, which its comment doesn't list"
                for status in unlisted
            ]
    count = 0
    for functions, words in groups:
        reached = set().union(*(cases.get(function, set()) for function in functions))
        count += len(words & reached)
        for status in sorted(words - FAULTS - reached):
            place = ELSEWHERE.get(f"{functions[0]} {status}")
            if place is None:
                problems.append(
                    f"{functions[0]} lists {status}, and no test of statuses brings it about"
                )
            elif (
                not place.startswith("needs ")
                and f"GCACHE_{status}" not in (top / UNIT / place).read_text()
            ):
                problems.append(f"{functions[0]}: {place} has no {status}")
    tree.finish(
        problems,
        f"{count} statuses of {len(groups)} comments brought about, {len(ELSEWHERE)} elsewhere",
    )


main()
