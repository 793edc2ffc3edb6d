#!/usr/bin/env python3
"""One of a whole fleet compiles: processes on four hosts want the same at once, and leaders die or are stopped.

    check_leases.py --worker FILE --command FILE [--rounds 16] [--processes 16] [--lease-ms 1000] [--seconds N]

A round is a key that nobody has. In every other round the first to compile dies at one of the steps of a compile; then
another takes over within the lease's time. All get bytes that were compiled, and who survives never compiles what somebody
has stored for all. A leader that was stopped and goes on when another has led publishes nothing.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from pathlib import Path

from fleet import PREFIX, Died, Server, Trial, Worker, drive, parser, url_of, wait_until
from proxy import LATE_SECONDS, Proxy

HOSTS = 4
COMPILE_MS = 60
FLUSH_MS = 20000
STEPS = ("die-before", "die-within", "die-after", "die-stored")
# Whoever waits looks every half second; a crowded machine is slow besides.
SLACK_SECONDS = 3.0
# In the request for a lease alone.
LEASE = b"pcall('TIME')"


class Compiles:
    """The file that every worker writes beginnings and ends into."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def of(self, key: str) -> list[tuple[str, int, float]]:
        rows = [line.split() for line in self.path.read_text().splitlines()]
        return [(what, int(pid), int(at) / 1e9) for what, name, pid, at in rows if name == key]


class Fleet:
    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.server: Server = trial.server()
        self.compiles = Compiles(trial.folder("compiles"))
        self.url = self.server.url(f"timeout-ms=5000&lease-ms={trial.options.lease_ms}")
        self.workers = [self.start(n) for n in range(trial.options.processes)]
        self.took_over: list[float] = []

    def start(self, number: int) -> Worker:
        return self.trial.worker(f"host-{number % HOSTS}", self.url, compiles=str(self.compiles.path))

    def round(self, key: str, step: str) -> None:
        """step: of whoever is told first; the others follow once he compiles, or at once."""
        order = list(range(len(self.workers)))
        self.trial.random.shuffle(order)
        first = order[0]
        self.workers[first].tell("compile", key, 1, step, COMPILE_MS)
        if step != "none":
            wait_until("the first compiles", lambda: bool(self.compiles.of(key)))
        for number in order[1:]:
            # Some come when the first has just stored it.
            time.sleep(self.trial.random.uniform(0, 3 * COMPILE_MS / 1000 / len(order)) if step == "none" else 0)
            self.workers[number].tell("compile", key, 1, "none", COMPILE_MS)
        answers = {number: self.hear(number) for number in order}
        self.judge(key, step, {number: answer for number, answer in answers.items() if answer}, self.workers[first].pid)
        for number, answer in answers.items():
            if not answer:
                self.trial.expect(number == first and step != "none", f"{key}: a worker died that wasn't told to")
                self.workers[number].kill()
                self.workers[number] = self.start(number)
            else:
                self.workers[number].ask("flush", FLUSH_MS)

    def hear(self, number: int) -> dict[str, object]:
        try:
            return self.workers[number].hear()
        except Died:
            return {}

    def judge(self, key: str, step: str, answers: dict[int, dict[str, object]], leader: int) -> None:
        trial = self.trial
        log = self.compiles.of(key)
        dies = step != "none"
        by_others = [pid for what, pid, _ in log if what == "end" and not (dies and pid == leader)]
        begun = Counter(pid for what, pid, _ in log if what == "begin")
        trial.expect(len(answers) == len(self.workers) - dies, f"{key}, {step}: {len(answers)} answered")
        trial.expect(all(count == 1 for count in begun.values()), f"{key}, {step}: somebody compiled twice: {begun}")
        # What was stored on the leader's host alone serves that host; the others need one of their own.
        trial.expect(len(by_others) <= 1, f"{key}, {step}: compiled {len(by_others)} times by those who live: {log}")
        trial.expect(step in ("none", "die-stored") or len(by_others) == 1, f"{key}, {step}: nobody took over")
        hashes = Counter(answer["hash"] for answer in answers.values())
        kinds = Counter(answer["status"] for answer in answers.values())
        trial.expect(set(kinds) <= {"hit", "miss"}, f"{key}, {step}: {kinds}")
        trial.expect(kinds["miss"] == len(by_others), f"{key}, {step}: {kinds}, but {len(by_others)} compiled")
        trial.expect(len(hashes) <= (2 if step == "die-stored" else 1), f"{key}, {step}: several results {hashes}")
        if dies and by_others:
            began = [at for what, pid, at in log if pid == by_others[0] and what == "begin"][0]
            died = [at for what, pid, at in log if pid == leader][-1]
            self.took_over.append(began - died)
            most_seconds = trial.options.lease_ms / 1000 + SLACK_SECONDS
            trial.expect(began - died <= most_seconds, f"{key}, {step}: taken over after {began - died:.2f} s")


