#!/usr/bin/env python3
"""What two hosts store under one key serves a third: by guards, by what is left, and by who signed it.

    check_variants.py --worker FILE --command FILE
"""

from __future__ import annotations

from typing import Any

from fleet import Client, Server, Trial, drive, parser

OURS = {"sign": "fleet:a secret of the fleet"}
STRANGERS = {"sign": "stranger:another secret"}
STRICTLY = OURS | {"require": "1"}
URL_OPTIONS = "timeout-ms=10000"


def store(trial: Trial, server: Server, host: str, *words: object, **arguments: str) -> None:
    worker = trial.worker(host, server.url(URL_OPTIONS), **arguments)
    for answer in (worker.ask(*words), worker.ask("flush", 30000)):
        trial.expect(answer["status"] == "ok", f"{host}: {words}: {answer}")
    worker.end()


def look(trial: Trial, server: Server, host: str, key: str, value: int, **arguments: str) -> dict[str, Any]:
    """From an empty directory."""
    worker = trial.worker(host, server.url(URL_OPTIONS), **arguments)
    found = worker.ask("lookup", key, value)
    found["counts"] = worker.ask("counts")
    trial.expect(worker.end() == 0, f"{host} ended badly")
    return found


def hits(found: dict[str, Any]) -> bool:
    return bool(found["status"] == "hit" and found["right"])


def heads_of(client: Client) -> dict[bytes, dict[bytes, bytes]]:
    heads = {}
    for name in client.ask("KEYS", "guardcache:1:*:h"):
        pairs = client.ask("HGETALL", name)
        heads[name] = dict(zip(pairs[::2], pairs[1::2], strict=True))
    return heads


def both_variants(trial: Trial, server: Server) -> None:
    store(trial, server, "first", "insert", "graph", 8)
    store(trial, server, "second", "insert", "graph", 16)
    for value in (8, 16):
        found = look(trial, server, f"third-{value}", "graph", value)
        trial.expect(hits(found), f"what a host stored for {value} doesn't serve a third: {found}")
    found = look(trial, server, "fourth", "graph", 24)
    trial.expect((found["status"], found["reason"]) == ("miss", "guard_false"), f"nobody stored it for 24: {found}")


def two_of_equal_guards(trial: Trial, server: Server, key: str, **second: str) -> None:
    """Both hosts have an entry that holds for the value; the one stored last is the first choice."""
    store(trial, server, f"{key}-older", "put", key, "older", **OURS)
    store(trial, server, f"{key}-newer", "put", key, "newer", **(second or OURS))


def hash_of(text: str) -> str:
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{value:016x}"


def lost_payload(trial: Trial, server: Server) -> None:
    """Two entries hold; the first choice's payload is an object of its own, and gone."""
    store(trial, server, "lost-older", "put", "lost", "older")
    store(trial, server, "lost-newer", "insert", "lost", 7)
    found = look(trial, server, "lost-before", "lost", 7)
    trial.expect(hits(found), f"the newer isn't the first choice: {found}")
    with server.client() as client:
        payloads = client.ask("KEYS", "guardcache:1:*:p:*")
        trial.expect(len(payloads) == 1, f"{len(payloads)} payloads are objects of their own")
        for name in payloads:
            client.ask("DEL", name)
    found = look(trial, server, "lost-after", "lost", 7)
    trial.expect(found["status"] == "hit" and found["hash"] == hash_of("older"), f"a head without its payload: {found}")


def damaged_heads(trial: Trial, server: Server) -> None:
    """Each way to damage the first choice's head leaves the second, and never a wrong one."""
    two_of_equal_guards(trial, server, "damaged")
    store(trial, server, "beside", "put", "beside", "beside")
    found = look(trial, server, "damaged-before", "damaged", 1)
    trial.expect(found["hash"] == hash_of("newer"), f"the newer isn't the first choice: {found}")
    with server.client() as client:
        heads = heads_of(client)
        name = next(name for name in heads if len(heads[name]) == 2 and any(b"newer" in head for head in heads[name].values()))
        newer, head = next((field, head) for field, head in heads[name].items() if b"newer" in head)
        other = next(head for key in heads if key != name for head in heads[key].values())
        damages = {
            "flipped": head[: len(head) // 2] + bytes([head[len(head) // 2] ^ 1]) + head[len(head) // 2 + 1 :],
            "a flipped payload": head.replace(b"newer", b"newfr"),
            "cut": head[: len(head) // 2],
            "empty": b"",
            "another key's": other,
            "nonsense": b"nonsense" * 20,
            "of a newer version": b"GCHEAD99" + head[8:],
        }
        for what, bytes_ in damages.items():
            client.ask("HSET", name, newer, bytes_)
            found = look(trial, server, f"damaged-{what.replace(' ', '-')}", "damaged", 1)
            trial.expect(found["status"] == "hit" and found["hash"] == hash_of("older"), f"a head that is {what}: {found}")
            refused = found["counts"]["refused"]
            trial.expect((refused > 0) == (what != "of a newer version"), f"a head that is {what}: {refused} were refused")
        client.ask("HSET", name, newer, head)
        client.ask("HSET", name, b"f" * 32, head)
        client.ask("HSET", name, b"no name at all", head)
    found = look(trial, server, "damaged-whole", "damaged", 1)
    trial.expect(found["hash"] == hash_of("newer"), f"beside heads of wrong names: {found}")


def strangers(trial: Trial, server: Server) -> None:
    """The first choice is signed by a key that isn't ours."""
    two_of_equal_guards(trial, server, "signed", **STRANGERS)
    found = look(trial, server, "signed-loosely", "signed", 1, **STRANGERS)
    trial.expect(found["hash"] == hash_of("newer"), f"the stranger's isn't the first choice: {found}")
    found = look(trial, server, "signed-strictly", "signed", 1, **STRICTLY)
    trial.expect(found["status"] == "hit" and found["hash"] == hash_of("older"), f"a stranger's entry before ours: {found}")
    trial.expect(found["counts"]["refused"] == 1, f"it isn't counted: {found}")
    store(trial, server, "alone", "insert", "strange", 8, **STRANGERS)
    store(trial, server, "unsigned", "insert", "unsigned", 8)
    for key in ("strange", "unsigned"):
        found = look(trial, server, f"{key}-strictly", key, 8, **STRICTLY)
        trial.expect(found["status"] == "miss" and found["counts"]["refused"] == 1, f"{key}: {found}")
        print(f"    {key} where signatures are required: {found['reason']}")


def run(trial: Trial) -> None:
    server = trial.server()
    for check in (both_variants, lost_payload, damaged_heads, strangers):
        check(trial, server)
        with server.client() as client:
            client.ask("FLUSHALL")


def main() -> None:
    drive(parser(__doc__).parse_args(), run)


main()
