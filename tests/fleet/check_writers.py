#!/usr/bin/env python3
"""No candidate is lost: writers on hosts of their own store under the same keys while the server and they are killed.

    check_writers.py --worker FILE --command FILE [--tier redis|file] [--writers 16] [--candidates 50] [--keys 200] [--pieces 1]
        [--kills 4] [--seconds N]

--tier file: a directory that all hosts mount; there only writers are killed. --seconds: as many pieces as begin within that.

Whatever a writer stored and flushed must be found afterwards from an empty directory: with its own bytes, for hints that its
guard holds for and for no others, signed. --candidates is per writer and piece; each piece has keys of its own.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from fleet import Died, Server, Trial, Worker, drive, parser

SIGNED = {"sign": "fleet:a secret of the fleet", "require": "1"}
STRANGERS = {"sign": "stranger:another secret", "require": "1"}
# So many are stored before they are flushed, at least, and so many times.
BATCH = 5
FLUSHES = 100
# Each lookup reads all heads of its key: beyond so many candidates a writer that is too much for all of them.
MANY = 200
FLUSH_MS = 90000


@dataclass
class Writing:
    """What one writer has been promised: runs of candidates (first, count)."""

    trial: Trial
    name: str
    url: str
    number: int
    kept: list[tuple[int, int]] = field(default_factory=list)
    refused: int = 0
    done: int = 0
    ended: bool = False

    def __post_init__(self) -> None:
        self.worker = self.start()

    def start(self) -> Worker:
        return self.trial.worker(self.name, self.url, **SIGNED)

    def write(self, keys: int, first: int, step: int, count: int) -> None:
        batch = max(BATCH, count // FLUSHES)
        for at in range(0, count, batch):
            size = min(batch, count - at)
            value = first + (at * step) + self.number
            try:
                answer = self.worker.ask("write", keys, value, step, size, FLUSH_MS)
            except Died:
                # Killed: nothing was promised of these.
                self.worker.kill()
                self.worker = self.start()
                answer = {"status": "killed"}
            if answer["status"] == "ok":
                self.kept.append((value, size))
            else:
                self.refused += size
                if answer["status"] != "killed":
                    print(f"writer {self.number}: {answer}")
            self.done += size
        self.ended = True


def harass(server: Server | None, trial: Trial, writing: list[Writing], total: int, kills: int) -> None:
    """Kills the server, and a writer, whenever another part of the work is done."""
    for kill in range(1, kills + 1):
        part = total * kill // (kills + 1)
        while sum(one.done for one in writing) < part:
            time.sleep(0.005)
        victim = trial.random.choice(writing)
        if not victim.ended:
            victim.worker.process.kill()
        if server is not None:
            server.kill()
            time.sleep(trial.random.uniform(0.05, 0.4))
            server.start()


def count_found(trial: Trial, reader: Worker, writing: list[Writing], keys: int, step: int, runs: int | None = None) -> int:
    """Looks up each candidate of the first `runs` runs that every writer was promised, or of all."""
    found = 0
    for one in writing:
        for value, size in one.kept[:runs]:
            answer = reader.ask("check", keys, value, step, size)
            found += answer["right"]
            trial.expect(
                answer == {"right": size, "wrong": 0, "missed": 0, "served_against_guards": 0},
                f"writer {one.number} was promised {size} candidates from {value} on: {answer}",
            )
    return found


def check(trial: Trial, url: str, writing: list[Writing], keys: int, step: int, piece: int) -> int:
    """From an empty directory: one by one, where they are many a few of them, and all after they were pulled into another; and from
    one whose key is a stranger's."""
    many = trial.options.candidates > MANY
    reader = trial.worker(f"reader-{piece}", url, **SIGNED)
    found = count_found(trial, reader, writing, keys, step, 1 if many else None)
    readers = [reader]
    if many:
        readers.append(trial.worker(f"puller-{piece}", url, **SIGNED))
        pulled = readers[1].ask("pull")
        trial.expect(pulled["status"] == "ok" and pulled["left_out"] == 0, f"pulling: {pulled}")
        found = count_found(trial, readers[1], writing, keys, step)
    for one in readers:
        counts = one.ask("counts")
        trial.expect(counts["refused"] == 0, f"a reader refused what the fleet signed: {counts}")
    readers.append(trial.worker(f"stranger-{piece}", url, **STRANGERS))
    for writer in writing:
        for value, size in writer.kept[:1]:
            answer = readers[-1].ask("check", keys, value, step, size)
            trial.expect(answer["missed"] == size, f"who has another key got what the fleet signed: {answer}")
    for one in readers:
        trial.expect(one.end() == 0, f"a reader ended badly: {one.log.read_text()[-2000:]}")
    return found


def run_piece(trial: Trial, server: Server | None, piece: int) -> None:
    options = trial.options
    step, total = options.writers, options.writers * options.candidates
    url = server.url("timeout-ms=5000") if server is not None else f"file://{trial.folder('shared')}"
    if server is None:
        trial.folder("shared").mkdir()
    writing = [Writing(trial, f"writer-{piece}-{n}", url, n) for n in range(options.writers)]
    began = time.monotonic()
    first = piece * 1_000_000_000 # the worker has other keys for each billion
    threads = [threading.Thread(target=one.write, args=(options.keys, first, step, options.candidates)) for one in writing]
    for thread in threads:
        thread.start()
    harass(server, trial, writing, total, options.kills)
    for thread in threads:
        thread.join()
    wrote = time.monotonic() - began
    for one in writing:
        trial.expect(one.worker.end() == 0, f"writer {one.number} ended badly: {one.worker.log.read_text()[-2000:]}")
    kept = sum(size for one in writing for _, size in one.kept)
    refused = sum(one.refused for one in writing)
    trial.expect(kept + refused == total, f"{total} were to be stored, and {kept} and {refused} are accounted for")
    most_refused = options.kills * max(BATCH, options.candidates // FLUSHES)
    trial.expect(refused <= most_refused, f"only {kept} of {total} were stored and flushed")
    found = check(trial, url, writing, options.keys, step, piece)
    killed = "a writer and of the server" if server is not None else "a writer"
    print(
        f"    {options.writers} writers, {kept} of {total} candidates on {options.keys} keys stored and flushed in {wrote:.1f} s, "
        f"{options.kills} kills of {killed}; {kept - found} lost; checked in {time.monotonic() - began - wrote:.1f} s",
        flush=True,
    )


def run(trial: Trial) -> None:
    options, began = trial.options, time.monotonic()
    server = trial.server("--appendonly", "yes", "--appendfsync", "always") if options.tier == "redis" else None
    for piece in range(options.pieces):
        run_piece(trial, server, piece)
        if piece + 1 == options.pieces or (options.seconds != 0 and time.monotonic() - began > options.seconds):
            break
        if server is not None:
            with server.client() as client:
                client.ask("FLUSHALL")
        trial.forget()


def main() -> None:
    words = parser(__doc__)
    words.add_argument("--tier", choices=("redis", "file"), default="redis")
    words.add_argument("--writers", type=int, default=16)
    words.add_argument("--candidates", type=int, default=50)
    words.add_argument("--keys", type=int, default=200)
    words.add_argument("--pieces", type=int, default=1)
    words.add_argument("--kills", type=int, default=4)
    words.add_argument("--seconds", type=float, default=0)
    options = words.parse_args()
    drive(options, run, options.tier == "redis")


main()
