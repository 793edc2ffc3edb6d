#!/usr/bin/env python3
"""guardcache beside its peers and its floors, measured in one run: writes bench/REPORT.md and its plots.

    bench/report.py [--quick] [--build FOLDER]
    bench/report.py --growth [--entries N] [--build FOLDER]

Configures and builds an optimised tree with all benchmarks (build-bench), makes a Python environment in it with the peers
that can be had (PyTorch, JAX, numba, diskcache), runs every program twice and writes what came of it. What isn't there is
named as missing. Takes some four minutes on two processors once all is built; --quick leaves PyTorch out. With --growth it
measures instead how the cost of each operation grows, once, and writes bench/GROWTH.md: some 25 minutes for 10,000,000
entries, for which it needs 12 GB in TMPDIR. No number on these pages is typed in: losses and states of growth too are made
from the rows of the run.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

TOP = Path(__file__).resolve().parents[1]
BENCH = TOP / "bench"
PLOTS = BENCH / "plots"
RUNS = 2
PACKAGES = ("torch==2.13.0", "jax", "numba", "diskcache", "filelock", "numpy")


@dataclass(frozen=True)
class Pair:
    """Two rows side by side: a ratio above 1 says that guardcache is faster."""

    ours: str
    theirs: str
    differs: str


# What is compared, with what is different about it: durability, checks, what is done besides.
PAIRS = (
    Pair("warm hit, 1 key: candidates and payload of 4 kB", "  LMDB: transaction and get of 4 kB",
         "LMDB is open already: no guards, no check of the bytes"),
    Pair("cold: open, candidates, payload 4 kB, close", "  LMDB: open, transaction, get, close",
         "LMDB: no guards, no check of the bytes"),
    Pair("warm hit, 1 key: candidates and payload of 4 kB", "  SQLite: point lookup of 4 kB, prepared",
         "SQLite: no guards, no check of the bytes"),
    Pair("warm hit, 1 key: candidates and payload of 4 kB", "  PyTorch's way: list a directory, read its 10 files",
         "the files are read, not unpickled, no guard is evaluated"),
    Pair("guardcache in Python, get 4 kB", "diskcache, get 4 kB", "a key's first hit, verified; diskcache verifies nothing"),
    Pair("guardcache in Python, get 4 kB again", "diskcache, get 4 kB", "from memory; diskcache has none of its own"),
    Pair("guardcache in Python, get 100 kB", "diskcache, get 100 kB", "a key's first hit: verified and decompressed"),
    Pair("guardcache in Python, get 100 kB again", "diskcache, get 100 kB", "from memory; both copy the bytes out"),
    Pair("guardcache in Python, put 4 kB", "diskcache, put 4 kB", "guardcache waits for the disk, diskcache doesn't"),
    Pair("guardcache in Python, put 100 kB", "diskcache, put 100 kB", "guardcache compresses and waits for the disk"),
    Pair("guardcache in Python, get 4 kB", "JAX's file cache with a limit, get 4 kB", "JAX locks, and writes the time of use"),
    Pair("guardcache in Python, get 100 kB", "JAX's file cache with a limit, get 100 kB", "the same"),
    Pair("guardcache in Python, put 4 kB", "JAX's file cache with a limit, put 4 kB",
         "JAX reads the times of all entries, and doesn't wait for the disk"),
    Pair("guardcache in Python, put 100 kB", "JAX's file cache with a limit, put 100 kB", "the same"),
    Pair("guardcache in Python, get 4 kB", "numba's index of ten, get 4 kB", "numba unpickles the index and a file"),
    Pair("guardcache in Python, get 100 kB", "numba's index of ten, get 100 kB", "the same"),
    Pair("guardcache in Python, put 4 kB", "numba's index of ten, put 4 kB", "numba doesn't wait for the disk"),
    Pair("guardcache in Python, put 100 kB", "numba's index of ten, put 100 kB", "the same"),
    Pair("process: guardcache lookup --out, a hit", "process: ccache gcc -c, a hit",
         "ccache reads and hashes the source and asks the compiler's identity"),
)

# Rows beside what they can't be faster than: bench_main_job's.
FLOOR = "  floor"

# What grows, how it is asked, and what it may grow with.
GROWTH = (
    ("entries", "gcache_open, gcache_close", 0.0),
    ("entries", "first answer of a handle", 0.0),
    ("entries", "gcache_lookup, a key's first", 0.0),
    ("entries", "gcache_insert, not synced", 0.0),
    ("entries", "gcache_import, an entry, not synced", 0.0),
    ("entries", "gcache_statistics_read", 0.0),
    ("entries", "gcache_explain, an unknown key", 0.0),
    ("entries", "gcache_verify", 1.0),
    ("entries", "gcache_repair", 1.0),
    ("candidates", "gcache_lookup, hit", 0.0),
    ("candidates", "first answer of a handle", 1.0),
    ("candidates", "gcache_insert, not synced", 1.0),
    ("nodes", "built and keyed", 1.0),
    ("guards", "gcache_guards_compile", 1.0),
    ("guards", "gcache_guards_eval", 1.0),
)
# Rows that aren't times.
TAKEN = ("bytes on disk an entry", "inodes an entry", "memory a candidate, bytes")
# A fitted exponent above this is worse than was meant: n log n over these sizes fits 1.1 to 1.2.
SLACK = 0.25


@dataclass
class Row:
    """A row of all runs: the median of medians, and how far everything reached."""

    medians: list[float]
    low: float
    high: float

    @property
    def median(self) -> float:
        return statistics.median(self.medians)


Rows = dict[str, Row]


# ---- running ----


def sh(*command: str | Path, **environment: str) -> str:
    """Runs a command to its end; what it prints is its answer."""
    print("+", " ".join(str(word) for word in command), file=sys.stderr, flush=True)
    done = subprocess.run(
        [str(word) for word in command], env={**os.environ, **environment}, cwd=TOP, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def build(folder: Path) -> None:
    if not (folder / "build.ninja").exists():
        sh("meson", "setup", folder, "--buildtype=release", "-Db_lto=true", "-Dbench=true", "-Dtests=false")
    sh("ninja", "-C", folder)


def make_environment(folder: Path) -> Path:
    """A Python with what can be installed: each by itself, so that one that can't be had leaves the others."""
    python = folder / "venv/bin/python"
    if not python.exists():
        sh(sys.executable, "-m", "venv", folder / "venv")
    for package in (*PACKAGES, str(TOP / "python")):
        try:
            sh(python, "-m", "pip", "install", "-q", package)
        except subprocess.CalledProcessError:
            print(f"{package}: can't be installed", file=sys.stderr)
    return python


