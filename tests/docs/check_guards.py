"""The reference of the guard language says what is so: its examples are evaluated, its listings compared.

Arguments: the top of the tree, the command.

In a block ```guards each line is a guard, its hints and the outcome, apart by two or more spaces; guardcache and, where
the language isn't narrower than Python (```guards narrower), Python's own eval must both come to the outcome. In a block
```console the lines behind `$ ` are run, and what they print must be what follows. Every function is mentioned.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOP = Path(sys.argv[1])
COMMAND = Path(sys.argv[2]).resolve()
sys.path.insert(0, str(TOP / "tests" / "guards"))

from meaning import evaluate  # noqa: E402 - found by the line above

warnings.simplefilter("ignore")


def blocks(text: str, kind: str) -> Iterator[tuple[int, list[str]]]:
    """The blocks of a kind: the number of the first line, and the lines."""
    inside: list[str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if inside is None and line == "```" + kind:
            inside, first = [], number + 1
        elif inside is not None and line == "```":
            yield first, inside
            inside = None
        elif inside is not None:
            inside.append(line)


def split(line: str) -> tuple[str, dict[str, Any], str]:
    fields = re.split(r" {2,}", line.strip())
    hints = fields[1].split() if len(fields) == 3 else []
    return fields[0], {name: json.loads(value) for name, _, value in (hint.partition("=") for hint in hints)}, fields[-1]


def ask(guard: str, hints: dict[str, Any]) -> str:
    request = json.dumps({"guard": guard, "hints": hints}) + "\n"
    done = subprocess.run(
        [str(COMMAND), "guard", "eval", "--batch"], input=request, capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout)
    return answer["error"] if answer["result"] == "error" else str(answer["result"]).lower()


def python_says(guard: str, hints: dict[str, Any]) -> str:
    values = {name: float(value["$float"]) if isinstance(value, dict) else value for name, value in hints.items()}
    try:
        code = compile(guard, "guard", "eval")
    except SyntaxError:
        return "invalid"
    result, error = evaluate(code, values)
    return error or str(result).lower()


def check_examples(text: str, kind: str, both: bool) -> tuple[list[str], int]:
    problems, count = [], 0
    for first, lines in blocks(text, kind):
        for number, line in enumerate(lines, first):
            guard, hints, outcome = split(line)
            count += 1
            answers = {"guardcache": ask(guard, hints)} | ({"Python": python_says(guard, hints)} if both else {})
            problems += [
                f"guards/README.md:{number}: {guard}: {who} says {answer}, not {outcome}"
                for who, answer in answers.items()
                if answer != outcome
            ]
    return problems, count


def check_listings(text: str) -> list[str]:
    environment = os.environ | {"PATH": f"{COMMAND.parent}:{os.environ['PATH']}"}
    problems = []
    for first, lines in blocks(text, "console"):
        shown = ""
        for line in lines:
            if line.startswith("$ "):
                done = subprocess.run(
                    line[2:], shell=True, env=environment, capture_output=True, text=True, check=False
                )
                shown += f"{line}\n{done.stdout}{done.stderr}"
        if shown != "\n".join(lines) + "\n":
            problems.append(f"guards/README.md:{first}: what is printed is\n{shown}")
    return problems


def check_functions(text: str) -> list[str]:
    names = re.findall(r'^[A-Z]+\( "([^"(]+)"', (TOP / "guards" / "value" / "functions.def").read_text(), re.MULTILINE)
    assert len(names) > 50
    return [
        f"guards/README.md doesn't mention {name}"
        for name in names
        if not re.search(rf"(?<![\w]){re.escape(name.split('.')[-1])}\b", text)
    ]


def main() -> int:
    text = (TOP / "guards" / "README.md").read_text()
    problems, compared = check_examples(text, "guards", both=True)
    more, alone = check_examples(text, "guards narrower", both=False)
    problems += more + check_listings(text) + check_functions(text)
    if compared < 50 or alone == 0:
        problems.append(f"only {compared} and {alone} examples found")
    print("\n".join(problems) or f"{compared + alone} examples are as they should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
