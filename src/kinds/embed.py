#!/usr/bin/env python3
"""Writes the kinds that are compiled in as C tables (kinds.h): embed.py OUTPUT KIND/rules.json... KIND/advice.json..."""

import json
import pathlib
import re
import sys

DOCUMENTATION = ("why", "same", "different")
HEADER = pathlib.Path(__file__).parent / "kinds.h"

# What an advice may ask for: word -> name, from the header's table.
FACTS = {word: name for name, word in re.findall(r'X\((\w+), "([\w-]+)", "', HEADER.read_text(encoding="utf-8"))}


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


def advice_of(kinds: dict[str, dict], kind: str) -> list[dict]:
    advice = kinds.get(kind, {})
    return advice_of(kinds, advice["as"]) if "as" in advice else advice.get("advice", [])


def advice_rows(kinds: dict[str, dict]) -> list[str]:
    """A row each: those before all kinds', the kinds' own, those after them."""
    rows = [(None, row) for row in kinds["generic"]["before"]]
    rows += [(kind, row) for kind in sorted(kinds) for row in advice_of(kinds, kind)]
    rows += [(None, row) for row in kinds["generic"]["after"]]
    return [advice_row(kind, row) for kind, row in rows]


def advice_row(kind: str | None, row: dict) -> str:
    where = row.get("where", [])
    facts = [where] if isinstance(where, str) else where
    bits = " | ".join(f"GCI_FACT_BIT({FACTS[fact]})" for fact in facts) or "0"
    return (
        f"    {{ {'NULL' if kind is None else json.dumps(kind)}, GCACHE_REASON_{row.get('reason', 'no_key').upper()}, "
        f"{json.dumps(row.get('path', ''))}, {bits}, GCI_GRAPH_{row.get('graph', 'same').upper()}, {json.dumps(row['text'])} }},"
    )


def main() -> None:
    output, *paths = sys.argv[1:]
    files = sorted((pathlib.Path(path) for path in paths), key=lambda path: path.parent.name)
    rules = [path for path in files if path.name == "rules.json"]
    advice = {path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in files if path.name == "advice.json"}
    lines = ['#include "kinds/kinds.h"', ""]
    for number, path in enumerate(rules):
        text = path.read_text(encoding="utf-8")
        for name, content in (("text", text), ("rules", effective(json.loads(text)))):
            lines += [f"static char const {name}_{number}[] = {{", c_bytes(content), "};", ""]
    lines += ["gci_shipped_rules const gci_shipped[] = {"]
    for number, path in enumerate(rules):
        lines += [f'    {{ "{path.parent.name}", text_{number}, sizeof text_{number} - 1, rules_{number}, '
                  f"sizeof rules_{number} - 1 }},"]
    lines += ["};", "", f"size_t const gci_shipped_count = {len(rules)};", ""]
    lines += ["gci_advice const gci_advice_rows[] = {", *advice_rows(advice), "};", ""]
    lines += ["size_t const gci_advice_count = sizeof gci_advice_rows / sizeof gci_advice_rows[0];", ""]
    pathlib.Path(output).write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
