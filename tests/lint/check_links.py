"""Each relative link of the project's Markdown leads to something that is there: a file, a folder, or a heading in it."""

from __future__ import annotations

import re
from pathlib import Path

import tree

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)", re.MULTILINE)


def slug(heading: str) -> str:
    """The name by which a heading can be reached, as the hosts of Markdown make it."""
    text = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return text.replace(" ", "-")


def anchors(path: Path) -> set[str]:
    return {slug(heading) for heading in HEADING.findall(FENCE.sub("", path.read_text(encoding="utf-8")))}


def broken(page: Path, target: str) -> str | None:
    """What is wrong with a link, or None."""
    place, _, anchor = target.partition("#")
    path = page.parent / place if place else page
    if not path.exists():
        return f"{target} isn't there"
    if anchor and path.suffix == ".md" and anchor not in anchors(path):
        return f"{place or page.name} has no heading {anchor}"
    return None


def main() -> None:
    top = tree.root()
    problems, count = [], 0
    for page in [*sorted(top.glob("*.md")), *tree.files(top, ".md")]:
        text = CODE.sub("", FENCE.sub("", page.read_text(encoding="utf-8")))
        for target in LINK.findall(text):
            if ":" in target:
                continue
            count += 1
            if (fault := broken(page, target)) is not None:
                problems.append(f"{page.relative_to(top).as_posix()}: {fault}")
    tree.finish(problems, f"{count} links lead somewhere")


main()
