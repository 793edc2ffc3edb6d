#!/usr/bin/env python3
"""Whatever a network or a server does: lookups give the right bytes or miss, in time, say why, and say no password.

    check_faults.py --worker FILE --command FILE [--slower N] [NAME]...

For each fault: a lookup takes the tier's time-out once, then the tier is left alone, then it is found again when the fault has
gone. The reason is that of the lookup, of `guardcache lookup --json` and of `guardcache explain --json`. --slower allows N times
the time, for builds with sanitizers. With NAMEs only faults whose names have one of them.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from fleet import Died, Server, Trial, Worker, drive, environment, parser, url_of, wait_until
from proxy import Proxy

# In URLs `/` and `?` are written by their codes: both spellings are looked for.
PASSWORD = "Tr0ub4dor/and?three"
ESCAPED = "Tr0ub4dor%2Fand%3Fthree"
WRONG = "n0t-the-pa55word"
SECRETS = (PASSWORD, ESCAPED, WRONG)

TIMEOUT_MS = 300
SLACK_MS = 100
# Fifty lookups of a tier that is left alone; each writes its miss into the journal.
MANY = 50
MANY_MS = 250
# As many as wait for a tier; the test of it takes a minute and is run only when it is named.
QUEUE = 16384
# A pause of 1 s, twice that after the probe that found it still in trouble, and a crowded machine.
CLOSES_SECONDS = 8.0
SMALL, LARGE = 8, 7  # values: the head has the payload, or the payload is an object of its own
TRIES = 3


class Fault(NamedTuple):
    name: str
    where: bytes  # in the request
    value: int
    reasons: set[str]
    opens: bool  # the breaker: it was the tier's trouble
    may_hit: bool = False


HEADS, OBJECTS = b"HGETALL", b":p:"
UNAVAILABLE, TIMEOUT = {"remote_unavailable"}, {"remote_timeout"}
EITHER = UNAVAILABLE | TIMEOUT
FAULTS = (
    Fault("refuse", b"", SMALL, UNAVAILABLE, True),
    Fault("hang", b"", SMALL, TIMEOUT, True),
    Fault("hang", HEADS, SMALL, TIMEOUT, True),
    Fault("hang", OBJECTS, LARGE, TIMEOUT, True),
    Fault("cut", b"", SMALL, UNAVAILABLE, True),
    Fault("cut", HEADS, SMALL, UNAVAILABLE, True),
    Fault("cut", OBJECTS, LARGE, UNAVAILABLE, True),
    Fault("drip", b"", SMALL, TIMEOUT, True),
    Fault("drip", HEADS, SMALL, TIMEOUT, True),
    Fault("drip", OBJECTS, LARGE, TIMEOUT, True),
    Fault("garbage", b"", SMALL, EITHER, True),
    Fault("garbage", HEADS, SMALL, EITHER, True),
    Fault("garbage", OBJECTS, LARGE, EITHER, True),
    Fault("long", HEADS, SMALL, EITHER, True),
    Fault("long", OBJECTS, LARGE, EITHER, True),
    Fault("short", HEADS, SMALL, EITHER, True),
    Fault("short", OBJECTS, LARGE, EITHER, True),
    # What verification finds is the object's trouble, not the server's: it is asked on.
    Fault("flip", HEADS, SMALL, {"corrupt", "no_key", "unreadable"}, False),
    Fault("flip", OBJECTS, LARGE, {"corrupt"}, False, True),
    Fault("swap", HEADS, SMALL, {"corrupt", "no_key"}, False),
    Fault("swap", OBJECTS, LARGE, {"corrupt"}, False),
)


def key_of(value: int) -> str:
    return f"key-{value}"


class Case:
    """One fault with a proxy, a reader and a directory of its own."""

    def __init__(self, trial: Trial, server: Server, fault: Fault) -> None:
        self.trial = trial
        self.fault = fault
        self.name = "-".join(filter(None, (fault.name, fault.where.decode().strip(":"))))
        self.proxy = Proxy(server.path, trial.seed)
        self.url = url_of(self.proxy.port, f"timeout-ms={TIMEOUT_MS}&connect-timeout-ms={TIMEOUT_MS}", f":{ESCAPED}")
        self.slower = trial.options.slower

    def complain(self, text: str) -> None:
        self.trial.complain(f"{self.name}: {text}")

    def spoil(self, reader: Worker) -> None:
        """The reply that is handed out later in place of others is that for another key."""
        self.proxy.keep(self.fault.where)
        reader.ask("lookup", key_of(self.fault.value + 8), self.fault.value + 8)
        self.proxy.keep(b"")
        self.proxy.set(self.fault.name, self.fault.where)

    def run(self) -> None:
        late = ""
        for attempt in range(TRIES):
            late = self.attempt(attempt)
            if not late:
                break
        if late:
            self.complain(late)
        self.proxy.close()

    def attempt(self, attempt: int) -> str:
        """What took too long; that may have been the machine."""
        fault, late = self.fault, ""
        self.proxy.set("pass")
        reader = self.trial.worker(f"{self.name}-{attempt}", self.url)
        self.spoil(reader)
        key = key_of(fault.value)
        first = reader.ask("lookup", key, fault.value)
        self.judge(first)
        if first["ms"] > (TIMEOUT_MS + SLACK_MS) * self.slower:
            late = f"a lookup took {first['ms']:.0f} ms"
        many = reader.ask("lookup", key, fault.value, MANY)
        self.judge(many)
        if fault.opens and many["sum_ms"] > MANY_MS * self.slower:
            late = f"{MANY} lookups more took {many['sum_ms']:.0f} ms, the longest {many['longest_ms']:.0f} ms"
        left_alone = reader.ask("counts")["left_alone"]
        if fault.opens != (left_alone >= MANY // 2) and not late:
            self.complain(f"it was left alone {left_alone} times")
        if attempt == 0:
            self.ask_command(key)
        if fault.opens:
            self.probe(reader, key)
        self.proxy.set("pass")
        self.come_back(reader, key)
        if reader.end() != 0:
            self.complain(f"the reader ended badly: {reader.log.read_text()[-2000:]}")
        return late

    def judge(self, found: dict[str, Any]) -> None:
        fault = self.fault
        if found["status"] == "hit":
            if not found["right"]:
                self.complain(f"wrong bytes: {found}")
            elif not fault.may_hit:
                self.complain(f"it hits: {found}")
        elif found["status"] != "miss" or found["reason"] not in fault.reasons | (UNAVAILABLE if fault.opens else set()):
            self.complain(f"{found}")
        elif fault.opens and found["local_reason"] != "no_key":
            self.complain(f"here the reason is {found['local_reason']}")

    def ask_command(self, key: str) -> None:
        """An explanation by itself reads no payloads; of the lookup that missed it says all."""
        verbs = ["lookup --json", "explain --json --last" if self.fault.where == OBJECTS else "explain --json"]
        for verb in verbs:
            said = command(self.trial, self.name, self.url, verb, key, self.fault.value)
            answer = json.loads(said.stdout or "{}")
            if self.fault.may_hit and (answer.get("outcome") == "hit" or not answer):
                continue
            if said.returncode != (1 if verb.startswith("lookup") else 0) or answer.get("reason") not in self.fault.reasons:
                self.complain(f"{verb}: {said.returncode} {said.stdout} {said.stderr}")
            elif self.fault.opens and answer.get("local_reason") != "no_key":
                self.complain(f"{verb} has no local reason: {said.stdout}")

    def probe(self, reader: Worker, key: str) -> None:
        """After the first pause one lookup asks again, and finds it still in trouble."""
        time.sleep(1.05)
        again = reader.ask("lookup", key, self.fault.value)
        self.judge(again)

    def come_back(self, reader: Worker, key: str) -> None:
        found: dict[str, Any] = {}

        def hits() -> bool:
            found.update(reader.ask("lookup", key, self.fault.value))
            return bool(found["status"] == "hit")

        wait_until(f"{self.name}: the tier is found again", hits, CLOSES_SECONDS * self.slower, 0.05)
        if not found["right"]:
            self.complain(f"wrong bytes after the fault: {found}")


def command(trial: Trial, host: str, url: str, verb: str, key: str, value: int) -> subprocess.CompletedProcess[str]:
    folder = trial.folder(f"command-{host}")
    folder.mkdir(exist_ok=True)
    graph = folder / f"{key}.json"
    graph.write_text(json.dumps({"format": "guardcache-graph/1", "kind": "generic", "module": key}))
    words = [trial.command, *verb.split(), "--cache", str(folder / "cache")]
    if "--last" not in verb:
        words += ["--graph", str(graph), "--hint", f"s0={value}"]
    done = subprocess.run(
        words, env=environment() | {"GUARDCACHE_TIERS": url}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    (folder / f"{verb} {key}.log").write_text(done.stdout + done.stderr)
    return done


# ---- what the server itself does ----


def fill(trial: Trial, server: Server) -> None:
    writer = trial.worker("writer", server.url("timeout-ms=10000", f":{ESCAPED}"))
    for value in (SMALL, LARGE, SMALL + 8, LARGE + 8):
        trial.expect(writer.ask("insert", key_of(value), value)["status"] == "ok", "an insert failed")
    answer = writer.ask("flush", 30000)
    trial.expect(answer["status"] == "ok", f"what is to be looked up isn't in the tier: {answer}")
    found = command(trial, "sound", server.url("timeout-ms=10000", f":{ESCAPED}"), "lookup --json", key_of(SMALL), SMALL)
    trial.expect(found.returncode == 0, f"the command doesn't find it: {found}")


def refused_user(trial: Trial, server: Server, name: str, credentials: str) -> None:
    url = server.url(f"timeout-ms={TIMEOUT_MS}", credentials)
    reader = trial.worker(name, url)
    found = reader.ask("lookup", key_of(SMALL), SMALL)
    trial.expect(
        (found["status"], found["reason"], found["local_reason"]) == ("miss", "remote_unavailable", "no_key"), f"{name}: {found}"
    )
    reader.ask("insert", key_of(1), 1)
    flushed = reader.ask("flush", 500)
    trial.expect(flushed["status"] == "error_busy" and "127.0.0.1" in flushed["message"], f"{name}: a flush says {flushed}")
    for verb in ("lookup --json", "explain --json"):
        said = command(trial, name, url, verb, key_of(SMALL), SMALL)
        answer = json.loads(said.stdout or "{}")
        trial.expect(
            answer.get("reason") == "remote_unavailable" and answer.get("local_reason") == "no_key",
            f"{name}: {verb} says {said.stdout} {said.stderr}",
        )
    reader.end()
    trial.expect("didn't reach" in reader.log.read_text(), f"{name}: nobody hears that an entry was given up")


def wrong_password(trial: Trial, server: Server) -> None:
    refused_user(trial, server, "wrong-password", f":{WRONG}")


def no_permission(trial: Trial, server: Server) -> None:
    with server.client() as client:
        client.ask("ACL", "SETUSER", "guest", "on", ">" + WRONG, "~*", "-@all", "+hello", "+auth", "+select")
    refused_user(trial, server, "no-permission", f"guest:{WRONG}")


def only_reading(trial: Trial, server: Server) -> None:
    with server.client() as client:
        client.ask("ACL", "SETUSER", "reader", "on", ">" + WRONG, "~*", "-@all", "+@read", "+hello", "+auth", "+select")
    reader = trial.worker("only-reading", server.url(f"timeout-ms={TIMEOUT_MS}", f"reader:{WRONG}"))
    reader.ask("insert", key_of(1), 1)
    trial.expect(reader.ask("flush", 300)["status"] == "error_busy", "only-reading: it was published")
    found = reader.ask("lookup", key_of(LARGE), LARGE)
    trial.expect(found["status"] == "hit" and found["right"], f"only-reading: {found}")
    reader.end()


def full(trial: Trial) -> None:
    """Nothing can be stored any more; what is there is served; when there is room the rest is stored, too."""
    server = trial.server(password=PASSWORD)
    fill(trial, server)
    with server.client() as client:
        client.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
        client.ask("CONFIG", "SET", "maxmemory", "1")
        one = trial.worker("full", server.url("timeout-ms=2000", f":{ESCAPED}"))
        for value in (101, 103):
            trial.expect(one.ask("insert", key_of(value), value)["status"] == "ok", "full: an insert failed")
        flushed = one.ask("flush", 300)
        trial.expect(flushed["status"] == "error_busy" and "memory" in flushed["message"].lower(), f"full: {flushed}")
        for value in (SMALL, LARGE):
            found = one.ask("lookup", key_of(value), value)
            trial.expect(found["status"] == "hit" and found["right"], f"full: {found}")
        compiled = one.ask("compile", "nobody-leads", 1, "none", 1)
        trial.expect(compiled["status"] == "miss", f"full: {compiled}")
        client.ask("CONFIG", "SET", "maxmemory", "0")
    flushed = one.ask("flush", 30000)
    trial.expect(flushed["status"] == "ok", f"full: when there is room: {flushed}")
    one.end()
    other = trial.worker("after-full", server.url("timeout-ms=2000", f":{ESCAPED}"))
    for value in (101, 103):
        found = other.ask("lookup", key_of(value), value)
        trial.expect(found["status"] == "hit" and found["right"], f"full: {found}")
    other.end()


def evicting(trial: Trial) -> None:
    """Memory for a few entries only: what is lost is a miss, and never a wrong hit."""
    server = trial.server("--maxmemory", "1700kb", "--maxmemory-policy", "allkeys-random", password=PASSWORD)
    writer = trial.worker("evicted-writer", server.url("timeout-ms=2000", f":{ESCAPED}"))
    values = list(range(7, 7 + 8 * 60, 8)) + list(range(1000, 1060, 8))
    for value in values:
        writer.ask("insert", key_of(value), value)
    writer.ask("flush", 3000)
    reader = trial.worker("evicted", server.url("timeout-ms=2000", f":{ESCAPED}"))
    found = [reader.ask("lookup", key_of(value), value) for value in values]
    kinds = {str(one["status"] if one["status"] == "hit" else one["reason"]) for one in found}
    wrong = [one for one in found if one["status"] == "hit" and not one["right"]]
    trial.expect(not wrong, f"evicting: {wrong}")
    trial.expect(kinds <= {"hit", "no_key", "evicted"}, f"evicting: {kinds}")
    trial.expect("no_key" in kinds or "evicted" in kinds, f"evicting: nothing was evicted: {kinds}")
    reader.end()
    writer.end()
    lost_payload(trial, server)


def lost_payload(trial: Trial, server: Server) -> None:
    """Of one entry the head is there and the payload isn't: evicted, with all three."""
    with server.client() as client:
        client.ask("CONFIG", "SET", "maxmemory", "0")
        client.ask("FLUSHALL")
        fill(trial, server)
        for name in client.ask("KEYS", "guardcache:1:*:p:*"):
            client.ask("DEL", name)
    url = server.url("timeout-ms=2000", f":{ESCAPED}")
    reader = trial.worker("lost-payload", url)
    found = reader.ask("lookup", key_of(LARGE), LARGE)
    trial.expect((found["status"], found["reason"]) == ("miss", "evicted"), f"evicted payload: {found}")
    for verb in ("lookup --json", "explain --json --last"):
        said = command(trial, "lost-payload", url, verb, key_of(LARGE), LARGE)
        answer = json.loads(said.stdout or "{}")
        trial.expect(answer.get("reason") == "evicted", f"evicted payload: {verb} says {said.stdout} {said.stderr}")
    reader.end()


