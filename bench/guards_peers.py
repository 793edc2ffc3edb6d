"""What guards cost elsewhere: for bench_guards, which starts it.

    guards_peers.py CASES C_FILE TIMES

CASES has a JSON object a line: guard, names in the order of a function's argument, hints. Written: a C file with a function for
each guard, as a compiler of guards to C would make it (64-bit integers, floor division, no checks; 0 in the table for what
doesn't translate), and a line of times for each: nanoseconds of eval() of the text, as PyTorch does it, and of its code object.
"""

from __future__ import annotations

import ast
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "guards"))
from meaning import NAMES  # noqa: E402

HEAD = """#include <stdint.h>
static inline int64_t floordiv(int64_t a, int64_t b) { int64_t q = a / b; return q - (q * b != a && (a ^ b) < 0); }
static inline int64_t mod(int64_t a, int64_t b) { int64_t r = a % b; return r != 0 && (r ^ b) < 0 ? r + b : r; }
static inline int64_t max(int64_t a, int64_t b) { return b > a ? b : a; }
static inline int64_t min(int64_t a, int64_t b) { return b < a ? b : a; }
"""
INFIX = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
CALLS = {"max": "max", "min": "min", "Max": "max", "Min": "min", "Mod": "mod", "FloorDiv": "floordiv"}
SAMPLES, LEAST_NS = 5, 20_000


class Foreign(Exception):
    """The guard has something that this translation doesn't know."""


def to_c(node: ast.AST, names: list[str]) -> str:
    def inner(child: ast.AST) -> str:
        return to_c(child, names)

    match node:
        case ast.Expression():
            return inner(node.body)
        case ast.BoolOp():
            return "(" + (" && " if isinstance(node.op, ast.And) else " || ").join(map(inner, node.values)) + ")"
        case ast.UnaryOp(op=ast.USub()):
            return f"(-{inner(node.operand)})"
        case ast.UnaryOp(op=ast.Not()):
            return f"(!{inner(node.operand)})"
        case ast.BinOp() if type(node.op) in INFIX:
            return f"({inner(node.left)} {INFIX[type(node.op)]} {inner(node.right)})"
        case ast.BinOp(op=ast.FloorDiv()):
            return f"floordiv({inner(node.left)}, {inner(node.right)})"
        case ast.BinOp(op=ast.Mod()):
            return f"mod({inner(node.left)}, {inner(node.right)})"
        case ast.Compare() if all(type(op) in COMPARE for op in node.ops):
            sides = [inner(side) for side in (node.left, *node.comparators)]
            pairs = zip(sides, node.ops, sides[1:])
            return "(" + " && ".join(f"{left} {COMPARE[type(op)]} {right}" for left, op, right in pairs) + ")"
        case ast.Constant(value=bool(value)):
            return str(int(value))
        case ast.Constant(value=int(value)) if abs(value) < 1 << 63:
            return f"INT64_C({value})"
        case ast.Subscript(value=ast.Name(id="L"), slice=ast.Constant(value=str(name))):
            return f"v[{names.index(name)}]"
        case ast.Name(id=name) if name in names:
            return f"v[{names.index(name)}]"
        case ast.Call(func=ast.Name(id=name), args=[first, second]) if name in CALLS:
            return f"{CALLS[name]}({inner(first)}, {inner(second)})"
        case _:
            raise Foreign(ast.dump(node)[:40])


def function(number: int, case: dict[str, Any]) -> tuple[str, str]:
    try:
        body = to_c(ast.parse(case["guard"], mode="eval"), case["names"])
    except Foreign:
        return "", "0"
    return f"static int guard{number}(int64_t const *v) {{ return {body}; }}\n", f"guard{number}"


def nanoseconds(call: Callable[[], object]) -> float:
    """The median of a few samples, each long enough for the clock."""
    loops = 1
    while True:
        samples = []
        for _ in range(SAMPLES):
            start = time.perf_counter_ns()
            for _ in range(loops):
                call()
            samples.append(time.perf_counter_ns() - start)
        if statistics.median(samples) >= LEAST_NS:
            return statistics.median(samples) / loops
        loops *= 4


def main() -> None:
    cases_path, c_path, times_path = sys.argv[1:]
    warnings.simplefilter("ignore")
    cases = [json.loads(line) for line in Path(cases_path).read_text().splitlines()]
    functions = [function(number, case) for number, case in enumerate(cases)]
    table = ", ".join(name for _, name in functions)
    code = HEAD + "".join(text for text, _ in functions) + f"int (*const guards[])(int64_t const *) = {{ {table} }};\n"
    Path(c_path).write_text(code)
    with Path(times_path).open("w") as out:
        for case in cases:
            if not case["timed"]:
                continue
            text, local = case["guard"], {**case["hints"], "L": case["hints"]}
            compiled = compile(text, "guard", "eval")
            whole, run = nanoseconds(partial(eval, text, NAMES, local)), nanoseconds(partial(eval, compiled, NAMES, local))
            out.write(f"{whole} {run}\n")


main()