def late_asker(fleet: Fleet) -> None:
    """He has missed, and asks for the lease when who compiled has stored and given it back: then he looks again."""
    trial = fleet.trial
    proxy = Proxy(fleet.server.path, trial.seed)
    late = trial.worker("late", url_of(proxy.port, f"timeout-ms=3000&lease-ms={trial.options.lease_ms}"))
    late.ask("lookup", "warm", 1)
    proxy.set("late", LEASE)
    leader = fleet.workers[0]
    leader.tell("compile", "late", 1, "none", int(LATE_SECONDS * 600))
    wait_until("the leader compiles", lambda: bool(fleet.compiles.of("late")))
    late.tell("compile", "late", 1, "none", 1)
    first = leader.hear()
    leader.ask("flush", FLUSH_MS)
    second = late.hear()
    trial.expect(first["status"] == "miss" and second["status"] == "hit", f"who asks late compiles again: {first} {second}")
    proxy.close()


def stale_leader(fleet: Fleet, cut_off: bool) -> None:
    """He is stopped while he compiles, or his network fails; another, on another host, leads meanwhile; then he goes on."""
    trial = fleet.trial
    name = "cut-off" if cut_off else "stopped"
    proxy = Proxy(fleet.server.path, trial.seed)
    url = url_of(proxy.port, f"timeout-ms=1000&lease-ms={trial.options.lease_ms}")
    stale, fresh = trial.worker(f"stale-{name}", url), fleet.workers[1]
    stale.tell("compile", name, 1, "stop-within", COMPILE_MS)
    wait_until("the leader stops", stale.is_stopped)
    if cut_off:
        proxy.set("refuse")
        stale.signal(signal.SIGCONT)
        older = stale.hear()
    newer = fresh.ask("compile", name, 1, "none", COMPILE_MS)
    trial.expect(newer["status"] == "miss", f"{name}: the leader isn't followed: {newer}")
    trial.expect(fresh.ask("flush", FLUSH_MS)["status"] == "ok", f"{name}: the next leader can't publish")
    heads = fleet.server.heads()
    proxy.set("pass")
    if not cut_off:
        stale.signal(signal.SIGCONT)
        older = stale.hear()
    flushed = stale.ask("flush", FLUSH_MS)
    trial.expect(older["status"] == "miss" and older["hash"] != newer["hash"], f"{name}: {older} beside {newer}")
    trial.expect(fleet.server.heads() == heads, f"{name}: who led before has published over newer work")
    counts = stale.ask("counts")
    trial.expect(
        counts["not_published"] == 1 and counts["published"] == 0, f"{name}: it counts {counts}; flush said {flushed}"
    )
    third = fleet.workers[2].ask("compile", name, 1, "none", COMPILE_MS)
    trial.expect(third["status"] == "hit" and third["hash"] == newer["hash"], f"{name}: a third host got {third}")
    fenced = [line for line in stale.log.read_text().splitlines() if "taken the lease since" in line]
    trial.expect(bool(fenced) and "entry  " not in fenced[-1], f"{name}: the log says {fenced}")
    proxy.close()


def run(trial: Trial) -> None:
    fleet = Fleet(trial)
    began = time.monotonic()
    done = 0
    for number in range(trial.options.rounds):
        if trial.options.seconds != 0 and time.monotonic() - began > trial.options.seconds:
            break
        step = STEPS[number // 2 % len(STEPS)] if number % 2 else "none"
        fleet.round(f"round-{number}", step)
        done += 1
    print(
        f"    {done} keys wanted by {trial.options.processes} processes on {HOSTS} hosts in "
        f"{time.monotonic() - began:.1f} s; {len(fleet.took_over)} leaders followed, the latest after "
        f"{max(fleet.took_over, default=0):.2f} s, leases of {trial.options.lease_ms} ms",
        flush=True,
    )
    late_asker(fleet)
    for cut_off in (False, True):
        stale_leader(fleet, cut_off)
    with fleet.server.client() as client:
        left = client.ask("KEYS", PREFIX + "*:l:*")
    trial.expect(not left, f"leases are left: {left}")


def main() -> None:
    words = parser(__doc__)
    words.add_argument("--rounds", type=int, default=16)
    words.add_argument("--processes", type=int, default=16)
    words.add_argument("--lease-ms", type=int, default=1000)
    words.add_argument("--seconds", type=float, default=0)
    drive(words.parse_args(), run)


main()
