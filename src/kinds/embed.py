#!/usr/bin/env python3
"""Writes the shipped rule sets as C arrays: embed.py OUTPUT RULES.json..."""

import json
import pathlib
import sys

DOCUMENTATION = ("why", "same", "different")


def effective(rule_set: dict) -> str:
    """The set without what has no effect on a key, but for a bypass's reason, which its message needs."""
    kept = {name: value for name, value in rule_set.items() if name != "why"}
    for section in ("drop", "text"):
        kept[section] = [
            {name: value for name, value in rule.items()
             if name not in DOCUMENTATION or (name == "why" and rule.get("kind") == "bypass")}
            for rule in kept.get(section, [])
        ]
    return json.dumps(kept, separators=(",", ":"))


def c_bytes(text: str) -> str:
    """A C array initialiser: string literals have a length limit that compilers warn about."""
    numbers = [str(byte) for byte in text.encode() + b"\0"]
    return ",\n".join("    " + ",".join(numbers[i:i + 24]) for i in range(0, len(numbers), 24))


def main() -> None:
    output, *paths = sys.argv[1:]
    files = sorted((pathlib.Path(path) for path in paths), key=lambda path: path.parent.name)
    lines = ['#include "graph/rules/shipped.h"', ""]
    for number, path in enumerate(files):
        text = path.read_text(encoding="utf-8")
        for name, content in (("text", text), ("rules", effective(json.loads(text)))):
            lines += [f"static char const {name}_{number}[] = {{", c_bytes(content), "};", ""]
    lines += ["gci_shipped_rules const gci_shipped[] = {"]
    for number, path in enumerate(files):
        lines += [f'    {{ "{path.parent.name}", text_{number}, sizeof text_{number} - 1, rules_{number}, '
                  f"sizeof rules_{number} - 1 }},"]
    lines += ["};", "", f"size_t const gci_shipped_count = {len(files)};", ""]
    pathlib.Path(output).write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