def read_rows(path: Path, rows: Rows) -> None:
    """Adds a run's rows. One that comes twice in a run counts once, with its first figures."""
    seen: set[str] = set()
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        found = json.loads(line)
        name = found["name"]
        if name in seen:
            continue
        seen.add(name)
        row = rows.setdefault(name, Row([], found["low"], found["high"]))
        row.medians.append(found["median"])
        row.low, row.high = min(row.low, found["low"]), max(row.high, found["high"])


Programs = tuple[tuple[str | Path, ...], ...]


def measure(folder: Path, programs: Programs, runs: int) -> Rows:
    rows: Rows = {}
    file = folder / "rows.jsonl"
    for _ in range(runs):
        file.unlink(missing_ok=True)
        for program in programs:
            try:
                sh(*program, BENCH_ROWS=str(file))
            except subprocess.CalledProcessError as failed:
                print(f"{program[0]}: ended with {failed.returncode}", file=sys.stderr)
        read_rows(file, rows)
    return rows


def measure_all(folder: Path, python: Path) -> Rows:
    programs: Programs = (
        (folder / "bench/bench_main_job",),
        (folder / "bench/bench_store",),
        (folder / "bench/bench_guards",),
        (folder / "bench/bench_keys",),
        (folder / "bench/bench_compile_many",),
        (python, BENCH / "peers.py", folder / "guardcache"),
    )
    return measure(folder, programs, RUNS)


