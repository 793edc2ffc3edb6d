"""Byte tables in docs/formats/ are what the code's field tables say. `--accept` as the last argument writes them anew.

A table stands behind a line `<!-- table: NAME -->`; print_fields.c prints them all.
"""

from __future__ import annotations

import re
import subprocess
import sys

import tree

MARK = re.compile(r"(<!-- table: ([^\n]+) -->\n)((?:\|[^\n]*\n)*)")


def printed(program: str) -> dict[str, str]:
    """The tables by name."""
    output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    blocks = (block.split("\n", 1) for block in output.split("\n\n") if block.strip())
    return {name.strip(): table.rstrip("\n") + "\n" for name, table in blocks}


def main() -> None:
    accept = sys.argv[-1] == "--accept"
    tables = printed(sys.argv[2])
    problems, found = [], set()
    for page in sorted((tree.root() / "docs" / "formats").glob("*.md")):
        text = page.read_text()
        for _, name, table in MARK.findall(text):
            found.add(name)
            if table != tables.get(name) and not accept:
                problems.append(f"{page.name}: the table '{name}' isn't the code's; rewrite it with --accept")
        if accept:
            page.write_text(MARK.sub(lambda m: m[1] + tables.get(m[2], m[3]), text))
    problems += [f"docs/formats: no page has the table '{name}'" for name in tables if name not in found]
    tree.finish(problems, "the byte tables in docs/formats are the code's")


main()
