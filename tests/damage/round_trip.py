#!/usr/bin/env python3
"""The way back from damage: a cache with everything in it, one file or folder of it harmed, and then

  no command hangs; a lookup gives the bytes that were stored, or misses; entries whose records lie elsewhere are served;
  inserts work and settings can be changed; verify says that something is wrong if an entry is lost; repair exits 0, then verify
  does, and says the same as the counters; what was lost can be stored again.

usage: round_trip.py --command FILE --beside FILE [--all] [--seconds N] [--seed N] [--jobs N] [--list] [CASE]...

A case is HARM:PATH:ORDER as printed, PATH as in --list. Without any: a spread in which every file and every harm occurs; with
--all or GUARDCACHE_EFFORT above 1 every harm to every file; with --seconds or GUARDCACHE_SECONDS random ones, also two at once,
for so long.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random

import harms
import subject

# What is asked first after the damage.
ORDERS = ("verify", "lookup", "insert", "repair")


@dataclass(frozen=True)
class Case:
    """Harms to paths, which are given as --list shows them, and what is asked first."""

    hurts: tuple[tuple[str, str], ...]
    order: str
    seed: int = 0

    def __str__(self) -> str:
        seed = f":{self.seed}" if self.seed else ""
        return "+".join(f"{harm}:{place}" for harm, place in self.hurts) + f":{self.order}{seed}"


def parse_case(text: str) -> Case:
    *hurts, last = text.split("+")
    harm, place, order, *seed = last.split(":")
    pairs = [tuple(hurt.split(":")) for hurt in hurts] + [(harm, place)]
    return Case(tuple((pair[0], pair[1]) for pair in pairs), order, int(seed[0]) if seed else 0)


class Places:
    """The files and folders of the cache under names that stay the same from run to run."""

    def __init__(self, cache: Path, keys: dict[str, str]) -> None:
        self.files: dict[str, str] = {}
        self.folders: dict[str, str] = {}
        self.keys = keys
        self.labels = {
            place: name
            for entry in subject.ENTRIES
            for place, name in zip(entry.records, self.names_of(entry), strict=True)
        }
        for path in sorted(cache.rglob("*")):
            place = str(path.relative_to(cache))
            # What a compiler has in a directory of its own is none of ours.
            if place.startswith("sub/own/"):
                continue
            table = self.folders if path.is_dir() else self.files
            name = self.name(place)
            number = sum(other.rstrip("23456789") == name for other in table) + 1
            table[name if number == 1 else f"{name}{number}"] = place

    @staticmethod
    def names_of(entry: subject.Entry) -> list[str]:
        stem = f"entries/{entry.name.replace(' ', '-')}.entry"
        return [stem, *(f"attachments/{file}" for file in entry.attachments.values())]

    def name(self, place: str) -> str:
        """The path without what is random in it."""
        parts = place.split("/")
        stem, dot, suffix = parts[-1].rpartition(".")
        if parts[0] == "entries" and len(parts) == 2:
            return "entries/" + next(name for key, name in self.keys.items() if key.startswith(parts[1]))
        if suffix in ("pack", "description"):
            return f"entries/{self.keys[stem]}.{suffix}"
        if place in self.labels:
            return self.labels[place]
        if len(parts) > 1 and parts[0] in ("entries", "attachments", "blobs", "shared", "tmp", "quarantine"):
            return "/".join([parts[0], *"*" * (len(parts) - 1)]) + (f".{suffix}" if dot else "")
        return "locks/leases/*" if place.startswith("locks/leases/") else place

    def path(self, name: str) -> str:
        return self.files.get(name) or self.folders[name]


class Trial:
    """One case: complaints are what it found wrong."""

    def __init__(self, case: Case, places: Places, command: subject.Command) -> None:
        self.case = case
        self.command = command
        self.hurt = [places.path(name) for _, name in case.hurts]
        self.complaints: list[str] = []
        self.detected: bool | None = None

    def complain(self, text: str) -> None:
        self.complaints.append(text)

    def harm(self) -> None:
        random = Random(f"{self.case}")
        for (harm, _), place in zip(self.case.hurts, self.hurt, strict=True):
            path = self.command.cache / place
            # The first may have left nothing there that has bytes.
            if path.is_file() or (harm in harms.OF_FOLDERS and os.path.lexists(path)):
                (harms.OF_FILES | harms.OF_FOLDERS | harms.RANDOM_OF_FILES)[harm](path, random)

    # ---- what must hold ----

    def ask(self, when: str, statuses: tuple[int, ...], *words: str) -> subject.Outcome:
        outcome = self.command.run(*words)
        if outcome.status is None:
            self.complain(f"{when}: {' '.join(words[:4])} hangs")
        elif outcome.status not in statuses:
            text = (outcome.err or outcome.out).strip().splitlines() or [""]
            self.complain(f"{when}: {' '.join(words[:4])}: status {outcome.status}: {text[-1]}")
        return outcome

    def is_hurt(self, place: str) -> bool:
        """The file itself, or a folder it lies in."""
        return any(place == hurt or place.startswith(f"{hurt}/") for hurt in self.hurt)

    def may_miss(self, entry: subject.Entry, repaired: bool) -> bool:
        return any(map(self.is_hurt, entry.records)) or (not repaired and self.is_hurt(entry.index))

    def is_right(self, entry: subject.Entry, where: Path) -> bool:
        """Whether a hit's files are those of the entry, or of the one that ranks behind it."""
        scratch = self.command.scratch
        found = (where / "found").read_bytes()
        if entry.fallback and found == (scratch / entry.fallback).read_bytes():
            return True
        return found == (scratch / entry.payload).read_bytes() and all(
            (where / "placed" / name).read_bytes() == (scratch / file).read_bytes()
            for name, file in entry.attachments.items()
        )

    def look_up(self, when: str, entry: subject.Entry, repaired: bool) -> bool:
        where = self.command.scratch / "answer"
        shutil.rmtree(where, ignore_errors=True)
        where.mkdir()
        words = ["lookup", *entry.question(), "--out", str(where / "found"), "--place", str(where / "placed")]
        outcome = self.ask(f"{when}, {entry.name}", (0, 1), *words)
        if outcome.status == 0 and not self.is_right(entry, where):
            self.complain(f"{when}: {entry.name}: wrong bytes")
        if outcome.status == 1 and entry.fallback and not self.is_hurt(entry.index):
            self.complain(f"{when}: {entry.name}: the one behind it isn't served: {outcome.err.strip()}")
        elif outcome.status == 1 and not self.may_miss(entry, repaired):
            self.complain(f"{when}: {entry.name} is lost: {outcome.err.strip()}")
        return outcome.status == 0

    def look_all_up(self, when: str, repaired: bool) -> list[subject.Entry]:
        """The entries that aren't there."""
        return [entry for entry in subject.ASKED if not self.look_up(when, entry, repaired)]

    def insert_new(self, when: str, number: int) -> None:
        question = ["--graph", "new.json", "--hint", f"s0={number}"]
        self.ask(when, (0,), "insert", *question, "--guard", f"s0 == {number}", "--payload", "payload")
        self.ask(f"{when}, then", (0,), "lookup", *question)

    def insert_again(self, when: str, lost: list[subject.Entry]) -> None:
        for entry in lost:
            self.ask(when, (0,), *entry.insertion())
            if not self.look_up(f"{when}, stored again", entry, True):
                self.complain(f"{when}: {entry.name} was stored again and isn't found")

    def verify(self, when: str, clean: bool) -> None:
        outcome = self.ask(when, (0,) if clean else (0, 1), "verify", "--json")
        if outcome.status == 1 and clean:
            self.complain(f"{when}: {outcome.out.strip()[:400]}")
        if self.detected is None and not clean:
            self.detected = outcome.status == 1
        if outcome.status == 0 and clean:
            told = json.loads(outcome.out)
            stats = json.loads(self.ask(when, (0,), "stats", "--json").out)["store"]
            if (stats["entries"], stats["keys"]) != (told["entries"], told["keys"]):
                self.complain(f"{when}: verify counts {told['entries']} entries, stats {stats['entries']}")

    def look_around(self, when: str, whole: bool) -> None:
        """Everything else that opens a cache. An export says what it had to leave out."""
        self.ask(when, (0,), "ls")
        self.ask(when, (0,), "stats")
        self.ask(when, (0, 1), "explain", "--graph", "absent.json", "--hint", "s0=1")
        self.ask(when, (0, 1), "explain", "--last", "3")
        self.ask(when, (0,), "journal")
        self.ask(when, (0, 1), "doctor")
        self.ask(when, (0,), "tune", "ls")
        self.ask(when, (0,) if whole else (0, 1), "export", "exported")
        self.ask(when, (0, 1), "verify", "--set", "read-only")
        self.ask(when, (0,), "gc")

    def configure(self, when: str) -> None:
        self.ask(when, (0,), "config")
        self.ask(when, (0,), "config", "memory", "16M")
        self.ask(when, (0,), "config", "--unset", "memory")

    def use_beside(self, when: str) -> None:
        outcome = self.command.run_beside("check")
        if outcome.status != 0:
            self.complain(f"{when}: beside: status {outcome.status}: {outcome.out.strip() or outcome.err.strip()[-300:]}")

    # ---- the way back ----

    def use_damaged(self) -> None:
        """Everything is asked of the damaged cache, `order` first."""
        when = "damaged"
        if self.case.order == "verify":
            self.verify(when, False)
        if self.case.order == "insert":
            self.insert_new(when, 1)
        self.look_all_up(when, False)
        self.look_around(when, False)
        self.configure(when)
        self.use_beside(when)
        if self.case.order != "insert":
            self.insert_new(when, 1)
        if self.case.order == "lookup":
            self.verify(when, False)

    def use_repaired(self) -> None:
        when = "repaired"
        self.verify(when, True)
        lost = self.look_all_up(when, True)
        if lost and self.case.order == "verify" and self.detected is False:
            self.complain(f"verify said nothing, but {len(lost)} are lost: {', '.join(e.name for e in lost)}")
        self.insert_again(when, lost)
        self.insert_new(when, 2)
        self.configure(when)
        self.use_beside(when)
        self.look_around(when, True)
        self.verify("in the end", True)

    def run(self) -> list[str]:
        try:
            self.harm()
            if self.case.order != "repair":
                self.use_damaged()
            self.ask("repair", (0,), "repair")
            self.use_repaired()
        except (OSError, ValueError) as trouble:
            self.complain(f"the test itself: {trouble!r}")
        return self.complaints


