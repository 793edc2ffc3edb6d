#!/usr/bin/env python3
"""Selects with guardcache's index and with this Python's own eval, and compares the answers.

    selections.py --command build/tests/unit/guards/test_guards_select [--count N] [--seed N]

The command compares every answer of the index with trying the candidates one by one; of those it tells a part, and Python
answers these once more: of the candidates whose guards are all true, the one of the highest rank. Rank is Python's own too:
by priority, then more equalities, then more conjuncts, then newer. The seed is printed.
"""

from __future__ import annotations

import argparse
import ast
import functools
import json
import math
import random
import subprocess
import sys
import tempfile
import types
import warnings
from typing import Any

from meaning import evaluate

# Hints are told as Python writes them.
LITERALS = {"inf": math.inf, "nan": math.nan}


@functools.lru_cache(maxsize=4096)
def compiled(guard: str) -> types.CodeType:
    return compile(guard, "guard", "eval")


def count(node: ast.expr) -> tuple[int, int]:
    """How many equalities, and how many conjuncts: a < b < c is two."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        counts = [count(value) for value in node.values]
        return sum(equalities for equalities, _ in counts), sum(conjuncts for _, conjuncts in counts)
    if isinstance(node, ast.Compare):
        return sum(isinstance(op, ast.Eq) for op in node.ops), len(node.ops)
    function = node.func if isinstance(node, ast.Call) and len(node.args) == 2 else None
    return int(isinstance(function, ast.Name) and function.id == "Eq"), 1


@functools.lru_cache(maxsize=4096)
def specificity(guard: str) -> tuple[int, int]:
    return count(ast.parse(guard, mode="eval").body)


def rank(candidate: dict[str, Any]) -> tuple[int, ...]:
    counts = [specificity(guard) for guard in candidate["guards"]]
    return candidate["priority"], sum(c[0] for c in counts), sum(c[1] for c in counts), candidate["number"]


def holds(guards: list[str], hints: dict[str, Any]) -> bool:
    return all(evaluate(compiled(guard), hints)[0] is True for guard in guards)


def choose(answer: dict[str, Any]) -> int | None:
    hints = {name: eval(literal, dict(LITERALS)) for name, literal in answer["hints"].items()}
    ranked = sorted(answer["candidates"], key=rank, reverse=True)
    return next((candidate["number"] for candidate in ranked if holds(candidate["guards"], hints)), None)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    warnings.simplefilter("ignore")
    compared = hits = differences = 0
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as told:
        count, seed = str(options.count), str(options.seed)
        subprocess.run([options.command, "--count", count, "--seed", seed, "--tell", told.name], check=True)
        for line in told:
            answer = json.loads(line)
            expected = choose(answer)
            compared += 1
            hits += expected is not None
            if expected != answer["chosen"] and (differences := differences + 1) <= 20:
                print(f"Python: {expected}, guardcache: {answer['chosen']}\n    {line}", flush=True)
    print(f"{compared} answers compared with Python's, {hits} of them hits, {differences} differences")
    return 1 if differences or not hits or hits == compared else 0


if __name__ == "__main__":
    sys.exit(main())
