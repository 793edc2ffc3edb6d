"""The manual page's examples are run, in a folder that has the files they speak of.

Arguments: the top of the tree, the command, the manual page's source. None may end with a status above 1 or say nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES_LEAST = 5


def examples(page: Path) -> list[str]:
    section = re.search(r"^\.SH EXAMPLES\n\.nf\n(.*?)^\.fi", page.read_text(), re.MULTILINE | re.DOTALL)
    return section[1].replace("\\-", "-").splitlines() if section else []


def furnish(folder: Path, top: Path, command: str) -> None:
    """graph.json is stored for multiples of 8; a twin of it, another graph, a rule set and a compiler's sources."""
    story = (top / "fixtures/stories/fx.json").read_text()
    (folder / "graph.json").write_text(story)
    (folder / "other.json").write_text(story.replace("float32", "float64", 1))
    (folder / "graphs").mkdir()
    for name in ("a.json", "b.json"):
        (folder / "graphs" / name).write_text(story)
    shutil.copy(top / "src/kinds/fx/rules.json", folder / "mine.json")
    (folder / "compiler").mkdir()
    (folder / "compiler" / "pass.py").write_text("print()\n")
    (folder / "payload").write_text("code")
    insert = [command, "insert", "--graph", "graph.json", "--payload", "payload", "--guard", "L['t0'] % 8 == 0"]
    environment = {**os.environ, "GUARDCACHE_DIR": str(folder / "cache")}
    subprocess.run(insert, cwd=folder, env=environment, check=True, capture_output=True)


def main() -> int:
    top, command, problems = Path(sys.argv[1]), str(Path(sys.argv[2]).resolve()), []
    found = examples(Path(sys.argv[3]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        furnish(folder, top, command)
        path = f"{Path(command).parent}:/usr/bin:/bin"
        environment = {"PATH": path, "HOME": name, "GUARDCACHE_DIR": str(folder / "cache"), "LC_ALL": "C.UTF-8"}
        for line in found:
            shell = ["bash", "-o", "pipefail", "-c", line]
            result = subprocess.run(shell, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            if result.returncode > 1 or not result.stdout:
                problems.append(f"{line}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    if len(found) < EXAMPLES_LEAST:
        problems.append(f"only {len(found)} examples found")
    print("\n".join(problems) or f"{len(found)} examples run")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
