"""The report in a real browser, light and dark: nothing on the console, and a picture to look at.

Arguments: the command, the fixtures, a folder for the screenshots. Exit status 77, and why, where there is no chromium.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

SKIPPED = 77
SECONDS = 100
# A browser that dies has said nothing about the page.
TRIES = 2
# Below this a page shows next to nothing: a plain surface has a handful of colours.
COLOURS_LEAST = 12


def browser() -> str | None:
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"):
        found = shutil.which(name)
        if found:
            return found
    return None


def make_page(command: str, fixtures: Path, folder: Path) -> Path:
    for trace in ("pad_to_mult", "synthetic"):
        played = [command, "replay", "--cache", str(folder / "cache"), str(fixtures / "traces" / trace)]
        subprocess.run(played, capture_output=True, check=False)
    page = folder / "page.html"
    subprocess.run([command, "report", "--cache", str(folder / "cache"), "--html", str(page)], check=True)
    return page


def show(program: str, page: Path, picture: Path, dark: bool, home: str) -> list[str]:
    """Shows the page and returns what the browser has to say."""
    arguments = [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr"]
    # Containers often have a /dev/shm too small for it.
    arguments += ["--disable-dev-shm-usage", "--no-first-run"]
    arguments += ["--window-size=1100,2600", f"--user-data-dir={home}", f"--screenshot={picture}"]
    if dark:
        arguments += ["--blink-settings=preferredColorScheme=0"]
    said: list[str] = []
    for _ in range(TRIES):
        try:
            result = subprocess.run([*arguments, page.as_uri()], capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            print(f"the browser didn't end within {SECONDS} s")
            continue
        said += [line for line in result.stderr.splitlines() if "CONSOLE" in line]
        if picture.exists():
            break
        print(f"the browser ended with {result.returncode} and no screenshot:", *result.stderr.splitlines()[-5:], sep="\n  ")
    return said


def pixels(picture: Path) -> tuple[int, int, bytes]:
    """Width, height and filtered rows of a PNG; enough to tell a page from a plain surface."""
    bytes_ = picture.read_bytes()
    width, height = struct.unpack(">II", bytes_[16:24])
    at, packed = 8, b""
    while at < len(bytes_):
        (size,) = struct.unpack(">I", bytes_[at : at + 4])
        if bytes_[at + 4 : at + 8] == b"IDAT":
            packed += bytes_[at + 8 : at + 8 + size]
        at += size + 12
    return width, height, zlib.decompress(packed)


def main() -> int:
    command, fixtures, pictures = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    program, problems, shown = browser(), [], {}
    if program is None:
        print("skipped: there is no chromium here to show the report in")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="guardcache-report-") as folder:
        page = make_page(command, fixtures, Path(folder))
        for name, dark in (("light", False), ("dark", True)):
            picture = pictures / f"report-{name}.png"
            picture.unlink(missing_ok=True)
            problems += show(program, page, picture, dark, f"{folder}/home-{name}")
            if not picture.exists():
                problems.append(f"no screenshot, {name}")
                continue
            width, height, rows = pixels(picture)
            shown[name] = rows
            print(f"screenshot: {picture} ({width} x {height})")
            if len(set(rows)) < COLOURS_LEAST:
                problems.append(f"nothing to see, {name}")
    if len(shown) == 2 and shown["light"] == shown["dark"]:
        problems.append("light and dark look the same")
    print("\n".join(problems) or "the console stayed empty")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
