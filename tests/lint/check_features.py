"""Every row of docs/features.md names a test that exists, or stands as open with the reason; no row is missing."""

from __future__ import annotations

import re
from pathlib import Path

import tree

COUNTS = {"I": 23, "A": 10, "J": 14, "N": 7, "X": 14}
ROW = re.compile(r"^\| ([IAJNX]\d+) \| (.+?) \| (.+) \| (.+?) \|$", re.MULTILINE)
ITEM = re.compile(r"([a-z]+)(?:/(\w+))?(?:: ([\w, -]+))?$")

# What the first word of a proof stands for; {} is the part behind the slash.
PLACES = {
    "cache": "tests/unit/cache/{}.c",
    "graph": "tests/unit/graph/{}.c",
    "store": "tests/unit/store/{}.c",
    "canon": "fixtures/canon/pairs.jsonl",
    "cli": "tests/cli/{}.sh",
    "story": "fixtures/stories/{}.sh",
    "examples": "tests/examples/{}.py",
    "forms": "tests/forms/{}.py",
    "traces": "tests/traces/meson.build",
    "python": "python/tests/{}.py",
}


def registered(text: str, case: str) -> bool:
    """A case counts if the file names it twice: where it is written, and where it is run. Fixture pairs have a name each."""
    return len(re.findall(rf"(?<![\w-]){re.escape(case)}(?![\w-])", text)) >= (1 if '"label":' in text else 2)


def is_run(top: Path, place: str, path: Path) -> bool:
    """Whether a meson.build names the test: a file that nobody runs proves nothing."""
    build = top / ("fixtures/stories" if place == "story" else path.parent.relative_to(top)) / "meson.build"
    if place in ("canon", "traces", "python", "story") or not build.is_file():
        return True
    names = {path.stem, path.name, path.stem.removeprefix("test_"), path.stem.removeprefix("check_")}
    return bool(names & set(re.findall(r"[\w.]+", build.read_text())))


def problems_of(top: Path, row: str, proof: str) -> list[str]:
    found = ITEM.match(proof.strip())
    if found is None or found[1] not in PLACES:
        return [f"{row}: {proof!r} names no test"]
    path = top / PLACES[found[1]].format(found[2])
    if not path.is_file():
        return [f"{row}: there is no {path.relative_to(top)}"]
    if not is_run(top, found[1], path):
        return [f"{row}: no meson.build runs {path.relative_to(top)}"]
    text = path.read_text()
    cases = [case.strip() for case in (found[3] or "").split(",") if case.strip()]
    return [f"{row}: {path.name} runs no case {case}" for case in cases if not registered(text, case)]


def main() -> None:
    top = tree.root()
    rows = {name: proof for name, _what, _how, proof in ROW.findall((top / "docs/features.md").read_text())}
    wanted = [f"{letter}{number}" for letter, count in COUNTS.items() for number in range(1, count + 1)]
    problems = [f"docs/features.md has no row {name}" for name in wanted if name not in rows]
    open_rows = 0
    for name, proof in rows.items():
        if proof.startswith("open:"):
            open_rows += 1
            if len(proof) < len("open: why it is"):
                problems.append(f"{name} is open without a reason")
            continue
        for item in proof.split(";"):
            problems += problems_of(top, name, item)
    tree.finish(problems, f"{len(rows) - open_rows} rows are proved, {open_rows} are open")


main()
