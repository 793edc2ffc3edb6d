"""The miss stories: enough of them, each run as a test, and no text longer than a reader takes in at a glance."""

from __future__ import annotations

import re

import tree

LINES_MOST = 25
STORIES_LEAST = 40


def main() -> None:
    top = tree.root()
    listed = set(re.findall(r"'(\w+)'", (top / "tests/cli/meson.build").read_text().split("stories = [")[1]))
    scripts = sorted((top / "fixtures/stories").glob("*.sh"))
    problems = [] if len(scripts) >= STORIES_LEAST else [f"{len(scripts)} stories, of {STORIES_LEAST} at least"]
    longest = 0
    for script in scripts:
        text = script.with_suffix(".stdout.exact")
        lines = len(text.read_text().splitlines()) if text.exists() else 0
        longest = max(longest, lines)
        if not 0 < lines <= LINES_MOST:
            problems.append(f"{text.name}: {lines} lines, not 1 to {LINES_MOST}")
        if script.stem not in listed:
            problems.append(f"{script.name}: not listed in tests/cli/meson.build")
    tree.finish(problems, f"{len(scripts)} stories, the longest of {longest} lines")


main()
