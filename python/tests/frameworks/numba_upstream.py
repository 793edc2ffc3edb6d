"""numba's own tests of its cache, run against the adapter.

    python python/tests/frameworks/numba_upstream.py [-v] [NAME]...

They come with numba's wheel (numba.tests.test_caching). Each test gets a cache directory of its own and the adapter
installed, in the processes it starts, too. What they count is files in ``__pycache__``; here it is entries, by one
function in place of theirs. `DIFFERENT` are the tests that can't be passed, and why: each of them must fail, so that
the table stays true.
"""

from __future__ import annotations

import os
import sys
import tempfile
import unittest
from collections.abc import Iterator
from typing import Any

from numba.tests import test_caching

import guardcache.numba

_INDEX = "it reads numba's index files"

DIFFERENT = {
    "TestCache.test_nbi_reproducible_after_touch": _INDEX,
    "TestCache.test_recompile": "a global that was changed counts from the next compile on, not from recompile() on",
    "TestCacheFileCollision.test_file_location": _INDEX,
    "TestCacheFileCollision.test_no_collision": "it reads numba's log of files",
    "TestCacheWithCpuSetting.test_user_set_cpu_features": _INDEX,
    "TestCacheWithCpuSetting.test_user_set_cpu_name": _INDEX,
}


def tests(suite: Any) -> Iterator[unittest.TestCase]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests(test)
        else:
            yield test


def main() -> int:
    verbose, names = "-v" in sys.argv, [name for name in sys.argv[1:] if name != "-v"]
    os.environ["GUARDCACHE_NUMBA"] = "1"
    test_caching.BaseCacheTest.check_pycache = lambda self, n: None
    counted = {"passed": 0, "different": 0, "skipped": 0, "failed": 0}
    for test in tests(unittest.defaultTestLoader.loadTestsFromModule(test_caching)):
        name = test.id().removeprefix("numba.tests.test_caching.")
        if names and not any(part in name for part in names):
            continue
        with tempfile.TemporaryDirectory() as directory:
            os.environ["GUARDCACHE_DIR"] = directory
            guardcache.numba.install(directory)
            result = unittest.TestResult()
            test.run(result)
            guardcache.numba.uninstall()
        wrong = [text for _, text in (*result.failures, *result.errors)]
        outcome = "skipped" if result.skipped else "failed" if bool(wrong) != (name in DIFFERENT) else "passed"
        outcome = "different" if name in DIFFERENT and outcome == "passed" else outcome
        counted[outcome] += 1
        if verbose or outcome == "failed":
            print(f"{outcome}: {name}: {DIFFERENT.get(name, '')}")
            print("".join(wrong) if outcome == "failed" else "", end="")
    print(", ".join(f"{number} {outcome}" for outcome, number in counted.items()))
    return 1 if counted["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
