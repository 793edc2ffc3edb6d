#!/usr/bin/env python3
"""The worked example of docs/formats/fingerprint.md is what the command prints and what its formulas say.

fingerprint.py DOCUMENT COMMAND
"""

from __future__ import annotations

import hashlib
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

FILES = {"a.py": b"print(1)\n", "sub/b.py": b""}
VERSION = "2.1"


def field(content: bytes) -> bytes:
    return struct.pack("<I", len(content)) + content


def by_formula() -> tuple[dict[str, str], list[int]]:
    """The hashes by name, and how many bytes the last two are over."""
    hashes = {f"lib/{path}": hashlib.sha256(content).hexdigest() for path, content in FILES.items()}
    tree = field(b"guardcache-tree/1")
    for path in sorted(FILES):
        tree += field(path.encode()) + field(bytes.fromhex(hashes[f"lib/{path}"]))
    hashes["lib"] = hashlib.sha256(tree).hexdigest()
    parts = field(b"guardcache-fingerprint/1")
    parts += field(b"lib") + b"\0" + field(hashes["lib"].encode())
    parts += field(b"version") + b"\1" + field(VERSION.encode())
    return hashes | {"-": hashlib.sha256(parts).hexdigest()}, [len(tree), len(parts)]


def main() -> int:
    document, command = Path(sys.argv[1]).read_text(), str(Path(sys.argv[2]).resolve())
    example = document.split("## Worked example")[1]
    stated = {name: value for value, name in re.findall(r"^([0-9a-f]{64})  (\S+)$", example, re.MULTILINE)}
    computed, sizes = by_formula()
    with tempfile.TemporaryDirectory() as folder:
        for path, content in FILES.items():
            file = Path(folder) / "lib" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        arguments = [command, "fingerprint", "--files", "--fact", f"version={VERSION}", "lib"]
        printed = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=True).stdout
    found = {name: value for value, name in re.findall(r"^ *([0-9a-f]{64})  (\S+)$", printed, re.MULTILINE)}
    good = stated == computed == found and all(re.search(rf"over {size}\b", example) for size in sizes)
    if not good:
        print(f"stated    {stated}\ncomputed  {computed}, over {sizes} bytes\nprinted   {found}")
    return not good


if __name__ == "__main__":
    sys.exit(main())