# ---- which cases ----


def all_cases(places: Places) -> list[Case]:
    """Each harm to each place; what is asked first takes turns."""
    pairs = [(harm, name) for name in places.files for harm in harms.OF_FILES]
    pairs += [(harm, name) for name in places.folders for harm in harms.OF_FOLDERS]
    return [Case(((harm, name),), ORDERS[i % len(ORDERS)]) for i, (harm, name) in enumerate(pairs)]


def spread(places: Places) -> list[Case]:
    """Few cases in which every kind of place and every harm occurs."""
    cases = []
    for table, harms_of in ((places.files, harms.OF_FILES), (places.folders, harms.OF_FOLDERS)):
        names = [name for name in table if name[-1] not in "23456789"]
        for i in range(max(len(names), len(harms_of))):
            hurt = (list(harms_of)[i * 7 % len(harms_of)], names[i % len(names)])
            cases.append(Case((hurt,), ORDERS[i % len(ORDERS)]))
    return cases


def random_case(places: Places, random: Random) -> Case:
    hurts = []
    for _ in range(random.choice((1, 1, 2))):
        if random.random() < 0.2:
            hurts.append((random.choice(list(harms.OF_FOLDERS)), random.choice(list(places.folders))))
        else:
            table = random.choice((harms.OF_FILES, harms.RANDOM_OF_FILES, harms.RANDOM_OF_FILES))
            hurts.append((random.choice(list(table)), random.choice(list(places.files))))
    return Case(tuple(hurts), random.choice(ORDERS), random.randrange(1, 1 << 32))


