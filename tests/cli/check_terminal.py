"""What the command writes to a terminal: no colours with NO_COLOR, and none in what isn't a terminal.

Argument: the command. It is run on a pseudoterminal, so that it takes its output for one.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import tempfile
from pathlib import Path

GRAPH = {
    "format": "guardcache-graph/1",
    "kind": "generic",
    "graph": {"nodes": [{"name": "x", "op": "placeholder", "target": "x", "args": [], "kwargs": {}}]},
    "inputs": [{"name": "x", "value": {"$tensor": {"dtype": "float32", "shape": ["s0", 16], "device": "cpu"}}}],
}


def on_terminal(arguments: list[str], environment: dict[str, str]) -> bytes:
    """Everything that the command writes, output and errors, to a terminal."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(arguments[0], arguments, environment)
    written = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        written += piece
    os.close(terminal)
    os.waitpid(child, 0)
    return written


def main() -> int:
    command, problems, seen = str(Path(sys.argv[1]).resolve()), [], 0
    with tempfile.TemporaryDirectory() as folder:
        graph, payload = Path(folder) / "g.json", Path(folder) / "payload"
        graph.write_text(json.dumps(GRAPH))
        payload.write_text("code")
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "GUARDCACHE_DIR": f"{folder}/cache", "TERM": "xterm-256color"}
        insert = [command, "insert", "--graph", str(graph), "--payload", str(payload), "--guard", "s0 % 8 == 0"]
        subprocess.run(insert, env=environment, capture_output=True, check=True)
        lookup = [command, "lookup", "--graph", str(graph), "--hint", "s0=12"]
        subprocess.run(lookup, env=environment, capture_output=True, check=False)
        asked = [["explain", "--graph", str(graph), "--hint", "s0=12"], ["explain", "--last"], ["journal"], ["stats"]]
        asked += [["top"], ["ls"], ["ls", "--shadowed"], ["help"], ["help", "explain"], ["lookup", "--key", "0"]]
        for words in asked:
            plain = on_terminal([command, *words], {**environment, "NO_COLOR": "1"})
            piped = subprocess.run([command, *words], env=environment, capture_output=True, check=False)
            seen += bool(plain)
            for where, text in (("a terminal with NO_COLOR", plain), ("a pipe", piped.stdout + piped.stderr)):
                if b"\x1b" in text:
                    problems.append(f"{' '.join(words)}: an escape sequence on {where}")
        if b"\x1b[1;31mfalse\x1b[0m" not in on_terminal([command, *asked[0]], environment):
            problems.append("explain: no colours on a terminal")
    if seen != len(asked):
        problems.append(f"only {seen} of {len(asked)} commands wrote anything")
    print("\n".join(problems) or f"{seen} commands without escape sequences")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
