#!/usr/bin/env python3
"""Evaluates random guards with guardcache and with this Python, and compares results and exceptions' names.

    differential.py --command build/guardcache [--seconds 60] [--count N] [--seed N]

Prints the seed, so that a difference can be had again. Guards whose integers outgrow guardcache's documented limit
(MemoryError there) are left out of the comparison and counted.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

from generate import Generator
from meaning import evaluate

HINTS_A_GUARD = 16
GUARDS_A_BATCH = 1500


def as_json(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    return value


def batch(generator: Generator) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    for _ in range(GUARDS_A_BATCH):
        guard = generator.guard()
        code = compile(guard, "guard", "eval")
        for _ in range(HINTS_A_GUARD):
            yield guard, code, generator.hints()


def ask(command: str, cases: list[tuple[str, Any, dict[str, Any]]]) -> list[dict[str, Any]]:
    lines = (
        json.dumps({"guard": guard, "hints": {name: as_json(value) for name, value in hints.items()}})
        for guard, _, hints in cases
    )
    done = subprocess.run(
        [command, "guard", "eval", "--batch"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"guardcache ended with {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--count", type=int, default=1 << 62)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    warnings.simplefilter("ignore")
    generator = Generator(options.seed)
    until = time.monotonic() + options.seconds
    evaluations = beyond = differences = 0
    seen: set[str] = set()
    while time.monotonic() < until and evaluations < options.count:
        cases = list(batch(generator))
        answers = ask(options.command, cases)
        assert len(answers) == len(cases)
        for (guard, code, hints), answer in zip(cases, answers):
            if answer.get("error") == "MemoryError":
                beyond += 1
                continue
            result, error = evaluate(code, hints)
            if (answer["result"], answer.get("error", "")) == (result, error):
                continue
            differences += 1
            if guard not in seen and len(seen) < 20:
                seen.add(guard)
                print(f"{guard}\n    {hints}\n    Python: {result} {error}\n    guardcache: {answer}", flush=True)
        evaluations += len(cases)
    print(f"{evaluations} evaluations, {differences} differences, {beyond} beyond the limit of integers")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
