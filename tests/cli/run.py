#!/usr/bin/env python3
"""Golden tests of the command: a test is a shell script and what it must print.

  NAME.sh              run by bash in a fresh folder, after common.bash; `guardcache` is in PATH, $FIXTURES are the
                       fixtures, $GUARDCACHE_DIR is a cache that isn't there yet
  NAME.stdout.exact    what standard output must be; NAME.stdout.glob: the same with * ? and [..] in its lines
  NAME.stderr.exact    likewise; a stream without a file must stay empty
  NAME.exit            the exit status, 0 without a file

A script that ends with status 77 is skipped and says why on standard output.

usage: run.py --command FILE --fixtures DIR [--accept] [--widths "40 80"] NAME.sh
--widths is for stories (fixtures/stories/story.bash): each explanation is printed in so many columns too, and no line may be
longer, no number cut, and no text longer than 25 lines but below 80 columns.
--accept rewrites what differs from the expectation (exact files; a glob file that no longer matches is reported).
"""

from __future__ import annotations

import argparse
import difflib
import fnmatch
import os
import re
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

SKIPPED = 77
# Everything a test does is bounded; the slowest makes a file of 200 MB.
SECONDS = 120
# What a reader takes in at a glance.
LINES_MOST = 25


def environment(command: Path, fixtures: Path, scratch: Path) -> dict[str, str]:
    """A small, fixed environment, so that a test does the same for everybody."""
    kept = {name: os.environ[name] for name in os.environ if name.endswith("SAN_OPTIONS")}
    return kept | {
        "PATH": f"{command.parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "HOME": str(scratch / "home"),
        "TMPDIR": str(scratch),
        "GUARDCACHE_DIR": str(scratch / "cache"),
        "FIXTURES": str(fixtures),
        "BASH_ENV": str(Path(__file__).resolve().parent / "common.bash"),
    }


def columns(line: str) -> int:
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in line
    )


def numbers(text: str) -> set[str]:
    """Those that stay from one call to the next: neither durations and sizes nor times."""
    text = re.sub(r"\b\d\d:\d\d(:\d\d)?|[\d.]+ (ns|us|ms|s|min|h|[KMG]iB|%)(?!\w)", "", " ".join(text.split()))
    return set(re.findall(r"\d[\d.]*", text))


def check_widths(folder: Path) -> list[str]:
    problems = []
    for path in sorted(folder.glob("*/*")):
        if path.name == "160":
            continue
        width, text = int(path.name), path.read_text("utf-8", "backslashreplace")
        whole = (path.parent / "160").read_text("utf-8", "backslashreplace")
        problems += [f"{columns(line)} columns, not {width}: {line}" for line in text.splitlines() if columns(line) > width]
        problems += [f"at {width} columns a number is cut: {n}" for n in sorted(numbers(text) - numbers(whole))]
        for story in text.split("\nmiss: "):
            lines = len(story.splitlines())
            if width >= 80 and lines > LINES_MOST:
                problems.append(f"{lines} lines at {width} columns:\n{story}")
    return problems


def run(script: Path, command: Path, fixtures: Path, widths: str = "") -> tuple[int, dict[str, str], list[str]]:
    with tempfile.TemporaryDirectory(prefix="guardcache-cli-") as folder:
        scratch = Path(folder)
        for name in ("home", "here", "widths"):
            (scratch / name).mkdir()
        result = subprocess.run(
            ["bash", "-u", str(script)],
            cwd=scratch / "here",
            env=environment(command, fixtures, scratch) | {"WIDTHS": widths, "WIDTHS_FOLDER": str(scratch / "widths")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        streams = {"stdout": result.stdout, "stderr": result.stderr}
        texts = {name: text.decode("utf-8", "backslashreplace") for name, text in streams.items()}
        shown = {name: text.replace(folder, "SCRATCH") for name, text in texts.items()}
        return result.returncode, shown, check_widths(scratch / "widths")


def glob_matches(expected: str, found: str) -> bool:
    """Line by line; a line `...` stands for any number of lines."""
    patterns, lines = expected.splitlines(), found.splitlines()
    if not patterns:
        return not lines
    if patterns[0] == "...":
        rest = "\n".join(patterns[1:])
        return any(glob_matches(rest, "\n".join(lines[i:])) for i in range(len(lines) + 1))
    if not lines or not fnmatch.fnmatchcase(lines[0], patterns[0]):
        return False
    return glob_matches("\n".join(patterns[1:]), "\n".join(lines[1:]))


def check_stream(script: Path, stream: str, found: str, accept: bool) -> list[str]:
    exact, glob = script.with_suffix(f".{stream}.exact"), script.with_suffix(f".{stream}.glob")
    pattern = glob.is_file()
    path = glob if pattern else exact
    expected = path.read_text() if path.is_file() else ""
    if (glob_matches(expected, found) if pattern else expected == found):
        return []
    if accept and not pattern:
        if found:
            path.write_text(found)
        else:
            path.unlink()
        print(f"rewrote {path.name}")
        return []
    return list(
        difflib.unified_diff(
            expected.splitlines(), found.splitlines(), f"{path.name}, expected", f"{stream}, found", lineterm=""
        )
    )


def check_exit(script: Path, found: int, accept: bool) -> list[str]:
    path = script.with_suffix(".exit")
    expected = int(path.read_text()) if path.is_file() else 0
    if expected == found:
        return []
    if accept:
        path.write_text(f"{found}\n")
        print(f"rewrote {path.name}")
        return []
    return [f"exit status: expected {expected}, found {found}"]


def main() -> int:
    parser = argparse.ArgumentParser(description="runs one golden test of the command")
    parser.add_argument("--command", type=Path, required=True)
    parser.add_argument("--fixtures", type=Path, required=True)
    parser.add_argument("--accept", action="store_true")
    parser.add_argument("--widths", default="")
    parser.add_argument("script", type=Path)
    options = parser.parse_args()

    status, streams, problems = run(
        options.script.resolve(), options.command.resolve(), options.fixtures.resolve(), options.widths
    )
    if status == SKIPPED:
        print(streams["stdout"], end="")
        return SKIPPED
    problems += check_exit(options.script, status, options.accept)
    for stream, text in streams.items():
        problems += check_stream(options.script, stream, text, options.accept)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
