"""JAX's own cache tests, without and with guardcache: which of them come out differently.

    python jax_upstream.py --source DIRECTORY              a checkout of the JAX that is installed, or its folder tests
    python jax_upstream.py --source DIRECTORY --only TEXT  the tests whose names pytest's -k finds

Each file runs twice, in processes of its own: as it is, and with the adapter installed where a test makes a store of
its own (`jax_upstream_plugin.py`). Exit status 1 if a test comes out differently for a reason that isn't in `EXPECTED`,
or if guardcache was never asked; 77 if there is no source, or no JAX. Without `--source`, the variable
GUARDCACHE_JAX_SOURCE says where it is.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
FILES = ("compilation_cache_test.py", "cache_key_test.py", "lru_cache_test.py", "pgle_test.py")
TIMEOUT = 900

# Tests, by a pattern of their names, that may come out differently, and why.
_MOCKED = (
    "it lets a method of JAX's store fail, which isn't asked any more; test_jax_trouble.py has the same of guardcache"
)
EXPECTED = {
    "*.test_cache_read_warning": _MOCKED,
    "*.test_cache_write_warning": _MOCKED,
}


@dataclass
class Run:
    """One file, run one way."""

    outcomes: dict[str, str]
    asked: int = 0
    """How often guardcache was."""


def run(file: Path, ours: bool, only: str) -> Run:
    with tempfile.TemporaryDirectory(prefix="guardcache-upstream-") as made:
        results = Path(made) / "results.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--noconftest"]
        command += ["-W", "ignore", "--rootdir", made, f"--junitxml={results}", *(["-k", only] if only else [])]
        command += ["-p", "jax_upstream_plugin"] if ours else []
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GUARDCACHE", "JAX", "XLA"))}
        done = subprocess.run(
            [*command, str(file)],
            cwd=made,
            env=kept | {"PYTHONPATH": os.pathsep.join(filter(None, [str(HERE), kept.get("PYTHONPATH")]))},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        if not results.exists():
            raise RuntimeError(f"{file.name} can't be run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        used = re.search(r"guardcache: (\d+) hits, (\d+) misses", done.stdout)
        return Run(outcomes_of(results), int(used[1]) + int(used[2]) if used else 0)


def outcomes_of(results: Path) -> dict[str, str]:
    """By the test's name: passed, failed, error or skipped."""
    words = {"failure": "failed", "error": "error", "skipped": "skipped"}
    found = {}
    for case in ElementTree.parse(results).iter("testcase"):
        told = next((words[child.tag] for child in case if child.tag in words), "passed")
        found[f"{case.get('classname')}.{case.get('name')}"] = told
    return found


def reason_of(name: str) -> str:
    return next((reason for pattern, reason in EXPECTED.items() if fnmatch.fnmatchcase(name, pattern)), "")


def report(name: str, plain: Run, ours: Run) -> list[str]:
    """Prints what came of a file; returns what isn't expected."""
    names = sorted(plain.outcomes.keys() | ours.outcomes.keys())
    pairs = {test: (plain.outcomes.get(test, "absent"), ours.outcomes.get(test, "absent")) for test in names}
    alike = Counter(before for before, after in pairs.values() if before == after)
    different = {test: pair for test, pair in pairs.items() if pair[0] != pair[1]}
    told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(alike.items()))
    print(f"== {name}: {len(pairs)} tests; alike: {told or 'none'}; {len(different)} differ; asked {ours.asked} times")
    for test, (before, after) in different.items():
        print(f"   {test}: {before} without, {after} with guardcache\n      {reason_of(test) or 'no reason known'}")
    return [test for test in different if not reason_of(test)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default=os.environ.get("GUARDCACHE_JAX_SOURCE"))
    parser.add_argument("--only", default="", metavar="TEXT")
    wanted = parser.parse_args()
    source = Path(wanted.source).resolve() if wanted.source else None
    if source is None or importlib.util.find_spec("jax") is None:
        print("skipped: no source of JAX's tests (--source, GUARDCACHE_JAX_SOURCE), or no JAX")
        sys.exit(77)
    places = [next(filter(Path.is_file, (source / "tests" / name, source / name)), None) for name in FILES]
    files = [place for place in places if place is not None]
    unexpected, asked = [], 0
    for file in files:
        plain, ours = (run(file, way, wanted.only) for way in (False, True))
        unexpected += report(file.name, plain, ours)
        asked += ours.asked
    for test in unexpected:
        print(f"NOT EXPECTED: {test}")
    print(f"{len(files)} of {len(FILES)} files run, {len(unexpected)} unexpected")
    sys.exit(1 if unexpected or not asked else 0)


if __name__ == "__main__":
    main()
