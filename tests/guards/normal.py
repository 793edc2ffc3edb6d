#!/usr/bin/env python3
"""The normal form of every recorded guard: `guard fmt` of it is itself, and it holds for the same integers.

    normal.py --command build/guardcache GUARDS.jsonl... [--seed N]

Hints are the recorded ones and random ones near them and near the guard's own constants. Where a guard is false or raises its
normal form must be false or raise; which of both may change where bounds are merged. Prints the seed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

HINTS_A_GUARD = 40


def normal_form(command: str, texts: list[str]) -> list[str]:
    done = subprocess.run([command, "guard", "fmt", "--", *texts], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def recorded(files: list[Path]) -> dict[str, list[dict[str, Any]]]:
    guards: dict[str, list[dict[str, Any]]] = {}
    for file in files:
        for line in file.read_text().splitlines():
            row = json.loads(line)
            guards[row["guard"]] = [case["hints"] for case in row["cases"] if case["result"] != "invalid"]
    return guards


def near(value: Any, constants: list[int], pick: random.Random) -> Any:
    """An integer by itself, near it, near a constant, or small."""
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    around = pick.choice([value, value, pick.choice(constants), 0])
    return around + pick.choice([0, 0, 1, -1, pick.randint(-9, 9), pick.randint(0, 64)])


def integers(hints: dict[str, Any]) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in hints.values())


def cases_of(guard: str, hints: list[dict[str, Any]], pick: random.Random) -> list[dict[str, Any]]:
    constants = [int(text) for text in re.findall(r"(?<![\w.'])\d{1,12}(?![\w.'])", guard)] or [1]
    given = [row for row in hints if integers(row)]
    tried = [{name: near(value, constants, pick) for name, value in pick.choice(given).items()} for _ in range(HINTS_A_GUARD)]
    return given[:HINTS_A_GUARD] + tried


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    pick = random.Random(options.seed)
    questions: list[tuple[str, str, dict[str, Any]]] = []
    problems = []
    guards = recorded(options.files)
    for guard, hints in guards.items():
        lines = normal_form(options.command, [guard])
        again = normal_form(options.command, lines)
        if again != lines:
            changed = [f"    {line}\n    {other}" for line, other in zip(lines, again) if line != other] or [f"    {again}"]
            problems.append(f"the normal form has another one, of {guard[:80]}:\n{changed[0]}")
        joined = " and ".join(f"({line})" for line in lines) or "True"
        if any(integers(row) for row in hints):
            questions += [(guard, joined, case) for case in cases_of(guard, hints, pick)]
    rows = (json.dumps({"guard": text, "hints": case}) for guard, form, case in questions for text in (guard, form))
    done = subprocess.run(
        [options.command, "guard", "eval", "--batch"], input="\n".join(rows) + "\n", capture_output=True, text=True, check=True
    )
    answers = [json.loads(line)["result"] is True for line in done.stdout.splitlines()]
    assert len(answers) == 2 * len(questions) > 1000
    told: set[str] = set()
    for (guard, form, case), before, after in zip(questions, answers[::2], answers[1::2]):
        if before != after and guard not in told:
            told.add(guard)
            problems.append(f"{guard}\n    {form}\n    {case}: {before} became {after}")
    held = sum(answers[::2])
    print("\n".join(problems[:10]) or f"{len(guards)} guards, {len(questions)} evaluations of both, {held} of them true")
    return 1 if problems or held * 10 < len(questions) else 0


if __name__ == "__main__":
    sys.exit(main())