def overflow(trial: Trial) -> None:
    """More than can wait for a tier that is away: a flush says that some were given up."""
    server = trial.server(password=PASSWORD)
    worker = trial.worker("overflow", server.url("timeout-ms=2000", f":{ESCAPED}"))
    server.kill()
    stored = worker.ask("write", 50, 0, 1, QUEUE + 100, 100)
    trial.expect(stored["status"] == "error_busy", f"overflow: while the server is away: {stored}")
    server.start()
    flushed = worker.ask("flush", 300000)
    trial.expect(flushed["status"] == "error_busy" and "given up" in flushed["message"], f"overflow: {flushed}")
    counts = worker.ask("counts")
    trial.expect(counts["published"] + counts["not_published"] == QUEUE + 100, f"overflow: {counts}")
    trial.expect(counts["not_published"] >= 99, f"overflow: {counts}")
    trial.expect(worker.ask("flush", 1000)["status"] == "ok", "overflow: it is told twice")


# ---- what is left behind ----


def search_secrets(trial: Trial) -> None:
    """In every file that workers and commands have left: caches, journals, logs, answers."""
    pattern = re.compile(b"|".join(re.escape(secret.encode()) for secret in SECRETS))
    searched = 0
    for path in trial.scratch.rglob("*"):
        if not path.is_file() or any(part.startswith("redis-") for part in path.relative_to(trial.scratch).parts):
            continue
        searched += 1
        trial.expect(pattern.search(path.read_bytes()) is None, f"a password stands in {path.relative_to(trial.scratch)}")
    trial.expect(searched > 10, f"only {searched} files were searched for passwords")


