#!/usr/bin/env python3
"""Operators on numbers at the edges, asked of guardcache and of this Python's own eval.

    edges.py --command build/guardcache

Every binary operator and comparison meets every pair of numbers, four times: with operands that are names, which 64-bit registers
compute; with another name bound to a number beyond them, which makes the whole list go the exact way; and both once more with the
right operand written as a number, which has instructions of its own. Signs of quotients and remainders, and integers beside floats,
are Python's here, not C's. Then bounds in every combination, roundings of quotients, complex quotients, and the layouts of small
tensors.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from meaning import evaluate, value_of

Question = tuple[str, dict[str, Any]]

NUMBERS = [
    0, 1, -1, 2, -2, 3, -3, 7, -7, 8, -8, 64, -64, 2**31 - 1, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63), 2**64 + 3, -(2**64) - 5,
]  # fmt: skip
FLOATS = [0.0, 0.5, -0.5, 1.0, 2.0**53, 2.0**63, -(2.0**63), 2.0**64, -(2.0**64), 1e300, math.inf, -math.inf, math.nan]
SHIFTS = [0, 1, 7, 63, 64, -1]
# The result of a power or a shift must stay small.
OPERATORS = {operator: NUMBERS for operator in "+ - * // % / & | ^".split()}
OPERATORS |= {"**": [0, 1, 2, 3, -1, -2], "<<": SHIFTS, ">>": [*SHIFTS, 2**64]}
COMPARISONS = ["==", "!=", "<", "<=", ">", ">="]
BEYOND = 2**200
# Quotients that lie halfway between two doubles, and just beside that.
LARGE = [2**54 + n for n in range(8)] + [2**55 + 2, 2**55 + 6, 2**70 + 2**16, 2**70 + 3 * 2**16, 3**60, 10**40 + 1]
DIVISORS = [1, 2, 3, 4, 7, 10, 2**53 + 1, 2**64 + 3]
NEGATIVES = [-1, -4, -9]


def value(expression: str, hints: dict[str, Any]) -> Any:
    """What Python computes; where it raises, what it would be compared with doesn't matter."""
    try:
        return value_of(compile(expression, "guard", "eval"), hints)
    except Exception:  # noqa: BLE001
        return 0


def ways(expression: str, a: Any, b: int) -> list[Question]:
    """The same expression over a and b: by registers and exactly, b as a name and as a number."""
    named, written = {"a": a, "b": b}, {"a": a}
    constant = expression.replace("b", f"({b})")
    return [(expression, named), (f"beyond > 0 and {expression}", named | {"beyond": BEYOND}),
            (constant, written), (f"beyond > 0 and {constant}", written | {"beyond": BEYOND})]  # fmt: skip


def pairs() -> Iterator[Question]:
    for operator, rights in OPERATORS.items():
        for a, b in itertools.product(NUMBERS, rights):
            yield from ways(f"a {operator} b == {value(f'a {operator} b', {'a': a, 'b': b})!r}", a, b)
    for operator in COMPARISONS:
        for a, b in itertools.product(NUMBERS + FLOATS, NUMBERS):
            yield from ways(f"a {operator} b", a, b)
            yield f"b {operator} a", {"a": a, "b": b}


def bounds() -> Iterator[Question]:
    """Two bounds on a name, joined in every way: some pairs are one instruction, and must be no other pairs."""
    one = [f"{negation}{bound}" for negation in ("", "not ") for bound in ("a >= -4", "2 >= a", "a > -4", "a < 2", "a == 2")]
    joined = [f"{x} {word} {y}" for x, word, y in itertools.product(one, ("and", "or"), one)]
    nested = [f"({pair}) and -1 <= a" for pair in joined] + [f"-1 <= a and ({pair})" for pair in joined]
    chosen = [f"{x} if {y} else {z}" for x, y, z in itertools.product(one, repeat=3)]
    for guard, a in itertools.product(joined + nested + chosen, (-5, -4, 0, 2, 3)):
        yield guard, {"a": a}


def quotients() -> Iterator[Question]:
    for a, b, sign in itertools.product(LARGE, DIVISORS, (1, -1)):
        hints = {"a": sign * a, "b": b}
        yield f"a / b == {value('a / b', hints)!r}", hints
        yield f"b / a == {value('b / a', hints)!r}", hints


def complex_quotients() -> Iterator[Question]:
    """Roots of negative numbers are complex. Told by their distances from three points, since there are no such literals."""
    for x, y, p, q in itertools.product(NEGATIVES, NEGATIVES, (-3, 0, 1), (-2, 0, 5)):
        hints = {"x": x, "y": y, "p": p, "q": q}
        for point in ("0", "1", "(-1) ** 0.5"):
            distance = f"abs((x ** 0.5 + p) / (y ** 0.5 + q) - ({point}))"
            expected = value(distance, hints)
            yield f"abs({distance} - {expected!r}) < 1e-9", hints


def layouts() -> Iterator[Question]:
    for rank in (1, 2, 3):
        names = [f"{kind}{i}" for kind in "st" for i in range(rank)]
        sizes, strides = itertools.product((0, 1, 2, 3), repeat=rank), itertools.product((1, 2, 3, 6), repeat=rank)
        for size, stride in itertools.islice(itertools.product(sizes, list(strides)), 0, None, 1 if rank < 3 else 3):
            yield f"IsNonOverlappingAndDenseIndicator({', '.join(names)}) == 1", dict(zip(names, size + stride))


def as_json(hint: Any) -> Any:
    return {"$float": repr(hint)} if isinstance(hint, float) and not math.isfinite(hint) else hint


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    command = [parser.parse_args().command, "guard", "eval", "--batch"]
    asked = [*pairs(), *bounds(), *quotients(), *complex_quotients(), *layouts()]
    lines = (json.dumps({"guard": guard, "hints": {name: as_json(hint) for name, hint in hints.items()}}) for guard, hints in asked)
    output = subprocess.run(command, input="\n".join(lines) + "\n", stdout=subprocess.PIPE, text=True, check=True).stdout
    told = [json.loads(line) for line in output.splitlines()]
    differences = 0
    for (guard, hints), answer in zip(asked, told):
        expected, exception = evaluate(compile(guard, "guard", "eval"), hints)
        found = (answer["result"], answer.get("error", ""))
        if found != (expected, exception) and (differences := differences + 1) <= 20:
            print(f"{guard} with {hints}: Python says {expected} {exception}, guardcache {answer}")
    print(f"{len(told)} of {len(asked)} questions answered, {differences} differences")
    return 1 if differences or len(told) != len(asked) else 0


if __name__ == "__main__":
    sys.exit(main())
