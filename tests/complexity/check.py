#!/usr/bin/env python3
"""Work is in proportion to the input: what grows must be dealt with within 0.5 s and 2 ms a kilobyte of processor time.

    check.py --command build/guardcache --fixtures fixtures [--slower N] [NAME]...

Runs the command on inputs in which one feature is made large (growers.py), and on seeds of which parts are repeated, nested
and widened. What the command can't do in that time it must refuse with a reason (exit status 1 or 2, something on standard
error). --slower allows N times as long, for builds with sanitizers. With NAMEs only checks whose names have one of them.

GUARDCACHE_EFFORT=N grows N times as many seeds, GUARDCACHE_SECONDS=N goes on for so long with larger ones, and GUARDCACHE_SEED
draws others.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from growers import (
    DESCRIPTIONS, EXPLAINED, EXPRESSIONS, GUARDS, KINDS, described, inputs, lazy_rules, pieces, rule_set, symbolic, text_of,
)  # fmt: skip

FLOOR_SECONDS = 0.5
SECONDS_A_KILOBYTE = 0.002

# A hang is told of as one, not waited for.
MOST_TIMES = 8

# Other programs make this one's processor time longer: what is too slow is run again, and the least counts.
TRIES = 3

GROWN_KILOBYTES = 24
SEEDS_GROWN = 40
LARGEST_KILOBYTES = 2000


class Case(NamedTuple):
    name: str
    arguments: list[str]
    files: dict[str, bytes]  # written to the folder that the command runs in
    standard_input: bytes = b""
    cache: str = ""  # a folder that is copied to `cache` first


class Took(NamedTuple):
    seconds: float
    status: int
    complaint: str


def size_of(case: Case) -> int:
    cached = sum(path.stat().st_size for path in Path(case.cache).rglob("*") if path.is_file()) if case.cache else 0
    return sum(map(len, case.files.values())) + len(case.standard_input) + sum(map(len, case.arguments)) + cached


def limit_of(case: Case, slower: float) -> float:
    return slower * (FLOOR_SECONDS + SECONDS_A_KILOBYTE * size_of(case) / 1024)


def run_once(command: str, case: Case, folder: Path, most_seconds: int) -> Took:
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
    if case.cache:
        shutil.rmtree(folder / "cache", ignore_errors=True)
        shutil.copytree(case.cache, folder / "cache")
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as complaint:
        given.write(case.standard_input)
        given.seek(0)
        process = subprocess.Popen(
            [command, *case.arguments], cwd=folder, stdin=given, stdout=subprocess.DEVNULL, stderr=complaint,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (most_seconds, most_seconds)),
        )  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        complaint.seek(0)
        text = complaint.read(2000).decode(errors="replace").strip()
    return Took(used.ru_utime + used.ru_stime, process.returncode, text)


def trouble_with(command: str, case: Case, folder: Path, slower: float) -> str | None:
    """What is wrong, if anything."""
    limit = limit_of(case, slower)
    took = run_once(command, case, folder, int(limit * MOST_TIMES) + 1)
    for _ in range(1, TRIES):
        if took.seconds <= limit or took.status < 0:
            break
        again = run_once(command, case, folder, int(limit * MOST_TIMES) + 1)
        took = min(took, again)
    if took.seconds > limit:
        return f"{took.seconds:.2f} s of processor time for {size_of(case)} bytes, {limit:.2f} allowed"
    if took.status not in (0, 1, 2):
        return f"ended with {took.status}: {took.complaint}"
    if took.status == 2 and not took.complaint:
        return "refused without a reason"
    return None


# ---- what is always tried ----


def key_of(name: str, text: str, *arguments: str, **files: bytes) -> Case:
    return Case(f"key: {name}", ["key", *arguments, "d.json"], {"d.json": text.encode(), **files})


def fixed() -> Iterator[Case]:
    """What once took minutes."""
    yield key_of("a product of 28 sums", described(inputs=inputs([symbolic(EXPRESSIONS["product of sums"](28))])))
    yield key_of("a sum of 3,000 symbols", described(inputs=inputs([symbolic(EXPRESSIONS["sum"](3000))])))
    yield key_of("256 lazy rules on 1 MB", described(options={"t": ("ab" * 50 + "\n") * 10000 + "c 0123456789"}),
                 "--rules", "r.json", **{"r.json": lazy_rules(256).encode()})  # fmt: skip
    sides = [described(**{f"{letter}{i}": i for i in range(40000)}).encode() for letter in "jk"]
    yield Case("diff: 40,000 components of other names", ["diff", "a.json", "b.json"],
               {"a.json": sides[0], "b.json": sides[1]})  # fmt: skip
    yield Case("diff: 200 integers of 4,300 digits with themselves", ["diff", "a.json", "a.json"],
               {"a.json": described(opt=[int("9" * 4300)] * 200).encode()})  # fmt: skip
    rules = {"format": "guardcache-rules/1", "name": "own", "text": [
        {"path": "options.t", "kind": "drop", "pattern": "x(?=.*y)3", "why": "it looks to the end from each place"}]}  # fmt: skip
    yield key_of("a look ahead from each place of 1 MB", described(options={"t": 'jax = "jl_' * 100000 + "y"}),
                 "--rules", "r.json", **{"r.json": json.dumps(rules).encode()})  # fmt: skip
    yield key_of("a blank line of 300 kB before a location", text_of("stablehlo", "loc() " + " " * 300000))


def grown_to(grower: Any, size: int) -> str:
    """Of about that size; growers that nest stay smaller."""
    count = max(1, size // 16)
    text = grower(count)
    for _ in range(2):
        if not size / 2 < len(text) < size * 2:
            text = grower(max(1, min(count * 4, int(count * size / max(len(text), 1)))))
    return str(text)


def guarded(name: str, text: str) -> list[Case]:
    hints = {f"s{i}": i + 3 for i in range(400)}
    line = json.dumps({"guard": text, "hints": hints}).encode() + b"\n"
    cases = [Case(f"guard eval: {name}", ["guard", "eval", "--batch"], {}, line)]
    if len(text) < 100000:  # an argument can't be longer
        cases += [Case(f"guard {what}: {name}", ["guard", what, text], {}) for what in ("fmt", "show")]
    return cases


def is_thorough() -> bool:
    return int(os.environ.get("GUARDCACHE_EFFORT", "1")) > 1 or "GUARDCACHE_SECONDS" in os.environ


def grown(size: int) -> Iterator[Case]:
    """Each of the growers; one in three for the quick test."""
    chance = random.Random(os.environ.get("GUARDCACHE_SEED", "1"))  # noqa: S311 - not for secrets
    for name, grower in DESCRIPTIONS.items():
        if is_thorough() or chance.randrange(3) == 0:
            yield key_of(name, grown_to(grower, size))
    for name, grower in GUARDS.items():
        if is_thorough() or chance.randrange(3) == 0:
            yield from guarded(name, grown_to(grower, size))


# ---- a cache's files, grown ----


def call(command: str, folder: Path, *arguments: str) -> None:
    done = subprocess.run([command, *arguments, "--cache", "cache"], cwd=folder, capture_output=True, timeout=60)
    if done.returncode not in (0, 1):
        sys.exit(f"guardcache {arguments[0]}: {done.stderr.decode()}")


def write_inputs(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "p").write_bytes(b"payload" * 100)
    (folder / "g.json").write_text(described(inputs=inputs([symbolic("s0"), symbolic("s1")])))


def make_cache(command: str, folder: Path) -> None:
    """A cache with a few entries under one key, some misses, and an export of it all."""
    write_inputs(folder)
    for i in range(6):
        call(command, folder, "insert", "--graph", "g.json", "--payload", "p", "--guard", f"s0 == {i}")
        call(command, folder, "lookup", "--graph", "g.json", "--hint", f"s0={i + 100}", "--hint", "s1=1")
    call(command, folder, "export", "all.gcx")


def explained(command: str, folder: Path) -> Iterator[Case]:
    """Misses of guards over integers of many digits, each of a value that is tried."""
    for guard in EXPLAINED:
        write_inputs(folder)
        call(command, folder, "insert", "--graph", "g.json", "--payload", "p", "--guard", guard)
        call(command, folder, "lookup", "--graph", "g.json", "--hint", "s0=3", "--hint", "s1=5")
        graph = {"g.json": (folder / "g.json").read_bytes()}
        asked = ["explain", "--graph", "g.json", "--hint", "s0=3", "--hint", "s1=5"]
        for arguments in (asked, ["explain", "--last"], ["report", "--html", "r.html"]):
            yield Case(f"{' '.join(arguments[:2])}: {guard}", [*arguments, "--cache", "cache"], graph, cache=str(folder / "cache"))
        shutil.rmtree(folder)


def repeated(chance: random.Random, content: bytes, size: int) -> bytes:
    """A slice of it many times; the slice may be a whole frame, for frames begin at multiples of 8."""
    start = chance.randrange(0, max(1, len(content)), 8)
    length = max(1, chance.choice([8, 64, len(content) - start, chance.randrange(1, len(content) + 1)]))
    slice_ = content[start : start + length] or b"\0"
    return content[: start + length] + slice_ * (size // len(slice_)) + content[start + length :]


class Stored(NamedTuple):
    cache: Path
    export: bytes


def damaged(chance: random.Random, stored: Stored, size: int, folder: Path) -> Case:
    """The command on an export or on a cache of which one file has grown."""
    if chance.random() < 0.4:
        return Case("import: a grown export", [chance.choice(["import", "show"]), "x.gcx", "--cache", "fresh"],
                    {"x.gcx": repeated(chance, stored.export, size)})  # fmt: skip
    grown_cache = folder / "grown"
    shutil.rmtree(grown_cache, ignore_errors=True)
    shutil.copytree(stored.cache, grown_cache)
    files = sorted(path for path in grown_cache.rglob("*") if path.is_file() and path.stat().st_size > 0)
    path = chance.choice(files)
    path.write_bytes(repeated(chance, path.read_bytes(), size))
    what = chance.choice([["verify"], ["repair"], ["ls"], ["stats"], ["journal"], ["explain", "--last"], ["gc"],
                          ["lookup", "--graph", "g.json", "--hint", "s0=3", "--hint", "s1=1"]])  # fmt: skip
    graph = {"g.json": described(inputs=inputs([symbolic("s0"), symbolic("s1")])).encode()}
    name = f"{what[0]}: {path.relative_to(grown_cache)} has grown"
    return Case(name, [*what, "--cache", "cache"], graph, cache=str(grown_cache))


# ---- seeds, grown at random ----


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    members: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in members:
        yield from places(inner, (*path, name))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for name in path:
        value = value[name]
    return value


def larger(chance: random.Random, value: Any, size: int) -> Any:
    """The value made large in one way or another."""
    unit = max(1, len(json.dumps(value)))
    times = max(2, min(size // unit, size // 4))
    if isinstance(value, str) and chance.random() < 0.6:
        if chance.random() < 0.5:
            return grown_to(chance.choice(list(EXPRESSIONS.values())), size)
        start = chance.randrange(len(value) + 1)
        part = value[start : start + chance.choice([1, 3, 10, 100, 1000])] or "x"
        return value[:start] + part * (size // len(part)) + value[start:]
    match chance.randrange(6):
        case 0:
            return [value] * times
        case 1:
            return {f"m{i}": value for i in range(times)}
        case 2:
            return {"$set": [[value, i] for i in range(times)]}
        case 3:
            wrap = chance.choice(["$tuple", "$set", None])
            for _ in range(chance.choice([20, 100, 400])):
                value = [value] if wrap is None else {wrap: [value]}
            return value
        case 4 if isinstance(value, list) and value:
            item = chance.choice(value)
            return value + [item] * max(2, size // max(1, len(json.dumps(item))))
        case _:
            return {"$sym": grown_to(chance.choice(list(EXPRESSIONS.values())), size)}


def grow_seed(chance: random.Random, seeds: list[Any], size: int) -> str:
    description = chance.choice(seeds)
    for _ in range(chance.choice([1, 1, 2])):
        # A copy in which nothing is shared: what is made large must not be so in many places at once.
        description = json.loads(json.dumps(description))
        path = chance.choice([path for path in places(description) if path])
        at(description, path[:-1])[path[-1]] = larger(chance, at(description, path), size)
    return json.dumps(description)


def drawn(chance: random.Random, seeds: list[Any], stored: Stored, size: int, folder: Path) -> Case:
    match chance.randrange(10):
        case 0 | 1 | 2:
            return key_of("a grown seed", grow_seed(chance, seeds, size))
        case 3 | 4:
            kind = chance.choice(KINDS)
            return key_of(f"repeated pieces, {kind}", text_of(kind, pieces(chance, size // 2)))
        case 5:
            rules = rule_set(chance, chance.choice([1, 10, 256]))
            text = described(options={"t": pieces(chance, size)})
            return key_of("grown rules", text, "--rules", "r.json", **{"r.json": rules.encode()})
        case 6:
            a, b = (grow_seed(chance, seeds, size // 2) for _ in range(2))
            return Case("diff: grown seeds", ["diff", "a.json", "b.json"], {"a.json": a.encode(), "b.json": b.encode()})
        case 7:
            grower = chance.choice(list(GUARDS.values()))
            return chance.choice(guarded("a grown one", grown_to(grower, size)))
        case _:
            return damaged(chance, stored, size, folder)


def read_seeds(fixtures: Path) -> list[Any]:
    seeds = []
    for path in sorted((fixtures / "fuzz/description").iterdir()):
        try:
            seed = json.loads(path.read_bytes())
        except ValueError:
            continue
        if isinstance(seed, dict):
            seeds.append(seed)
    return seeds


# ---- running ----


def random_cases(options: argparse.Namespace, folder: Path) -> Iterator[Case]:
    seed = int(os.environ.get("GUARDCACHE_SEED", "1"))
    seconds = int(os.environ.get("GUARDCACHE_SECONDS", "0"))
    rounds = SEEDS_GROWN * int(os.environ.get("GUARDCACHE_EFFORT", "1"))
    seeds = read_seeds(Path(options.fixtures))
    make_cache(options.command, folder)
    stored = Stored(folder / "cache", (folder / "all.gcx").read_bytes())
    kept = folder / "kept"
    stored.cache.rename(kept)
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end if seconds else number < rounds:
        chance = random.Random(f"{seed}.{number}")  # noqa: S311 - not for secrets
        most = LARGEST_KILOBYTES if seconds else 10 * GROWN_KILOBYTES
        size = 1024 * chance.choice([1, 10, GROWN_KILOBYTES, chance.randrange(1, most)])
        case = drawn(chance, seeds, Stored(kept, stored.export), size, folder)
        yield case._replace(name=f"{case.name} (seed {seed}, number {number})")
        number += 1


def keep(case: Case, number: int) -> str:
    """What failed, kept for a look at it."""
    folder = Path(tempfile.mkdtemp(prefix=f"guardcache-complexity-{number}-"))
    for name, content in {**case.files, "standard-input": case.standard_input}.items():
        (folder / name).write_bytes(content)
    if case.cache:
        shutil.copytree(case.cache, folder / "cache")
    return f"guardcache {' '.join(word if len(word) < 200 else '...' for word in case.arguments)} in {folder}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    parser.add_argument("--fixtures", required=True)
    parser.add_argument("--slower", type=float, default=1)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.command = str(Path(options.command).resolve())
    tried = failed = 0
    sys.setrecursionlimit(100000)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        misses = explained(options.command, folder / "explained")
        for cases in (fixed(), grown(1024 * GROWN_KILOBYTES), misses, random_cases(options, folder)):
            for case in cases:
                if options.names and not any(name in case.name for name in options.names):
                    continue
                tried += 1
                trouble = trouble_with(options.command, case, folder, options.slower)
                if trouble is not None:
                    failed += 1
                    print(f"{case.name}: {trouble}\n    {keep(case, failed)}", flush=True)
    print(f"{tried} inputs, {failed} out of proportion")
    return 0 if failed == 0 and tried > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