def measure_pytorch(python: Path) -> list[list[str]]:
    """Rows of bench/frameworks/pytorch.py: name, theirs, ours, ratio."""
    try:
        text = sh(python, BENCH / "frameworks/pytorch.py", "--quick")
    except subprocess.CalledProcessError:
        return []
    return [[line[:44].strip(), *line[44:].split()] for line in text.splitlines()[1:]]


# ---- figures ----


def find(rows: Rows, name: str) -> Row | None:
    """By its name, or, of an inner row, by its last part."""
    if not name.startswith(" "):
        return rows.get(name)
    inner = " | " + name.strip()
    return next((row for full, row in rows.items() if full.endswith(inner)), None)


def show_time(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def show_size(size: float) -> str:
    for unit, least in (("M", 1e6), ("k", 1e3)):
        if size >= least:
            return f"{size / least:g}{unit}"
    return f"{size:g}"


def show_row(row: Row) -> str:
    runs = ", ".join(show_time(median) for median in row.medians)
    return f"{runs} ({show_time(row.low)} to {show_time(row.high)})"


def exponent(points: list[tuple[float, float]]) -> float:
    """The slope of a straight line through the logarithms, by least squares."""
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    mx, my = statistics.fmean(xs), statistics.fmean(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True)) / sum((x - mx) ** 2 for x in xs)


def steepest(points: list[tuple[float, float]]) -> float:
    """The largest exponent between two neighbours: what a fit over all sizes can hide."""
    return max(exponent([before, after]) for before, after in zip(points, points[1:], strict=False))


def growth(rows: Rows, kind: str, what: str) -> list[tuple[float, float]]:
    found = []
    for name, row in rows.items():
        parts = name.split("/", 2)
        if len(parts) == 3 and parts[0] == kind and parts[2] == what:
            found.append((float(parts[1]), row.median))
    return sorted(found)


# ---- plots ----


def svg(width: int, height: int, body: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">'
    return "\n".join([head, f'<rect width="{width}" height="{height}" fill="white"/>', *body, "</svg>", ""])


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def plot_ratios(found: list[tuple[str, float]]) -> str:
    """A bar a pair, on a logarithmic scale around 1: to the right guardcache is faster."""
    left, unit = 470, 60
    body = [f'<line x1="{left}" y1="10" x2="{left}" y2="{30 + 22 * len(found)}" stroke="black"/>']
    for at, (name, ratio) in enumerate(found):
        y, length = 20 + 22 * at, unit * math.log10(ratio)
        x = left if length >= 0 else left + length
        colour = "#2a7" if length >= 0 else "#c44"
        body.append(f'<text x="8" y="{y + 12}">{escape(name)}</text>')
        body.append(f'<rect x="{x:.1f}" y="{y}" width="{abs(length):.1f}" height="15" fill="{colour}"/>')
        body.append(f'<text x="{max(left, left + length) + 6:.1f}" y="{y + 12}">{ratio:.3g}</text>')
    return svg(left + 320, 40 + 22 * len(found), body)


def plot_growth(kind: str, curves: dict[str, list[tuple[float, float]]]) -> str:
    """Time against size, both logarithmic, a line an operation, named at its end: the slowest first, none over another's name."""
    xs = [math.log10(x) for points in curves.values() for x, _ in points]
    ys = [math.log10(y) for points in curves.values() for _, y in points]
    low_x, high_x, low_y, high_y = min(xs), max(xs), math.floor(min(ys)), math.ceil(max(ys))

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - low_x) / max(high_x - low_x, 1e-9)
        up = (math.log10(y) - low_y) / max(high_y - low_y, 1e-9)
        return 80 + 420 * across, 280 - 250 * up

    body = []
    for power in range(low_y, high_y + 1):
        _, y = place(10**low_x, 10**power)
        body.append(f'<line x1="80" y1="{y:.1f}" x2="500" y2="{y:.1f}" stroke="#ddd"/>')
        body.append(f'<text x="8" y="{y + 4:.1f}">{show_time(10**power)}</text>')
    for x in sorted({x for points in curves.values() for x, _ in points}):
        at, _ = place(x, 10**low_y)
        body.append(f'<text x="{at:.1f}" y="300" text-anchor="middle">{show_size(x)}</text>')
    body.append(f'<text x="250" y="318">{escape(kind)}</text>')
    label = -math.inf
    for number, (name, points) in enumerate(sorted(curves.items(), key=lambda curve: -curve[1][-1][1])):
        colour = ("#247", "#c44", "#2a7", "#a60")[number % 4]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in (place(x, y) for x, y in points))
        body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        end_x, end_y = place(*points[-1])
        label = max(end_y + 4, label + 13)
        body.append(f'<text x="{end_x + 16:.1f}" y="{label:.1f}" fill="{colour}">{escape(name)}</text>')
    return svg(780, 326, body)


