"""A cache with everything in it that a cache can hold, and the questions whose answers are known."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import harms

# No command takes a tenth of this, under sanitizers and in a crowd neither: longer is a hang.
SECONDS = 10.0
HOUR_AND_A_HALF = 5400
CACHE = "cache"


@dataclass
class Outcome:
    """How a command ended; status is None if it had to be stopped."""

    status: int | None
    out: str
    err: str


class Command:
    """The command on one cache, with a small fixed environment."""

    def __init__(self, program: Path, beside: Path, scratch: Path) -> None:
        self.program = program
        self.beside = beside
        self.scratch = scratch
        self.cache = scratch / CACHE
        self.environment = {name: os.environ[name] for name in os.environ if name.endswith("SAN_OPTIONS")} | {
            "PATH": "/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
            "HOME": str(scratch),
            "GUARDCACHE_DIR": str(self.cache),
            # Nobody cuts the power here.
            "GUARDCACHE_DURABILITY": "none",
        }

    def run(self, *words: str) -> Outcome:
        return self.start([str(self.program), *words])

    def run_beside(self, what: str) -> Outcome:
        return self.start([str(self.beside), str(self.cache), what])

    def start(self, words: list[str]) -> Outcome:
        try:
            done = subprocess.run(
                words, cwd=self.scratch, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                timeout=SECONDS, check=False, text=True, errors="replace",
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Outcome(None, "", "")
        return Outcome(done.returncode, done.stdout, done.stderr)


@dataclass
class Entry:
    """One stored variant, and where it lies."""

    name: str
    graph: str  # file names in the scratch folder
    hint: int
    payload: str
    attachments: dict[str, str] = field(default_factory=dict)
    priority: int = 0
    space: str = ""
    fallback: str = ""  # the payload that may be handed out in place of this one's, which ranks lower
    key: str = ""
    index: str = ""  # its candidate index, a path in the cache
    records: list[str] = field(default_factory=list)  # what must be whole for it to be served

    def question(self) -> list[str]:
        space = ["--namespace", self.space] if self.space else []
        return ["--graph", self.graph, "--hint", f"s0={self.hint}", *space]

    def insertion(self) -> list[str]:
        attached = [word for name, file in self.attachments.items() for word in ("--attach", f"{name}={file}")]
        return [
            "insert", *self.question(), "--guard", f"s0 == {self.hint}", "--payload", self.payload,
            "--priority", str(self.priority), "--compile-ns", "1000000", *attached,
        ]  # fmt: skip


def description(target: str, constants: int = 0) -> dict[str, object]:
    """A graph of one call. Constants make it large: ten thousand, compressed, need a file of their own."""
    nodes = [
        {"name": "x", "op": "placeholder", "target": "x", "args": [], "kwargs": {}},
        {"name": "y", "op": "call_function", "target": target, "args": [{"$node": "x"}], "kwargs": {}},
        {"name": "output", "op": "output", "target": "output", "args": [{"$node": "y"}], "kwargs": {}},
    ]
    tensor = {"dtype": "float32", "shape": ["s0", 16], "device": "cpu"}
    return {
        "format": "guardcache-graph/1",
        "kind": "generic",
        "graph": {"nodes": nodes},
        "inputs": [{"name": "x", "value": {"$tensor": tensor}}],
        "options": {"notes": [Random(number).randbytes(16).hex() for number in range(constants)]},
        "environment": {"compiler": "1.0"},
    }


ENTRIES = [
    Entry("small 1", "small.json", 1, "small1"),
    Entry("small 2", "small.json", 2, "small2"),
    Entry("small 3", "small.json", 3, "small3"),
    Entry("large 1", "large.json", 1, "large1"),
    Entry("large 2", "large.json", 2, "large2"),
    Entry("first choice", "ranked.json", 1, "large3", priority=1, fallback="small4"),
    Entry("second choice", "ranked.json", 1, "small4"),
    Entry("with files", "attached.json", 1, "small5", {"lib/kernel.so": "kernel.so", "kernel.cpp": "kernel.cpp"}),
    Entry("first with a file", "replaced.json", 1, "small6", {"tool": "tool"}, priority=1, fallback="small7"),
    Entry("second without", "replaced.json", 1, "small7"),
    Entry("described", "described.json", 1, "small8"),
    Entry("in a namespace", "small.json", 1, "small9", space="team"),
    Entry("stored last", "last.json", 1, "large4"),
]  # fmt: skip
# Ranks below another one: asked for through that.
ASKED = [entry for entry in ENTRIES if entry.name not in ("second choice", "second without")]


def write_files(scratch: Path) -> None:
    for number in range(1, 10):
        (scratch / f"small{number}").write_bytes(Random(number).randbytes(300))
    # What comes first under its key lies in its candidate index up to 128 KiB: the last one does, the others have files.
    for number, size in enumerate((200_000, 100_000, 150_000, 100_000), 1):
        (scratch / f"large{number}").write_bytes(Random(100 + number).randbytes(size))
    for name, size in {"kernel.so": 30_000, "kernel.cpp": 2_000, "tool": 5_000, "payload": 500}.items():
        (scratch / name).write_bytes(Random(size).randbytes(size))
    for name in ("small", "large", "ranked", "attached", "replaced", "last", "gone", "new", "hurt", "absent"):
        (scratch / f"{name}.json").write_text(json.dumps(description(f"torch.{name}")))
    (scratch / "described.json").write_text(json.dumps(description("torch.described", 10_000)))
    outside = scratch / harms.ELSEWHERE
    outside.mkdir()
    (outside / "file").write_text("of somebody else\n")


def must(outcome: Outcome, statuses: tuple[int, ...] = (0,)) -> str:
    if outcome.status not in statuses:
        sys.exit(f"the cache can't be made: status {outcome.status}: {outcome.err or outcome.out}")
    return outcome.out.strip()


def put_something_aside(command: Command) -> None:
    """An entry is damaged, found so by a lookup, and stored again."""
    insertion = ["insert", "--graph", "hurt.json", "--payload", "large3"]
    entry = must(command.run(*insertion)).split()[0]
    file = next(command.cache.glob(f"entries/*/*.{entry}.entry"))
    harms.flip(file, 5000, 1)
    must(command.run("lookup", "--graph", "hurt.json"), (1,))
    must(command.run(*insertion))


def leave_temporary_files(cache: Path) -> None:
    for number, age in enumerate((0, HOUR_AND_A_HALF)):
        file = cache / f"tmp/{number:016x}"
        file.write_bytes(bytes(3000))
        os.utime(file, (time.time() - age, time.time() - age))


def index_of(cache: Path, key: str) -> str:
    """The file that has the key's candidate index: its own, or a pool."""
    folder = cache / "entries" / key[:2]
    own = folder / f"{key}.pack"
    pools = [pool for pool in folder.glob("*.pool") if bytes.fromhex(key) in pool.read_bytes()]
    return str((own if own.exists() else pools[0]).relative_to(cache))


