#!/usr/bin/env python3
"""Evaluates random guards with guardcache and with this Python: results, exceptions' names and values must be the same.

    differential.py --command build/guardcache [--seconds 60] [--count N] [--seed N]

Prints the seed, so that a difference can be had again. Three kinds of questions are asked:

* guards, with many hints each: true, false, or which exception;
* values: the guard says that an expression equals what Python computed, to the bit;
* texts with tokens lost, doubled and swapped: what Python can't parse must be invalid, and what it can parse must be
  valid as far as it only has what the language has.

Guards whose integers outgrow guardcache's documented limit (MemoryError there) are left out and counted.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import random
import re
import subprocess
import sys
import time
import types
import warnings
from typing import Any, NamedTuple

from generate import Generator
from meaning import evaluate, value_of

GUARDS_A_BATCH = 1500
HINTS_A_GUARD = 24
HINTS_A_BATCH = 3000

# Larger integers are left to time and memory: Python takes as much as there is.
MOST_DIGITS = 4000


class Case(NamedTuple):
    guard: str
    hints: dict[str, Any]
    hints_text: str
    code: types.CodeType | bool  # a bool: whether it must be in the language, evaluating it might take for ever


def as_json(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    return value


def hints_text(hints: dict[str, Any]) -> str:
    return json.dumps({name: as_json(value) for name, value in hints.items()})


# ---- values ----


def literal(value: Any) -> str | None:
    """How a guard writes a value; None for what has no literal."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return str(value) if abs(value) < 10**MOST_DIGITS else None
    if isinstance(value, float):
        return repr(value).replace("inf", "math.inf").replace("nan", "math.nan")
    return None


def claim_of(expression: str, value: Any) -> str | None:
    """A guard that is true if the expression has exactly this value and type."""
    text = literal(value)
    if text is None:
        return None
    if isinstance(value, float) and math.isnan(value):
        return f"math.isnan({expression})"
    if isinstance(value, float):
        # == takes -0.0 for 0.0.
        return f"({expression}) == {text} and math.copysign(1, {expression}) == {math.copysign(1, value)}"
    return f"({expression}) == {text}"


def claims(generator: Generator, hints: list[tuple[dict[str, Any], str]]) -> list[Case]:
    found = []
    for _ in range(GUARDS_A_BATCH):
        expression = generator.value(3)
        bound, text = generator.random.choice(hints)
        try:
            value = value_of(compile(expression, "value", "eval"), bound)
            guard = claim_of(expression, value)
        except Exception:  # noqa: BLE001, S112 - those are the other kind's
            continue
        if guard is not None:
            found.append(Case(guard, bound, text, compile(guard, "guard", "eval")))
    return found


# ---- broken texts ----

TOKEN = re.compile(r"L\['\w+'\]|[\w.]+|\*\*|//|<<|>>|[=!<>]=|\s+|.")
PLAIN = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod,
    ast.Pow, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd,
    ast.Invert, ast.IfExp, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Call, ast.Attribute,
    ast.Name, ast.Load, ast.Constant,
)  # fmt: skip
NUMBERS = (int, float, complex, type(None))


# CPython 3.11 forbids leading zeros but overlooks them where it first took the e of `else` for an exponent.
OVERLOOKED = re.compile(r"\b0\d+else\b")


def is_hint(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == "L"
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    )


def is_in_language(node: ast.AST) -> bool:
    if is_hint(node):
        return True
    if not isinstance(node, PLAIN) or (isinstance(node, ast.Constant) and not isinstance(node.value, NUMBERS)):
        return False
    if isinstance(node, ast.Call) and node.keywords:
        return False
    return all(is_in_language(child) for child in ast.iter_child_nodes(node))


def break_text(generator: Generator, text: str) -> str:
    tokens = TOKEN.findall(text)
    for _ in range(generator.random.randint(1, 2)):
        at, other = (generator.random.randrange(len(tokens)) for _ in range(2))
        match generator.random.randrange(4):
            case 0:
                tokens[at] = ""
            case 1:
                tokens[at] += tokens[at]
            case 2:
                tokens[at] = tokens[other]
            case _:
                tokens[at], tokens[other] = tokens[other], tokens[at]
    return "".join(tokens)


def broken(generator: Generator, hints: list[tuple[dict[str, Any], str]]) -> list[Case]:
    found = []
    for _ in range(GUARDS_A_BATCH):
        text = break_text(generator, generator.guard())
        bound, bound_text = generator.random.choice(hints)
        try:
            tree = ast.parse(text.lstrip(" \t"), mode="eval")  # as eval() strips it
        except SyntaxError:
            found.append(Case(text, bound, bound_text, False))
            continue
        if is_in_language(tree) and not OVERLOOKED.search(text):
            found.append(Case(text, bound, bound_text, True))
    return found


# ---- the comparison ----


def batch(generator: Generator) -> list[Case]:
    hints = [(bound, hints_text(bound)) for bound in (generator.hints() for _ in range(HINTS_A_BATCH))]
    cases = []
    for _ in range(GUARDS_A_BATCH):
        guard = generator.guard()
        code = compile(guard, "guard", "eval")
        cases += [Case(guard, *choice, code) for choice in generator.random.choices(hints, k=HINTS_A_GUARD)]
    return cases + claims(generator, hints) + broken(generator, hints)


def ask(command: str, cases: list[Case]) -> list[dict[str, Any]]:
    lines = (f'{{"guard": {json.dumps(case.guard)}, "hints": {case.hints_text}}}\n' for case in cases)
    done = subprocess.run(
        [command, "guard", "eval", "--batch"], input="".join(lines), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"guardcache ended with {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def is_right(case: Case, answer: dict[str, Any]) -> tuple[bool, str]:
    """Whether guardcache says the same as Python, and what Python says."""
    if isinstance(case.code, bool):
        return (answer["result"] != "invalid") == case.code, "valid" if case.code else "invalid"
    result, error = evaluate(case.code, case.hints)
    return (answer["result"], answer.get("error", "")) == (result, error), error or str(result)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--count", type=int, default=1 << 62)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    warnings.simplefilter("ignore")
    sys.set_int_max_str_digits(0)
    generator = Generator(options.seed)
    until = time.monotonic() + options.seconds
    evaluations = beyond = differences = 0
    seen: set[str] = set()
    while time.monotonic() < until and evaluations < options.count:
        cases = batch(generator)
        answers = ask(options.command, cases)
        assert len(answers) == len(cases)
        for case, answer in zip(cases, answers):
            if answer.get("error") == "MemoryError":
                beyond += 1
                continue
            right, python = is_right(case, answer)
            if right:
                continue
            differences += 1
            if case.guard not in seen and len(seen) < 20:
                seen.add(case.guard)
                print(f"{case.guard}\n    {case.hints}\n    Python: {python}\n    guardcache: {answer}", flush=True)
        evaluations += len(cases)
    print(f"{evaluations} evaluations, {differences} differences, {beyond} beyond the limit of integers")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