# ---- the report ----


def load_now() -> str:
    return " ".join(f"{load:.2f}" for load in os.getloadavg())


def conditions(started: str, runs: str) -> list[str]:
    model = next(
        (line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), "?"
    )
    commit = sh("git", "rev-parse", "--short", "HEAD").strip()
    return [
        f"Made by `bench/report.py` on {datetime.date.today()}, commit {commit}: {runs}.",
        f"{os.cpu_count()} processors ({model}), Linux {platform.release()},",
        f"load {started} when it began and {load_now()} when it ended.",
        "On another machine times differ; ratios hold.",
    ]


def table(out: TextIO, head: list[str], lines: list[list[str]]) -> None:
    out.write("| " + " | ".join(head) + " |\n|" + " --- |" * len(head) + "\n")
    out.writelines("| " + " | ".join(line) + " |\n" for line in lines)
    out.write("\n")


def clean(name: str) -> str:
    return name.strip()


def write_pairs(out: TextIO, rows: Rows) -> None:
    lines, bars, losses, missing = [], [], [], []
    for pair in PAIRS:
        ours, theirs = find(rows, pair.ours), find(rows, pair.theirs)
        title = f"{clean(pair.ours)}: {clean(pair.theirs)}"
        if ours is None or theirs is None:
            missing.append(clean(pair.theirs if theirs is None else pair.ours))
            continue
        ratios = sorted(t / o for o, t in zip(ours.medians, theirs.medians, strict=False))
        ratio = statistics.median(ratios)
        spread = f"{ratio:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        lines.append([clean(pair.ours), show_row(ours), clean(pair.theirs), show_row(theirs), spread, pair.differs])
        bars.append((clean(pair.theirs) if len(title) > 70 else title, ratio))
        if ratio < 1:
            losses.append(f"* {clean(pair.ours)} beside {clean(pair.theirs)}: {1 / ratio:.2f} times as slow; {pair.differs}.\n")
    out.write("## Beside peers\nA ratio above 1: guardcache is faster.\n\n")
    table(out, ["guardcache", "runs", "peer", "runs", "ratio", "what differs"], lines)
    (PLOTS / "peers.svg").write_text(plot_ratios(bars), encoding="utf-8")
    out.write("![ratios to peers](plots/peers.svg)\n\n### Where guardcache is slower\n")
    out.writelines(losses or ["Nowhere in this run.\n"])
    if missing:
        out.write("\nNot measured, since it wasn't there: " + "; ".join(sorted(set(missing))) + ".\n")
    out.write("\n")


MAIN_JOB = ("gcache_", "process: start", "graph built")


def listed(rows: Rows, main_job: bool) -> list[list[str]]:
    """Rows with those that belong to them below."""
    lines = []
    for name, row in rows.items():
        head, _, inner = name.partition(" | ")
        if head.startswith(MAIN_JOB) == main_job:
            lines.append([("&nbsp;&nbsp;" + inner) if inner else head, show_row(row)])
    return lines


