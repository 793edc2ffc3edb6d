"""PyTorch's own cache tests, without and with guardcache: which of them come out differently.

    python upstream.py --source DIRECTORY              a checkout of the PyTorch that is installed, or its folder test
    python upstream.py --source DIRECTORY --only TEXT  the tests whose names pytest's -k finds
    python upstream.py --source DIRECTORY --keep DIR   what each test said is kept there

Each file runs twice, in processes and directories of their own: as it is, and with the adapter installed anew in each
directory that `fresh_cache()` makes (`upstream_plugin.py`). Exit status 1 if a test comes out differently for a reason
that isn't in `EXPECTED`, or if guardcache was never asked; 77 if there is no PyTorch, or no source. Without `--source`,
the variable GUARDCACHE_PYTORCH_SOURCE says where it is.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FILES = ("inductor/test_codecache.py", "dynamo/test_aot_autograd_cache.py")
PLAIN, OURS = "plain", "guardcache"

# Tests, by a pattern of their names, that may come out differently, and why. docs/pytorch.md says it in full.
EXPECTED: dict[str, str] = {}

# What pytest ends with when it ran what it was asked for: all passed, some failed, nothing was left to run.
RAN = (0, 1, 5)


class BrokenError(Exception):
    """The tests couldn't be run."""


@dataclass
class Run:
    """One file, run one way."""

    outcomes: dict[str, str] = field(default_factory=dict)
    """By the test's name: passed, failed, skipped, error, hung or died."""
    said: dict[str, str] = field(default_factory=dict)
    """What a test that didn't pass ended with."""
    asked: dict[str, int] = field(default_factory=dict)
    """How often a test hit or stored in guardcache."""
    hits: int = 0
    stored: int = 0


@dataclass(frozen=True)
class Difference:
    name: str
    plain: str
    ours: str
    said: str = ""
    reason: str = ""
    """Why it is expected; empty where it isn't."""


def differences(plain: Run, ours: Run, expected: dict[str, str]) -> list[Difference]:
    """The tests that came out differently; one that ran only one way is among them."""
    found = []
    for name in sorted(plain.outcomes.keys() | ours.outcomes.keys()):
        before, after = plain.outcomes.get(name, "absent"), ours.outcomes.get(name, "absent")
        if before != after:
            said = ours.said.get(name) or plain.said.get(name, "")
            found.append(Difference(name, before, after, said, reason_of(name, expected)))
    return found


def reason_of(name: str, expected: dict[str, str]) -> str:
    return next((reason for pattern, reason in expected.items() if fnmatch.fnmatchcase(name, pattern)), "")


def complaints(plain: Run, ours: Run, expected: dict[str, str]) -> list[str]:
    """What makes this driver fail."""
    found = [
        f"{each.name}: {each.plain} without, {each.ours} with guardcache"
        for each in differences(plain, ours, expected)
        if not each.reason
    ]
    if not plain.outcomes:
        found.append("no test was run")
    elif not ours.hits or not ours.stored:
        found.append(f"guardcache wasn't in use: {ours.hits} hits, {ours.stored} stored")
    return found


def read_results(path: Path, run: Run) -> str:
    """What a process told of its tests, line by line; returns the one that it had begun and not ended."""
    begun = ""
    for line in path.read_text().splitlines() if path.exists() else ():
        told: dict[str, Any] = json.loads(line)
        if "begun" in told:
            begun = told["begun"]
        elif "ended" in told:
            begun = ""
            run.outcomes[told["ended"]] = told["outcome"]
            run.said[told["ended"]] = told["said"]
            run.asked[told["ended"]] = told["asked"]
            run.hits, run.stored = run.hits + told["hits"], run.stored + told["stored"]
    return begun