# ---- running ----


class Runner:
    def __init__(self, original: subject.Command, places: Places, folder: Path) -> None:
        self.original = original
        self.places = places
        self.folder = folder
        self.failed: list[Case] = []
        self.count = 0

    def try_case(self, case: Case) -> tuple[Case, list[str]]:
        scratch = Path(tempfile.mkdtemp(dir=self.folder))
        command = subject.copy(self.original, scratch / "here")
        complaints = Trial(case, self.places, command).run()
        subprocess.run(["rm", "-rf", str(scratch)], check=False)
        return case, complaints

    def note(self, case: Case, complaints: list[str]) -> None:
        self.count += 1
        if complaints:
            self.failed.append(case)
            print(f"{case}")
            for text in complaints[:8]:
                print(f"    {text}")
            sys.stdout.flush()

    def run(self, cases: list[Case], jobs: int) -> None:
        with ThreadPoolExecutor(jobs) as pool:
            for case, complaints in pool.map(self.try_case, cases):
                self.note(case, complaints)

    def run_random(self, seed: int, seconds: float, jobs: int) -> None:
        random = Random(seed)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.run([random_case(self.places, random) for _ in range(16)], jobs)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", type=Path, required=True)
    parser.add_argument("--beside", type=Path, required=True)
    parser.add_argument("--all", action="store_true", default=int(os.environ.get("GUARDCACHE_EFFORT", "1")) > 1)
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("GUARDCACHE_SECONDS", "0")))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("GUARDCACHE_SEED", "1")))
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--list", action="store_true", help="the places, and what can be done to them")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    return parser.parse_args()


def run(wanted: argparse.Namespace, folder: Path) -> int:
    original = subject.Command(wanted.command.resolve(), wanted.beside.resolve(), folder / "original")
    original.scratch.mkdir()
    places = Places(original.cache, subject.make(original))
    if wanted.list:
        print("\n".join([*places.files, *places.folders, "", *harms.OF_FILES, "", *harms.OF_FOLDERS]))
        return 0
    runner = Runner(original, places, folder)
    if wanted.cases:
        runner.run([parse_case(text) for text in wanted.cases], wanted.jobs)
    elif wanted.seconds > 0:
        runner.run_random(wanted.seed, wanted.seconds, wanted.jobs)
    else:
        runner.run(all_cases(places) if wanted.all else spread(places), wanted.jobs)
    print(f"    {runner.count} damages, {len(runner.failed)} without a way back")
    return 1 if runner.failed else 0


def main() -> None:
    wanted = arguments()
    with tempfile.TemporaryDirectory(prefix="guardcache-damage-") as folder:
        sys.exit(run(wanted, Path(folder)))


main()
