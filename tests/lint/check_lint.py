"""Each check of the tree finds what it is there for: small trees with one fault each, and one without."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import tree

TABLE = """
| folder | room | may use | third-party headers |
| --- | --- | --- | --- |
| `include/guardcache` | public | - | - |
| `src/base` | ground | `include` | `xxhash.h` |
| `guards` | language | `include` `src/base` | `gmp.h` |
| `src/graph` | key | `include` `src/base` `guards` | `pcre2.h` |
| `src/store` | disk | `include` `src/base` | `sqlite3.h` |
| `src/cache` | all | `include` `src/base` `guards` `src/graph` `src/store` | - |
| `src/cli` | command | `include` `src/base` | - |
| `tests` | everything | all | `cmocka.h` |
"""
CALLS = "/* It is %s. */\nvoid\ngci_%s(void)\n{\n    gci_%s();\n}\n"
STEPS = "/* Steps. */\n" + "".join(f"    value = step_{number}(value);\n" for number in range(12))
TYPE = "/* A type. */\nstruct gci_type {\n    int member;\n};\n"
FUNCTION = "int\nlong_one(void)\n{\n" + "    step();\n" * 80 + "}\n"
SHORT = "int\nshort_one(void)\n{\n    return 0;\n}\n"

STRUCT = "#include <stddef.h>\ntypedef struct gcache_a {\n    int b;\n} gcache_a;\n"
ACT = "GCACHE_API gcache_status gcache_act(void);\n"

COUNTS = {"I": 23, "A": 10, "J": 14, "N": 7, "X": 14, "E": 8, "C": 10, "F": 8, "Y": 7}
ROWS = [f"{letter}{number}" for letter, count in COUNTS.items() for number in range(1, count + 1)]
FEATURES = "".join(f"| {row} | what | how | open: nothing of it is here |\n" for row in ROWS)
I1 = "| I1 | what | how | "
OPEN = I1 + "open: nothing of it is here |"


def proved_by(proof: str) -> str:
    """The table with one proof in it."""
    return FEATURES.replace(OPEN, f"{I1}{proof} |")


# A build of which only the list of tests is there, and programs that say which cases they run.
TESTS = """[
 {"name": "a", "cmd": ["tests/test_cache_a"]},
 {"name": "canon", "cmd": ["tests/test_graph_canon"]},
 {"name": "played", "cmd": ["guardcache", "replay", "../fixtures/traces/mlp"]},
 {"name": "page", "cmd": ["python3", "../tests/cli/run.py", "../tests/cli/page.sh"]}
]"""
PROGRAM = "#!/bin/sh\necho case runs\n# echo case commented_out\n"
SKIPPED_CASE = "import pytest\n\n\n@pytest.mark.skip\ndef test_a():\n    pass\n\n\n# def test_b():\n"

# check, file, its content, what must be said about it
FAULTS = [
    ("layers", "src/base/a.c", '#include "store/b.h"\n', "src/base may not use src/store"),
    ("layers", "src/base/a.c", "#include <sqlite3.h>\n", "src/base may not use <sqlite3.h>"),
    ("layers", "src/base/a.c", "#include <curl/curl.h>\n", "src/base may not use <curl/curl.h>"),
    ("layers", "src/cli/a.c", '#include "cache/lookup.h"\n', "src/cli may not use src/cache"),
    ("layers", "src/nowhere/a.c", SHORT, "its folder is not in the table"),
    ("layers", "src/README.md", TABLE.replace("`include` |", "`include` `src/cli` |", 1), "which stands below it"),
    ("layers", "src/README.md", TABLE.replace("`src/base` `guards` |", "`src/attic` |"), "which has no row"),
    ("banned", "src/base/a.c", "    sprintf(text, format);\n", "sprintf"),
    ("banned", "src/store/a.c", "    value = getenv(name);\n", "getenv"),
    ("banned", "guards/a.c", '    printf("x");\n', "printf"),
    ("sizes", "src/base/a.c", FUNCTION, "long_one has"),
    ("sizes", "src/base/a.c", SHORT + "/* */\n" * 1001, "more than 1000"),
    ("listed", "tests/unit/base/test_a.c", SHORT, "not listed"),
    ("listed", "tests/cli/a.sh", "true\n", "not listed"),
    ("rooms", "src/base/b.c", CALLS % ("b", "b", "good"), "circles of files"),
    ("rooms", "src/store/b.c", CALLS % ("b", "b", "good"), "circles of folders"),
    ("rooms", "src/store/good.h", "/* Another one. */\n", "file names with two meanings: good"),
    ("rooms", "src/store/b.h", TYPE, "type names with two meanings: gci_type"),
    ("rooms", "src/base/a.c", SHORT, "src/base/a.c: no opening comment"),
    ("rooms", "src/store/b.c", STEPS, "stands again at"),
    ("marks", "src/base/a.c", "/* TO" + "DO */\n", "a left-over mark"),
    ("marks", "docs/a.md", "see /ro" + "ot/a\n", "a path of one machine"),
    ("marks", "src/base/a.c", SHORT + " \n", "white space"),
    ("links", "docs/a.md", "[a](../src/gone.c)\n", "../src/gone.c isn't there"),
    ("links", "docs/a.md", "[a](../src/README.md#gone)\n", "has no heading gone"),
    ("features", "docs/features.md", FEATURES.replace(OPEN, ""), "no row I1"),
    ("features", "docs/features.md", proved_by("open: no"), "open without a reason"),
    ("features", "docs/features.md", proved_by("lint/check_lint"), "no test runs lint/check_lint"),
    ("features", "docs/features.md", proved_by("cache/test_b: runs"), "no test runs test_cache_b"),
    ("features", "docs/features.md", proved_by("cache/test_a"), "names no case"),
    ("features", "docs/features.md", proved_by("cache/test_a: runs, walks"), "runs no case walks"),
    ("features", "docs/features.md", proved_by("cache/test_a: commented_out"), "runs no case commented_out"),
    ("features", "docs/features.md", proved_by("traces/test"), "no test runs traces/test"),
    ("features", "docs/features.md", proved_by("traces/*"), "names no test"),
    ("features", "docs/features.md", proved_by("cli/other"), "no test runs cli/other"),
    ("features", "docs/features.md", proved_by("canon: one, two"), "runs no case two"),
    ("features", "docs/features.md", proved_by("python/test_p: test_a"), "runs no case test_a"),
    ("features", "docs/features.md", proved_by("python/test_p: test_b"), "runs no case test_b"),
    ("features", "docs/features.md", FEATURES.replace(OPEN, OPEN + "\n| | more | | |"), "'' names no test"),
    ("features", "../shared/FEATURES.md", "| I1 | what and more |\n", "where the list says 'what and more'"),
    ("statuses", "include/guardcache/a.h", f"/* Acts. */\n{ACT}", "gcache_act lists no status"),
    ("statuses", "include/guardcache/a.h", ACT, "gcache_act lists no status"),
    ("statuses", "include/guardcache/a.h", f"/* Acts. GCACHE_MISS. */\n{ACT}", "gcache_act lists MISS, and no test"),
    ("headers", "include/guardcache/a.h", "gcache_key key;\n", "does not compile alone"),
    ("headers", "include/guardcache/a.h", STRUCT, "gcache_a can't grow"),
    ("headers", "include/guardcache/a.h", STRUCT.replace("int b", "size_t size"), "has no GCACHE_A_INIT"),
]
GOOD = {
    "docs/features.md": proved_by("cache/test_a: runs; traces/mlp; cli/page; canon: one"),
    "build/meson-info/intro-tests.json": TESTS,
    "build/tests/test_cache_a": PROGRAM,
    "build/tests/test_graph_canon": "#!/bin/sh\necho case test_pairs\n",
    "fixtures/canon/pairs.jsonl": '{"name": "one"}\n',
    "python/tests/test_p.py": SKIPPED_CASE,
    "src/README.md": TABLE,
    "src/base/good.c": '/* Good. */\n#include <stdio.h>\n#include "base/good.h"\n' + SHORT,
    "src/base/calls.c": CALLS % ("good", "good", "b"),
    "src/base/steps.c": STEPS,
    "src/base/type.h": TYPE,
    "src/base/good.h": "/* sprintf( is only spoken of here */\nvoid long_name(void);\n",
    "src/cli/good.c": '/* The command. */\n#include <guardcache/good.h>\n#include "base/good.h"\n    value = getenv(name);\n'
    + SHORT,
    "include/guardcache/good.h": "/* Good. */\nint good(void);\n",
    "tests/unit/base/test_good.c": SHORT,
    "tests/unit/base/meson.build": "names = ['good']\n",
}


def check(name: str, files: dict[str, str]) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as outer:
        folder = f"{outer}/tree"
        for file, text in files.items():
            path = Path(os.path.normpath(Path(folder) / file))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755 if text.startswith("#!") else 0o644)
        script = Path(__file__).parent / f"check_{name}.py"
        result = subprocess.run([sys.executable, str(script), folder], capture_output=True, text=True, check=False)
        return result.returncode, result.stdout + result.stderr


def main() -> None:
    problems = []
    for name in sorted({fault[0] for fault in FAULTS}):
        status, output = check(name, GOOD)
        if status != 0:
            problems.append(f"{name} complains about a good tree: {output}")
    for name, file, text, expected in FAULTS:
        status, output = check(name, GOOD | {file: text})
        if status != 1 or expected not in output:
            problems.append(f"{name} does not find the fault in {file} ({expected}): {output}")
    tree.finish(problems, f"{len(FAULTS)} faults found")


main()
