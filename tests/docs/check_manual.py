"""The manual page and the completions know every command and option that the command itself knows.

Arguments: the top of the tree, the command, the manual page.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def help_lines(command: str, *words: str) -> list[str]:
    result = subprocess.run([command, "help", *words], capture_output=True, text=True, check=True)
    return [line for line in result.stdout.splitlines() if line.startswith("  ")]


def words_of_manual(page: str) -> str:
    """The page as a reader sees it, if there is a program to show it, else without its most common escapes."""
    text = Path(page).read_text()
    if shutil.which("man"):
        shown = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, check=True)
        if shown.stderr:
            sys.exit(f"the page has faults:\n{shown.stderr}")
        text = re.sub(".\b", "", shown.stdout)
    return text.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "")


def complete(top: Path, command: str, *words: str, cache: str = "") -> set[str]:
    """What bash offers behind these words; the last one may be a beginning."""
    script = f"""
        . "{top}/src/cli/completions/guardcache.bash"
        COMP_WORDS=({" ".join(f"'{word}'" for word in ("guardcache", *words))})
        COMP_CWORD={len(words)}
        _guardcache
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    environment = os.environ | {"PATH": f"{Path(command).parent}:{os.environ['PATH']}"}
    if cache:
        environment["GUARDCACHE_DIR"] = cache
    result = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def check_values(top: Path, command: str) -> list[str]:
    """Values that completion knows: settings, reasons, kinds, and entries of the cache that is meant."""
    with tempfile.TemporaryDirectory() as folder:
        cache, graph = f"{folder}/cache", Path(folder) / "g.json"
        graph.write_text('{"format": "guardcache-graph/1", "kind": "generic"}')
        insert = [command, "insert", "--cache", cache, "--graph", str(graph), "--payload", str(graph)]
        entry = subprocess.run(insert, capture_output=True, text=True, check=True).stdout.strip()
        wanted = {
            ("journal", "--reason", "guard_"): {"guard_false", "guard_error"},
            ("explain", "--reason", "=", "no_"): {"no_key"},
            ("ls", "--set", "read"): {"read-only"},
            ("config", "max-"): {"max-size", "max-candidates"},
            ("rules", "list", "stable"): {"stablehlo"},
            ("--cache", cache, "looku"): {"lookup"},
            ("--cache", "=", cache, "looku"): {"lookup"},
            ("--json", "guard", ""): {"eval", "show", "fmt"},
            ("--cache", cache, "lookup", "--jso"): {"--json"},
            ("--nam",): {"--namespace"},
            ("show", "--cache", cache, entry[:6]): {entry},
            ("--cache", cache, "rm", entry[:6]): {entry},
        }
        problems = [
            f"completion of {words} is {found}, not {expected}"
            for words, expected in wanted.items()
            if (found := complete(top, command, *words)) != expected
        ]
        if complete(top, command, "cat", "", cache=cache) != {entry}:
            problems.append("completion doesn't offer the entries of GUARDCACHE_DIR")
    return problems


def main() -> int:
    top, command = Path(sys.argv[1]), str(Path(sys.argv[2]).resolve())
    manual, problems, checked = words_of_manual(sys.argv[3]), [], 0
    for line in help_lines(command):
        found = re.match(r"  ([a-z]+(?: [a-z]+)?)  ", line)
        if found is None:
            continue
        name = found[1]
        if not re.search(rf"(^|\s){name}\b", manual, re.MULTILINE):
            problems.append(f"the manual doesn't mention {name}")
        if name.split()[0] not in complete(top, command, name[:2]):
            problems.append(f"completion doesn't offer {name}")
        offered = complete(top, command, *name.split(), "--")
        for option in re.findall(r"^  (--[a-z-]+)", "\n".join(help_lines(command, *name.split())), re.MULTILINE):
            checked += 1
            if not re.search(rf"(?<![\w-]){option}(?![\w-])", manual):
                problems.append(f"the manual doesn't mention {name} {option}")
            if option not in offered:
                problems.append(f"completion doesn't offer {name} {option}")
    problems += check_values(top, command)
    if checked < 10:
        problems.append(f"only {checked} options found in help")
    print("\n".join(problems) or f"{checked} options are in the manual and completed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
