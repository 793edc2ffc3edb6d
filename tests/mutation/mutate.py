#!/usr/bin/env python3
"""Tries faults one by one in a copy of the tree: builds, runs the tests that should notice, then all, and tells who survived.

Called by scripts/mutate, which says how. A fault ends as one of

    killed         a test failed, or hung
    survived       every test passed
    not compiled   the compiler noticed
    no change      the object file is the same: the fault means nothing
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import faults

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lint"))
import tree  # noqa: E402

ROOMS = ("src", "guards")
COPIED = (
    "meson.build", "meson_options.txt", "include", "src", "guards", "tests", "fixtures", "python", "bench", "docs", "examples",
    "scripts", "README.md", "LICENSE",
)  # fmt: skip

# Which suites are likely to notice a fault in a folder, first to last; all others come afterwards.
FIRST = {
    "src/base": ["base", "graph"],
    "guards": ["guards", "docs"],
    "src/graph": ["graph", "forms"],
    "src/store": ["store"],
    "src/cache": ["cache", "stories"],
    "src/cli": ["cli"],
}
# The tree itself isn't what a fault changes; a browser takes longer than it tells.
LAST_NOT = ["lint", "browser"]
# A suite that takes this many times its own time hangs.
SLACK = 4
LEAST_SECONDS = 60


def copy_changed(source: Path, target: Path) -> None:
    """Files that are the same keep their times, so that a build goes on where it was; what is gone goes."""
    if source.is_symlink():
        if not target.is_symlink():
            target.symlink_to(os.readlink(source))
    elif source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        names = {path.name for path in source.iterdir() if path.name != "__pycache__"}
        for path in target.iterdir():
            if path.name not in names:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        for name in sorted(names):
            copy_changed(source / name, target / name)
    elif not target.is_file() or target.read_bytes() != source.read_bytes():
        shutil.copy(source, target)


class Copy:
    """The tree that faults are put into, with its build."""

    def __init__(self, source: Path, quick: bool) -> None:
        self.source, self.top, self.quick = source, source / "build-mutate/tree", quick
        self.build = self.top / "build"
        self.log = source / "build-mutate/log"
        self.seconds: dict[str, float] = {}

    def run(self, *command: str, seconds: float = 3600) -> int:
        """Its exit status, 124 if it took too long. Nothing it started goes on."""
        with self.log.open("w") as log:
            process = subprocess.Popen(command, cwd=self.top, stdout=log, stderr=log, start_new_session=True)
            try:
                return process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return 124

    def prepare(self) -> None:
        """What changed since the last time is copied, so that a build goes on where it was."""
        self.top.mkdir(parents=True, exist_ok=True)
        for name in COPIED:
            if (self.source / name).exists():
                copy_changed(self.source / name, self.top / name)
        if not (self.build / "build.ninja").is_file() and self.run("meson", "setup", str(self.build)) != 0:
            sys.exit(f"meson failed:\n{self.log.read_text()}")
        if self.run("ninja", "-C", str(self.build)) != 0:
            sys.exit(f"the tree doesn't build:\n{self.log.read_text()[-3000:]}")

    def test(self, arguments: list[str]) -> bool:
        """Whether the tests pass. The first time is without a fault, and says how long they take."""
        name = " ".join(arguments)
        known = self.seconds.get(name)
        started = time.monotonic()
        limit = max(SLACK * known, LEAST_SECONDS) if known else 3600
        status = self.run("meson", "test", "-C", str(self.build), "--no-rebuild", "--maxfail", "1", *arguments, seconds=limit)
        if known is None and status != 0:
            sys.exit(f"without a fault the tests fail: {name}\n{self.log.read_text()[-3000:]}")
        self.seconds.setdefault(name, time.monotonic() - started)
        return status == 0

    def stages(self, file: str) -> list[list[str]]:
        """Arguments of meson test: the suites that should notice, then all that are left unless it has to be quick."""
        room = next((room for room in FIRST if file.startswith(room + "/")), "")
        first = FIRST.get(room, [])
        rest = [word for suite in LAST_NOT + first for word in ("--no-suite", suite)]
        return [["--suite", suite] for suite in first] + ([] if self.quick else [rest])

    def objects(self, file: str) -> str:
        """A hash of what the file was compiled to."""
        total = hashlib.sha256()
        of_library = self.build.glob(f"{Path(file).parent}/*.p/{Path(file).name}.o")
        of_command = self.build.glob(f"*.p/{file.replace('/', '_')}.o")
        for path in sorted([*of_library, *of_command]):
            stripped = path.with_suffix(".stripped")
            subprocess.run(["objcopy", "--strip-debug", str(path), str(stripped)], check=False)
            total.update(stripped.read_bytes() if stripped.is_file() else path.read_bytes())
        return total.hexdigest()

    def try_one(self, fault: faults.Fault) -> tuple[str, str]:
        """How it ended, and by whom it was noticed."""
        path = self.top / fault.file
        original = path.read_text()
        lines = original.splitlines(keepends=True)
        for stage in self.stages(fault.file):
            if " ".join(stage) not in self.seconds:
                self.test(stage)
        before = self.objects(fault.file)
        lines[fault.line - 1] = fault.after + "\n"
        try:
            path.write_text("".join(lines))
            if self.run("ninja", "-C", str(self.build)) != 0:
                return "not compiled", ""
            if self.objects(fault.file) == before:
                return "no change", ""
            for stage in self.stages(fault.file):
                if not self.test(stage):
                    return "killed", " ".join(stage)
            return "survived", ""
        finally:
            path.write_text(original)
            self.run("ninja", "-C", str(self.build))


def collect(top: Path, below: list[str]) -> list[faults.Fault]:
    found = []
    for path in tree.files(top, ".c", rooms=ROOMS):
        name = str(path.relative_to(top))
        if below and not any(name == one.rstrip("/") or name.startswith(one.rstrip("/") + "/") for one in below):
            continue
        text = path.read_text()
        found += faults.of_file(name, text, tree.bare_code(text))
    return found


def choose(found: list[faults.Fault], count: int, seed: int) -> list[faults.Fault]:
    """Kinds in turn, so that the many relations don't crowd out the few signs."""
    dice = random.Random(seed)
    by_kind: dict[str, list[faults.Fault]] = {}
    for fault in found:
        by_kind.setdefault(fault.kind, []).append(fault)
    for faults_of_kind in by_kind.values():
        dice.shuffle(faults_of_kind)
    chosen: list[faults.Fault] = []
    while len(chosen) < count and any(by_kind.values()):
        chosen += [by_kind[kind].pop() for kind in sorted(by_kind) if by_kind[kind]]
    return chosen[:count]


