#!/usr/bin/env python3
"""The worked example of docs/formats/canonical.md is what the command prints: example.py DOCUMENT COMMAND."""

import hashlib
import re
import struct
import subprocess
import sys
import tempfile


def field(content: bytes) -> bytes:
    return struct.pack("<I", len(content)) + content


def run(command: str, *arguments: str) -> bytes:
    return subprocess.run([command, *arguments], check=True, capture_output=True).stdout


def main() -> int:
    document, command = sys.argv[1:]
    text = open(document, encoding="utf-8").read().split("## Worked example")[1]
    description, form, hashes = (block.strip("\n") for block in re.findall(r"```(?:json)?\n(.*?)```", text, re.S))
    # An item's bytes stand at the beginning of a line, in groups of one space between; what follows is the comment.
    tokens = (re.match(r"\s*((?:[0-9a-f]{2})+(?: (?:[0-9a-f]{2})+)*)", line) for line in form.splitlines())
    stated = bytes.fromhex("".join(token.group(1) for token in tokens if token))
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(description)
        file.flush()
        actual = run(command, "canon", file.name)
        keys = run(command, "key", "--components", file.name).decode().split("\n")
    if stated != actual:
        print(f"the form is\n{actual.hex()}\nnot\n{stated.hex()}")
        return 1
    named = {name: value for value, name in (line.split() for line in hashes.splitlines())}
    for line in keys[1:]:
        if line and line.split() != [named[line.split()[1]], line.split()[1]]:
            print(f"the hash is {line}")
            return 1
    rules = actual[actual.index(b"rules") + 7:][:32]
    fields = field(b"guardcache-key") + field(b"guardcache-graph/1") + field(b"fx") + field(rules) + field(b"")
    for name in sorted(named):
        if name != "key":
            fields += field(name.encode()) + field(bytes.fromhex(named[name]))
    key = hashlib.sha256(fields).hexdigest()
    if key != named["key"] or keys[0].split()[0] != key:
        print(f"the key is {keys[0]}, and {key} by the formula")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