def find_records(command: Command, entry: Entry, identifier: str) -> None:
    """Notes which files hold the entry."""
    shown = json.loads(must(command.run("show", "--json", identifier)))
    own = command.cache.glob(f"entries/*/*.{identifier}.entry")
    entry.key = shown["key"]
    entry.index = index_of(command.cache, entry.key)
    entry.records = [str(path.relative_to(command.cache)) for path in own] or [entry.index]
    for file in entry.attachments.values():
        content = (command.scratch / file).read_bytes()
        same = [path for path in command.cache.glob("attachments/*/*") if path.read_bytes() == content]
        entry.records += [str(path.relative_to(command.cache)) for path in same]


def keys_of(command: Command) -> dict[str, str]:
    """What each key was computed from."""
    keys = {entry.key: f"{Path(entry.graph).stem}-{entry.space}" for entry in ENTRIES}
    for line in must(command.run("key", *(path.name for path in command.scratch.glob("*.json")))).splitlines():
        keys[line.split()[0]] = Path(line.split()[1]).stem
    return keys


def make(command: Command) -> dict[str, str]:
    """Makes the cache. What was stored last is in the segment only, the rest in index.db too."""
    write_files(command.scratch)
    identifiers = {}
    must(command.run("config", "max-size", "1G"))
    must(command.run("config", "--namespace", "team", "memory", "32M"))
    for entry in ENTRIES[:-1]:
        identifiers[entry.name] = must(command.run(*entry.insertion())).split()[0]
    gone = must(command.run("insert", "--graph", "gone.json", "--payload", "small1")).split()[0]
    must(command.run("rm", gone))
    candidate = must(command.run("insert", "--graph", "small.json", "--guard", "s0 == 7", "--payload", "small1")).split()[0]
    must(command.run("rm", candidate))
    put_something_aside(command)
    must(command.run("tune", "put", "--op", "mm", "--inputs", "16x16", "tile_16=1.5", "tile_32=2.5"))
    must(command.run("tune", "put", "--kernel", "k", "--config", "block=16", "--configs-hash", "h"))
    must(command.run_beside("make"))
    must(command.run("lookup", "--graph", "small.json", "--hint", "s0=1"))
    must(command.run("lookup", "--graph", "absent.json", "--hint", "s0=1"), (1,))
    must(command.run("gc"))
    must(command.run("verify"))
    identifiers[ENTRIES[-1].name] = must(command.run(*ENTRIES[-1].insertion())).split()[0]
    must(command.run("lookup", "--graph", "large.json", "--hint", "s0=9"), (1,))
    leave_temporary_files(command.cache)
    for entry in ENTRIES:
        find_records(command, entry, identifiers[entry.name])
    return keys_of(command)


def copy(command: Command, scratch: Path) -> Command:
    """The same cache in another place."""
    shutil.copytree(command.scratch, scratch, symlinks=True)
    return Command(command.program, command.beside, scratch)
