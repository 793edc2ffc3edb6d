#!/usr/bin/env python3
"""No candidate is lost: writers on hosts of their own store under the same keys while the server is killed again and again.

    check_writers.py --worker FILE --command FILE [--writers 16] [--candidates 50] [--keys 200] [--pieces 1] [--kills 4]

Whatever a writer stored and flushed must be found afterwards from an empty directory: with its own bytes, for hints that its
guard holds for and for no others, signed. --candidates is per writer and piece; each piece has keys of its own.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from fleet import Server, Trial, Worker, drive, parser

SIGNED = {"sign": "fleet:a secret of the fleet", "require": "1"}
STRANGERS = {"sign": "stranger:another secret", "require": "1"}
# So many are stored before they are flushed.
BATCH = 5
FLUSH_MS = 90000


@dataclass
class Writing:
    """What one writer has been promised: runs of candidates (first, count)."""

    worker: Worker
    number: int
    kept: list[tuple[int, int]] = field(default_factory=list)
    refused: int = 0
    done: int = 0

    def write(self, keys: int, first: int, step: int, count: int) -> None:
        for at in range(0, count, BATCH):
            size = min(BATCH, count - at)
            value = first + (at * step) + self.number
            answer = self.worker.ask("write", keys, value, step, size, FLUSH_MS)
            if answer["status"] == "ok":
                self.kept.append((value, size))
            else:
                self.refused += size
                print(f"writer {self.number}: {answer}")
            self.done += size


def harass(server: Server, trial: Trial, writing: list[Writing], total: int, kills: int) -> None:
    """Kills the server whenever another part of the work is done."""
    for kill in range(1, kills + 1):
        while sum(one.done for one in writing) < total * kill // (kills + 1):
            time.sleep(0.005)
        server.kill()
        time.sleep(trial.random.uniform(0.05, 0.4))
        server.start()


def check(trial: Trial, server: Server, writing: list[Writing], keys: int, step: int, piece: int) -> int:
    """From an empty directory, and from one whose key is a stranger's."""
    reader = trial.worker(f"reader-{piece}", server.url("timeout-ms=10000"), **SIGNED)
    found = 0
    for one in writing:
        for value, size in one.kept:
            answer = reader.ask("check", keys, value, step, size)
            found += answer["right"]
            trial.expect(
                answer == {"right": size, "wrong": 0, "missed": 0, "served_against_guards": 0},
                f"writer {one.number} was promised {size} candidates from {value} on: {answer}",
            )
    counts = reader.ask("counts")
    trial.expect(counts["refused"] == 0, f"the reader refused what the fleet signed: {counts}")
    stranger = trial.worker(f"stranger-{piece}", server.url("timeout-ms=10000"), **STRANGERS)
    for one in writing:
        for value, size in one.kept[:1]:
            answer = stranger.ask("check", keys, value, step, size)
            trial.expect(answer["missed"] == size, f"who has another key got what the fleet signed: {answer}")
    for worker in (reader, stranger):
        trial.expect(worker.end() == 0, f"a reader ended badly: {worker.log.read_text()[-2000:]}")
    return found


def run_piece(trial: Trial, server: Server, piece: int) -> None:
    options = trial.options
    step, total = options.writers, options.writers * options.candidates
    url = server.url("timeout-ms=5000")
    writing = [Writing(trial.worker(f"writer-{piece}-{n}", url, **SIGNED), n) for n in range(options.writers)]
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
    trial.expect(kept >= total // 2, f"only {kept} of {total} were stored and flushed")
    found = check(trial, server, writing, options.keys, step, piece)
    print(
        f"    {options.writers} writers, {kept} of {total} candidates on {options.keys} keys stored and flushed in {wrote:.1f} s, "
        f"{options.kills} kills of the server; {kept - found} lost; checked in {time.monotonic() - began - wrote:.1f} s",
        flush=True,
    )


def run(trial: Trial) -> None:
    server = trial.server("--appendonly", "yes", "--appendfsync", "always")
    for piece in range(trial.options.pieces):
        run_piece(trial, server, piece)
        if piece + 1 < trial.options.pieces:
            with server.client() as client:
                client.ask("FLUSHALL")
            trial.forget()


def main() -> None:
    words = parser(__doc__)
    words.add_argument("--writers", type=int, default=16)
    words.add_argument("--candidates", type=int, default=50)
    words.add_argument("--keys", type=int, default=200)
    words.add_argument("--pieces", type=int, default=1)
    words.add_argument("--kills", type=int, default=4)
    drive(words.parse_args(), run)


main()
