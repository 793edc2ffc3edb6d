#!/usr/bin/env python3
"""A group decides alike: members on four hosts ask the same, compile what is never twice the same, and are killed meanwhile.

    check_groups.py --worker FILE --command FILE [--members 16] [--rounds 200] [--kill 0.1] [--outages 0.01]
        [--lease-ms 500] [--seconds N]

In a round every member asks; with the probability --kill some are killed on the way, or would be while they compile, and, started
again, ask once more. Of every third round a host has something stored that others haven't, so that a lookup by each would
diverge. All who end a round must have the same bytes. With the probability --outages the server dies meanwhile and comes back with
nothing: then, and as long as somebody may still leave it alone for it, those of one host must have the same bytes.
"""

from __future__ import annotations

import time
from collections import Counter

from fleet import Died, Trial, Worker, drive, parser

HOSTS = 4
COMPILE_MS = 4
# A breaker's first pause, its second for who asked just before the server was back, and the way there.
LEFT_ALONE_SECONDS = 4.0
STEPS = ("die-before", "die-within", "die-after", "die-stored")


class Group:
    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.server = trial.server()
        self.url = self.server.url(f"timeout-ms=10000&lease-ms={trial.options.lease_ms}")
        self.members = [self.start(n) for n in range(trial.options.members)]
        # What is on one host alone is stored by somebody who knows no tiers.
        self.alone = [trial.worker(f"host-{n}") for n in range(HOSTS)]
        self.kills = self.outages = self.diverged = self.answers = 0
        self.whole_again = 0.0
        self.apart = 0
        self.kinds: Counter[str] = Counter()

    def start(self, number: int) -> Worker:
        return self.trial.worker(f"host-{number % HOSTS}", self.url)

    def ask(self, number: int, name: str, step: str) -> None:
        words = ("compile", name, 1, step, COMPILE_MS, f"group-{name}", len(self.members))
        try:
            self.members[number].tell(*words)
        except Died:
            # It was killed after it had answered.
            self.replace(number)
            self.members[number].tell(*words)

    def replace(self, number: int) -> None:
        self.kills += 1
        self.members[number].kill()
        self.members[number] = self.start(number)

    def choose_victims(self) -> dict[int, str]:
        """Killed at any moment; or half of them would die at a step of the compile, if they came so far."""
        random = self.trial.random
        numbers = range(len(self.members))
        if random.random() < 0.5:
            return dict.fromkeys(random.sample(numbers, random.choice((1, 1, 2))), "none")
        return {victim: random.choice(STEPS) for victim in random.sample(numbers, len(self.members) // 2)}

    def begin(self, name: str, victims: dict[int, str]) -> None:
        order = list(range(len(self.members)))
        self.trial.random.shuffle(order)
        for number in order:
            self.ask(number, name, victims.get(number, "none"))
            if victims.get(number) == "none":
                time.sleep(self.trial.random.uniform(0, 0.03))
                self.members[number].process.kill()

    def fail(self, after: float) -> None:
        """Of the server, for about as long as a breaker leaves it alone."""
        time.sleep(after)
        self.outages += 1
        self.server.kill()
        time.sleep(self.trial.random.uniform(0, 0.5))
        self.server.start()
        self.whole_again = time.monotonic() + LEFT_ALONE_SECONDS

    def hear(self, number: int, name: str) -> dict[str, object]:
        """Who dies is started again and asks again."""
        while True:
            try:
                return self.members[number].hear()
            except Died:
                self.replace(number)
                self.ask(number, name, "none")

    def round(self, name: str, number: int) -> None:
        random = self.trial.random
        victims: dict[int, str] = {}
        if number % 3 == 0:
            self.alone[number // 3 % HOSTS].ask("put", name, f"stored-{random.random()}")
        if random.random() < self.trial.options.kill:
            victims = self.choose_victims()
        self.begin(name, victims)
        outage = random.random() < self.trial.options.outages
        if outage:
            self.fail(random.uniform(0, 0.05))
        apart = time.monotonic() < self.whole_again
        self.apart += apart
        answers = [self.hear(n, name) for n in range(len(self.members))]
        self.answers += len(answers)
        self.kinds.update(str(answer["tier"] or answer["status"]) for answer in answers)
        bad = [answer for answer in answers if answer["status"] not in ("hit", "miss")]
        self.trial.expect(not bad, f"{name}: {bad}")
        for host in range(HOSTS) if apart else (0,):
            alike = answers[host::HOSTS] if apart else answers
            hashes = Counter(str(answer["hash"]) for answer in alike)
            if not self.trial.expect(len(hashes) == 1, f"{name}, {victims}, by hosts {apart}: they have {hashes}: {alike}"):
                self.diverged += 1


def run(trial: Trial) -> None:
    options = trial.options
    group = Group(trial)
    began = time.monotonic()
    done = 0
    while done < options.rounds and (options.seconds == 0 or time.monotonic() - began < options.seconds):
        group.round(f"round-{done}", done)
        done += 1
        if done % 500 == 0:
            print(f"    {done} rounds, {group.kills} kills, {group.diverged} diverged", flush=True)
    print(
        f"    {done} rounds of {options.members} members on {HOSTS} hosts in {time.monotonic() - began:.1f} s: {group.kills} "
        f"were killed, {group.outages} outages with {group.apart} rounds by hosts, {group.answers} outcomes, "
        f"{group.diverged} rounds diverged; {dict(group.kinds)}",
        flush=True,
    )


def main() -> None:
    words = parser(__doc__)
    words.add_argument("--members", type=int, default=16)
    words.add_argument("--rounds", type=int, default=200)
    words.add_argument("--kill", type=float, default=0.1)
    words.add_argument("--outages", type=float, default=0.01)
    words.add_argument("--lease-ms", type=int, default=500)
    words.add_argument("--seconds", type=float, default=0)
    drive(words.parse_args(), run)


main()