def write_floors(out: TextIO, rows: Rows) -> None:
    """Every row of the main job, and below it what it can't be faster than."""
    out.write("## Calls beside their floors\n`bench_main_job`: what users call, default settings.\n\n")
    table(out, ["call", "runs"], listed(rows, main_job=True))


def write_others(out: TextIO, rows: Rows) -> None:
    out.write("## All other rows\n`bench_store`, `bench_guards`, `bench_keys`, `bench_compile_many`, `bench/peers.py`.\n\n")
    table(out, ["what", "runs"], listed(rows, main_job=False))


def write_curves(out: TextIO, rows: Rows) -> None:
    curves: dict[str, dict[str, list[tuple[float, float]]]] = {}
    lines = []
    for kind, what, meant in GROWTH:
        points = growth(rows, kind, what)
        if len(points) < 2:
            continue
        curves.setdefault(kind, {})[what] = points
        fitted = exponent(points)
        state = "as meant" if fitted <= meant + SLACK else "**worse than meant**"
        ends = [f"{show_size(x)}: {show_time(y)}" for x, y in points]
        lines.append([f"{kind}: {what}", "; ".join(ends), f"{fitted:.2f}", f"{steepest(points):.2f}", f"{meant:.0f}", state])
    table(out, ["operation", "size: time", "exponent", "steepest step", "meant", ""], lines)
    for kind, drawn in curves.items():
        (PLOTS / f"{kind}.svg").write_text(plot_growth(kind, drawn), encoding="utf-8")
        out.write(f"![{kind}](plots/{kind}.svg)\n")
    numbers = [
        [name, f"{row.median:,.3f}"]
        for name, row in rows.items()
        if name.endswith(TAKEN)
    ]
    out.write("\n")
    table(out, ["what it takes", ""], numbers)


def write_growth(rows: Rows, started: str) -> None:
    with open(BENCH / "GROWTH.md", "w", encoding="utf-8") as out:
        out.write("# How costs grow\n\n" + "\n".join(conditions(started, "one run of `bench_scale`")) + "\n\n")
        out.write("Entries are loaded by import, ten a key. The exponent is of the power that fits best: 0 doesn't grow,\n")
        out.write("1 is linear.\n\n")
        write_curves(out, rows)


def write_report(rows: Rows, pytorch: list[list[str]], started: str) -> None:
    runs = f"{RUNS} runs, one after the other; medians of both, in brackets the lowest and the highest of either"
    with open(BENCH / "REPORT.md", "w", encoding="utf-8") as out:
        out.write("# Beside peers and floors\n\n" + "\n".join(conditions(started, runs)) + "\n\n")
        write_floors(out, rows)
        write_pairs(out, rows)
        out.write("## PyTorch's own caches\n")
        if pytorch:
            out.write("`bench/frameworks/pytorch.py --quick`: microseconds of processor time; above 1 guardcache is faster.\n\n")
            table(out, ["what", "PyTorch", "guardcache", "ratio"], pytorch)
        else:
            out.write("Not measured: PyTorch wasn't there.\n\n")
        write_others(out, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave PyTorch out")
    parser.add_argument("--growth", action="store_true", help="measure growth instead")
    parser.add_argument("--entries", type=int, default=10_000_000, help="the largest cache of the growth rows")
    parser.add_argument("--build", type=Path, default=TOP / "build-bench", help="where to build")
    arguments = parser.parse_args()
    folder: Path = arguments.build.resolve()
    build(folder)
    PLOTS.mkdir(exist_ok=True)
    if arguments.growth:
        started = load_now()
        write_growth(measure(folder, ((folder / "bench/bench_scale", str(arguments.entries)),), 1), started)
        return
    python = make_environment(folder)
    started = load_now()
    rows = measure_all(folder, python)
    write_report(rows, [] if arguments.quick else measure_pytorch(python), started)


if __name__ == "__main__":
    main()