def read_results(path: Path) -> dict[str, dict[str, Any]]:
    lines = path.read_text().splitlines() if path.is_file() else []
    return {result["name"]: result for result in map(json.loads, lines)}


def show(top: Path, results: list[dict[str, Any]]) -> None:
    """The table, folder by folder, and the survivors as diffs."""
    outcomes = ["killed", "survived", "not compiled", "no change"]
    rooms = sorted({str(Path(result["file"]).parent) for result in results})
    print(f"{'':14}" + "".join(f"{outcome:>14}" for outcome in outcomes))
    for room in [*rooms, "all"]:
        counts = Counter(result["outcome"] for result in results if room in ("all", str(Path(result["file"]).parent)))
        print(f"{room:14}" + "".join(f"{counts[outcome]:14}" for outcome in outcomes))
    for result in results:
        if result["outcome"] != "survived":
            continue
        text = (top / result["file"]).read_text().splitlines()
        at = result["line"] - 1
        if at >= len(text) or text[at] != result["before"]:
            print(f"\n{result['name']}: the line is another one by now")
            continue
        changed = [*text[:at], result["after"], *text[at + 1 :]]
        print()
        print("\n".join(difflib.unified_diff(text, changed, f"a/{result['file']}", f"b/{result['file']}", n=3, lineterm="")))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/mutate")
    parser.add_argument("--tree", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help="only say which faults")
    parser.add_argument("--report", action="store_true", help="only say what came out so far")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--quick", action="store_true", help="only the suites of the fault's folder: more survive than should")
    parser.add_argument("--file", action="append", default=[], help="a file or folder, as seen from the top of the tree")
    return parser.parse_args()


def main() -> None:
    options = read_options()
    top = options.tree.resolve()
    kept = top / "build-mutate/results.jsonl"
    if options.report:
        show(top, list(read_results(kept).values()))
        return
    chosen = choose(collect(top, options.file), options.count, options.seed)
    print(f"seed {options.seed}, {len(chosen)} faults", flush=True)
    if options.list:
        print("\n".join(f"{fault.kind:10} {fault.name}" for fault in chosen))
        return
    if not shutil.which("objcopy"):
        sys.exit("objcopy is needed, of binutils")
    copy, known = Copy(top, options.quick), read_results(kept)
    copy.prepare()
    tried = []
    for number, fault in enumerate(chosen, 1):
        if fault.name not in known:
            started = time.monotonic()
            outcome, by = copy.try_one(fault)
            known[fault.name] = {"name": fault.name, **fault._asdict(), "outcome": outcome, "by": by}
            with kept.open("a") as out:
                out.write(json.dumps(known[fault.name]) + "\n")
            print(f"{number:4} {outcome:12} {time.monotonic() - started:5.0f} s  {fault.name}", flush=True)
        tried.append(known[fault.name])
    show(top, tried)


if __name__ == "__main__":
    main()