def run(trial: Trial) -> None:
    wanted: Callable[[str], bool] = lambda name: not trial.options.names or any(one in name for one in trial.options.names)
    server = trial.server(password=PASSWORD)
    fill(trial, server)
    cases = [case for fault in FAULTS if wanted((case := Case(trial, server, fault)).name)]
    with ThreadPoolExecutor(trial.options.jobs) as pool:
        for done in [pool.submit(case.run) for case in cases]:
            try:
                done.result()
            except Died as death:
                trial.complain(f"a worker died: {death}")
    troubles = [trouble for trouble in (wrong_password, no_permission, only_reading) if wanted(trouble.__name__)]
    for trouble in troubles:
        trouble(trial, server)
    alone = [one for one in (full, evicting) if wanted(one.__name__)]
    alone += [overflow] if "overflow" in trial.options.names else []
    for one in alone:
        one(trial)
    answers = trial.folder("answers")
    answers.write_text("\n".join(worker.said for worker in trial.started))
    search_secrets(trial)
    print(f"    {len(cases)} faults of the network, {len(troubles) + len(alone)} of the server")


def main() -> None:
    words = parser(__doc__)
    words.add_argument("--slower", type=float, default=1)
    words.add_argument("--jobs", type=int, default=6)
    words.add_argument("names", nargs="*")
    drive(words.parse_args(), run)


main()