class Driver:
    """Runs one file one way, going on behind a test that hangs or takes its process along."""

    def __init__(self, python: str, file: Path, way: str, directory: Path, only: str, timeout: float) -> None:
        self.python, self.file, self.way = python, file, way
        self.directory, self.only, self.timeout = directory, only, timeout
        directory.mkdir(parents=True, exist_ok=True)
        self.run = Run()
        self.rounds = 0

    def all(self) -> Run:
        while not self._once():
            pass
        return self.run

    def _once(self) -> bool:
        """Whether there is nothing left to run."""
        self.rounds += 1
        results = self.directory / f"{self.way}-{self.file.stem}-{self.rounds}.jsonl"
        log = results.with_suffix(".log")
        status = self._process(results, log)
        known = len(self.run.outcomes)
        begun = read_results(results, self.run)
        if begun:
            self.run.outcomes[begun] = "hung" if status is None else "died"
        elif status in RAN:
            return True
        if len(self.run.outcomes) == known:
            raise BrokenError(f"{self.file.name} can't be run, status {status}:\n{log.read_text()[-3000:]}")
        return False

    def _process(self, results: Path, log: Path) -> int | None:
        """Its exit status; None if one test took too long."""
        done = self.directory / "done.json"
        done.write_text(json.dumps(sorted(self.run.outcomes)))
        with log.open("w") as output:
            process = subprocess.Popen(
                self._command(),
                cwd=self.file.parent,
                env=self._environment(results, done),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                return self._watch(process, results)
            finally:
                _end(process)

    def _watch(self, process: subprocess.Popen[bytes], results: Path) -> int | None:
        size, since = -1, time.monotonic()
        while process.poll() is None:
            time.sleep(0.2)
            now = results.stat().st_size if results.exists() else 0
            if now != size:
                size, since = now, time.monotonic()
            elif time.monotonic() - since > self.timeout:
                return None
        return process.returncode

    def _command(self) -> list[str]:
        # What a checkout tells pytest is about PyTorch's own machines.
        options = ["-q", "-p", "upstream_plugin", "-p", "no:cacheprovider", "-c", os.devnull, "--noconftest"]
        options += ["--rootdir", str(self.file.parent), "-W", "ignore", "--tb=short"]
        return [self.python, "-m", "pytest", *options, *(["-k", self.only] if self.only else []), str(self.file)]

    def _environment(self, results: Path, done: Path) -> dict[str, str]:
        ours = ("GUARDCACHE", "TORCHINDUCTOR")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        return kept | {
            "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "TORCHINDUCTOR_CACHE_DIR": str(self.directory / f"{self.way}-inductor"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "UPSTREAM_WAY": self.way,
            "UPSTREAM_RESULTS": str(results),
            "UPSTREAM_DONE": str(done),
            "UPSTREAM_CACHE": str(self.directory / "guardcache"),
        }


def _end(process: subprocess.Popen[bytes]) -> None:
    """With what it started, all of which is in its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def report(name: str, plain: Run, ours: Run) -> list[str]:
    """Prints what came of a file; returns the complaints."""
    found = differences(plain, ours, EXPECTED)
    alike = Counter(plain.outcomes[test] for test in plain.outcomes if plain.outcomes[test] == ours.outcomes.get(test))
    told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(alike.items()))
    print(f"== {name}: {len(plain.outcomes)} tests; alike: {told or 'none'}; {len(found)} differ")
    used = sum(1 for count in ours.asked.values() if count)
    print(f"   guardcache: {ours.hits} hits, {ours.stored} stored, in use in {used} tests")
    for each in found:
        print(f"   {each.name}: {each.plain} without, {each.ours} with guardcache")
        print(f"      {each.reason or each.said or 'no reason known'}")
    return [f"{name}: {complaint}" for complaint in complaints(plain, ours, EXPECTED)]


def file_in(source: Path, name: str) -> Path | None:
    return next((path for path in (source / "test" / name, source / name) if path.is_file()), None)


def usable_python() -> str | None:
    """An interpreter that has PyTorch, pytest and guardcache: this one, or that of the live tests."""
    of_live_tests = HERE.parent.parent / "build" / "venv" / "bin" / "python"
    for python in (sys.executable, str(of_live_tests)):
        command = [python, "-c", "import torch, pytest, numpy, guardcache.torch; print(torch.__version__)"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError:
            continue
        if done.returncode == 0:
            print(f"PyTorch {done.stdout.split()[-1]}", flush=True)
            return python
    return None


def run_file(python: str, file: Path, directory: Path, only: str, timeout: float) -> tuple[Run, Run]:
    plain, ours = (Driver(python, file, way, directory, only, timeout).all() for way in (PLAIN, OURS))
    return plain, ours


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default=os.environ.get("GUARDCACHE_PYTORCH_SOURCE"))
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--keep", metavar="DIRECTORY")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one test")
    wanted = parser.parse_args()
    if not wanted.source:
        print("skipped: no source of PyTorch's tests (--source, GUARDCACHE_PYTORCH_SOURCE)")
        sys.exit(77)
    files = {name: file for name in FILES if (file := file_in(Path(wanted.source).resolve(), name))}
    python = usable_python()
    if not files or python is None:
        print("skipped: " + ("PyTorch, pytest or guardcache isn't installed" if files else "no such tests there"))
        sys.exit(77)
    problems = []
    with tempfile.TemporaryDirectory(prefix="guardcache-upstream-") as made:
        directory = Path(wanted.keep or made).resolve()
        for name, file in files.items():
            problems += report(name, *run_file(python, file, directory, wanted.only, wanted.timeout))
    for problem in problems:
        print(f"NOT EXPECTED: {problem}")
    print(f"{len(files)} of {len(FILES)} files run, {len(problems)} unexpected")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
