"""The report and an explanation as pages in a real browser: wide and on a phone, light, dark and on paper. Nothing on the
console, something to see, and everybody can read it: accessible.js says so, and axe-core where it is installed.

Arguments: the command, the fixtures, a folder for the screenshots. Exit status 77, and why, where there is no chromium.
axe.min.js is found in the Python package axe_playwright_python or axe_core_python, or as GUARDCACHE_AXE says.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import browser

SKIPPED = 77
WIDTHS = {"wide": 1400, "phone": 390}
# Below this a page shows next to nothing: a plain surface has a handful of colours.
COLOURS_LEAST = 12
RULES = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice']}"


def axe() -> str | None:
    """The text of axe-core, if it is here."""
    places = [Path(os.environ["GUARDCACHE_AXE"])] if "GUARDCACHE_AXE" in os.environ else []
    for package in ("axe_playwright_python", "axe_core_python"):
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or []) if spec else []:
            places += sorted(Path(folder).rglob("axe*.js"))
    return next((place.read_text(encoding="utf-8") for place in places if place.is_file()), None)


# ---- pages ----


class Player:
    """Plays a recorded trace as a program would, so that the journal has labels and sources."""

    def __init__(self, command: str, cache: Path, traces: Path) -> None:
        self.command, self.cache, self.traces = command, cache, traces
        self.payload = cache.parent / "payload"
        self.payload.write_bytes(b"code" * 100)

    def run(self, *arguments: str) -> None:
        subprocess.run([self.command, *arguments, "--cache", str(self.cache)], capture_output=True, check=False)

    def play(self, trace: str, label: str, sources: tuple[str, ...] = ()) -> None:
        for line in (self.traces / trace / "trace.jsonl").read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            if event["op"] not in ("lookup", "insert"):
                continue
            asked = ["--graph", str(self.traces / trace / event["graph"]), "--label", label]
            for name, value in (event.get("hints") or {}).items():
                asked += ["--hint", f"{name}={json.dumps(value)}"]
            if event["op"] == "lookup":
                self.run("lookup", *asked, *(item for source in sources for item in ("--source", source)))
                continue
            for guard in event.get("guards") or []:
                asked += ["--guard", guard]
            self.run("insert", *asked, "--payload", str(self.payload), "--compile-ns", str(event.get("compile_ns", 0)))


def make_pages(command: str, fixtures: Path, folder: Path) -> dict[str, Path]:
    player = Player(command, folder / "cache", fixtures / "traces")
    player.play("pad_to_mult", "train.py:88 forward", ("t0=x.size(0)", "t1=x.size(1)"))
    player.play("multi_buckets", "serve/buckets.py:140 Model.score_a_whole_batch_of_documents", ("t0=tokens.size(0)",))
    player.play("mlp_train", "<script>alert(1)</script> & mlp.py:12")
    player.run("replay", str(fixtures / "traces" / "synthetic"))
    subprocess.run([command, "config", "--cache", str(folder / "empty"), "max-size", "1GiB"], capture_output=True, check=True)
    pages = {name: folder / f"{name}.html" for name in ("report", "explain", "empty")}
    player.run("report", "--html", str(pages["report"]))
    player.run("explain", "--last", "12", "--html", str(pages["explain"]))
    subprocess.run([command, "report", "--cache", str(folder / "empty"), "--html", str(pages["empty"])], check=True)
    return pages


# ---- what is seen ----


def pixels(picture: bytes) -> tuple[int, int, bytes]:
    """Width, height and filtered rows of a PNG; enough to tell a page from a plain surface."""
    width, height = struct.unpack(">II", picture[16:24])
    at, packed = 8, b""
    while at < len(picture):
        (size,) = struct.unpack(">I", picture[at : at + 4])
        if picture[at + 4 : at + 8] == b"IDAT":
            packed += picture[at + 8 : at + 8 + size]
        at += size + 12
    return width, height, zlib.decompress(packed)


def look(shown: browser.Browser, name: str, pictures: Path, seen: dict[str, bytes]) -> list[str]:
    picture = shown.picture()
    (pictures / f"{name}.png").write_bytes(picture)
    width, height, rows = pixels(picture)
    seen[name] = rows
    print(f"screenshot: {name}.png ({width} x {height})")
    return [f"{name}: nothing to see"] if len(set(rows)) < COLOURS_LEAST else []


def read(shown: browser.Browser, name: str, checker: str | None) -> list[str]:
    own = Path(__file__).with_name("accessible.js").read_text(encoding="utf-8")
    wrong = [f"{name}: {problem}" for problem in shown.run(own)]
    if checker is not None:
        shown.run(checker)
        found = shown.run(f"axe.run({RULES}).then(r => r.violations.map(v => `${{v.id}}: ${{v.nodes[0].html.slice(0, 120)}}`))")
        wrong += [f"{name}: axe: {problem}" for problem in found]
    return wrong


def visit(shown: browser.Browser, pages: dict[str, Path], pictures: Path, checker: str | None) -> list[str]:
    problems: list[str] = []
    seen: dict[str, bytes] = {}
    for page, (size, width), dark in itertools.product(pages, WIDTHS.items(), (False, True)):
        name = f"{page}-{size}-{'dark' if dark else 'light'}"
        shown.show(pages[page].as_uri(), width, dark)
        problems += look(shown, name, pictures, seen)
        problems += read(shown, name, checker)
    for page, size in itertools.product(pages, WIDTHS):
        if seen[f"{page}-{size}-light"] == seen[f"{page}-{size}-dark"]:
            problems.append(f"{page}, {size}: light and dark look the same")
    shown.show(pages["report"].as_uri(), WIDTHS["wide"], dark=True, media="print")
    problems += look(shown, "report-paper", pictures, seen)
    problems += read(shown, "report-paper", checker)
    return problems + shown.said


def main() -> int:
    command, fixtures, pictures = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    program, checker = browser.find(), axe()
    if program is None:
        print("skipped: there is no chromium here to show the report in")
        return SKIPPED
    print("axe-core is here" if checker else "without axe-core, which isn't here; accessible.js alone")
    with tempfile.TemporaryDirectory(prefix="guardcache-report-", ignore_cleanup_errors=True) as folder:
        pages = make_pages(command, fixtures, Path(folder))
        with browser.Browser(program, f"{folder}/home") as shown:
            problems = visit(shown, pages, pictures, checker)
    print("\n".join(problems) or "the console stayed empty, and everybody can read the pages")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
