"""Random guards and hints: every operator, the edges of every number type."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

EDGES = [
    *range(-9, 17), 31, 32, 63, 64, 100, 127, 128, 255, 256, 1000, 1024, 4096, 65536,
    2**31 - 1, 2**31, 2**31 + 1, -(2**31), -(2**31) - 1, 2**32, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1,
    2**62, 2**63 - 1, 2**63, 2**63 + 1, -(2**63) + 1, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 2**127, -(2**128),
    2**200, 2**200 + 1, -(2**200), 3**150,
]  # fmt: skip
FLOATS = [
    0.0, -0.0, 0.5, -0.5, 1.0, 1.5, 2.5, -2.5, 3.7, 0.1, 1e-9, 1e10, 1e22, 2.0**53, -(2.0**53), 2.0**63, 2.0**64, 1e300,
    -1e300, 1e-300, 5e-324, 2.2250738585072014e-308, 0.30000000000000004, 2.675, 1e16, 123456.789,
    float("inf"), float("-inf"), float("nan"),
]  # fmt: skip

# Random exponents and digits of round() would keep Python busy for hours.
EXPONENTS = ["0", "1", "2", "3", "5", "-1", "-2", "0.5", "(-0.5)", "1.5", "2.0", "(s0 % 9)", "True"]
POWERS = ["PowByNatural"]


def table_of_functions() -> list[tuple[str, int, int]]:
    """All that functions.def has, so that a new one is tried from its first day: name, least and most arguments."""
    table, found = Path(__file__).resolve().parents[2] / "guards" / "value" / "functions.def", []
    for line in table.read_text().splitlines():
        kind, _, rest = line.partition("( ")
        fields = rest.removesuffix(" )").split(", ")
        name = fields[0].strip('"')
        if kind == "FUNCTION" and name != "()":
            found.append((name, int(fields[2]), 1 if fields[1] == "round_number" else min(int(fields[3]), 6)))
        elif kind == "LOWERED":
            found.append((name, int(fields[2]), 1 if fields[1] == "ABS" else 4))
        elif kind == "LOGARITHM":
            found.append((name, 1, int(fields[2])))
        elif kind in ("OPERATOR", "PAIR", "UNARY") and name not in POWERS:
            found.append((name, *((1, 1) if kind == "UNARY" else (2, 2))))
    return found


FUNCTIONS = table_of_functions()
CONSTANTS = ["True", "False", "None", "2j", "math.inf", "-math.inf", "math.nan", "math.pi", "math.e", "math.tau",
             "torch.inf", "torch.nan", "torch.pi", "torch.e", "math", "abs"]  # fmt: skip
DIGITS = ["0", "1", "2", "3", "-1", "-2", "-3", "17", "None", "400", "-400", "s0 % 5", "0.5", "True"]
BAD_CALLS = ["foo", "math.foo", "torch.foo", "Where", "OpaqueUnaryFn_exp", "s0.real.x", "float", "abs", "math.sqrt", "int"]
NAMES = ["s0", "s1", "s2", "L['t0']", "L['t1']", "L['t2']", "s9", "L['t9']"]


class Generator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    # ---- guards ----

    def guard(self) -> str:
        depth = self.random.choice([1, 2, 2, 3, 3, 4])
        if self.random.random() < 0.3:
            return " and ".join(self.condition(2) for _ in range(self.random.randint(2, 6)))
        return self.condition(depth)

    def condition(self, depth: int) -> str:
        pick = self.random.random()
        if depth <= 0 or pick < 0.35:
            return self.comparison(depth)
        if pick < 0.5:
            word = self.random.choice([" and ", " or "])
            return word.join(self.condition(depth - 1) for _ in range(self.random.randint(2, 3)))
        if pick < 0.6:
            return "(" + self.condition(depth - 1) + ")"
        if pick < 0.7:
            return "not " + self.comparison(depth - 1)
        if pick < 0.78:
            return f"({self.value(depth - 1)} if {self.condition(depth - 1)} else {self.value(depth - 1)})"
        if pick < 0.86:
            return self.fused()
        if pick < 0.9:
            return self.bounds(self.name(), self.random.choice([1, 2, 2, 3]))
        if pick < 0.91:
            return f"{self.tuple(depth)} {self.random.choice(['==', '!='])} {self.tuple(depth)}"
        return self.value(depth)

    def comparison(self, depth: int) -> str:
        count = self.random.choice([2, 2, 2, 2, 3, 4])
        parts = [self.value(depth - 1)]
        for _ in range(count - 1):
            parts += [self.random.choice(["==", "!=", "<", "<=", ">", ">="]), self.value(depth - 1)]
        return " ".join(parts)

    def fused(self) -> str:
        """What compilers write most, and what has instructions of its own."""
        name, other = self.name(), self.name()
        n, m = self.random.choice([1, 2, 3, 4, 7, 8, 16, 64, -2, -3]), self.random.randint(-3, 9)
        return self.random.choice([
            f"{name} % {n} == {m}", f"{name} % {n} != {m}", f"({name} % {n}) == 0 or {other} % {n} == 0",
            f"{m} <= {name} and {name} <= {n}", f"{name} <= {n} and {m} <= {name}", f"{name} == {n}*{other}",
            f"{name} == {other}*{n}", f"{name} + ({-n})*{other} {self.random.choice(['<', '==', '>='])} {m}",
            f"{name} - {n}*{other} <= {m}", f"Eq({name}, {n}) == False", f"Ne({name}*{other}, {m})",
            f"({name} // {n}) % {abs(n) + 1} == {m}", f"1 % (({name} + {m}) // {n}) != 0", f"{name}*{other} <= 2147483647",
            f"(({n} if {name} > {m} else {m})) == {other}", f"Max({n}, {name}, {other}) != {name}",
        ])  # fmt: skip

    def bounds(self, name: str, depth: int) -> str:
        """Comparisons of one name with constants, joined in any way: neighbours may be one instruction."""
        if depth == 0:
            sides = [name, str(self.random.randint(-4, 9))]
            self.random.shuffle(sides)
            negation = self.random.choice(["", "", "not "])
            return negation + self.random.choice(["<", "<=", ">", ">=", "==", "!="]).join(f" {side} " for side in sides).strip()
        parts = [self.bounds(name, depth - 1) for _ in range(self.random.randint(2, 3))]
        if self.random.random() < 0.15:
            return f"({parts[0]} if {parts[1]} else {parts[-1]})"
        negation = self.random.choice(["", "", "", "not "])
        return negation + "(" + self.random.choice([" and ", " or "]).join(parts) + ")"

    def value(self, depth: int) -> str:
        pick = self.random.random()
        if depth <= 0 or pick < 0.25:
            return self.leaf()
        if pick < 0.62:
            return self.chain(depth)
        if pick < 0.68:
            return self.power(depth)
        if pick < 0.74:
            return self.random.choice(["-", "-", "+", "~"]) + self.operand(depth - 1)
        if pick < 0.90:
            return self.call(depth)
        if pick < 0.94:
            return f"({self.value(depth - 1)} if {self.condition(depth - 1)} else {self.value(depth - 1)})"
        return "(" + self.condition(depth - 1) + ")"

    def operand(self, depth: int) -> str:
        text = self.value(depth)
        return text if text.isalnum() else "(" + text + ")"

    def chain(self, depth: int) -> str:
        operators = self.random.choice([["+", "-"], ["+", "-"], ["*", "//", "%", "/"], ["*"], ["&", "|", "^"], ["<<", ">>"]])
        text = self.operand(depth - 1)
        for _ in range(self.random.choice([1, 1, 2, 3])):
            operator = self.random.choice(operators)
            right = self.random.choice(["0", "1", "3", "31", "62", "63", "64", "70", "-1", f"({self.name()} % 70)"])
            text += f" {operator} " + (right if operator in ("<<", ">>") else self.operand(depth - 1))
        return text

    def power(self, depth: int) -> str:
        exponent = self.random.choice(EXPONENTS)
        if self.random.random() < 0.2:
            return f"{self.random.choice(POWERS)}({self.value(depth - 1)}, {exponent})"
        return f"{self.operand(depth - 1)} ** {exponent}"

    def call(self, depth: int) -> str:
        pick = self.random.random()
        if pick < 0.08:
            digits = self.random.choice(DIGITS)
            name = self.random.choice(["round", "Round", "RoundToInt", "RoundDecimal"])
            return f"{name}({self.value(depth - 1)}, {digits})"
        if pick < 0.11:
            rank = self.random.randint(1, 3)
            return f"IsNonOverlappingAndDenseIndicator({', '.join(self.leaf() for _ in range(2 * rank))})"
        if pick < 0.14:
            return f"{self.random.choice(BAD_CALLS)}({self.arguments(depth, 0, 3)})"
        if pick < 0.16:
            return f"{self.random.choice(['max', 'min'])}({self.tuple(depth)})"
        if pick < 0.18:
            values = self.value(depth - 1), self.value(depth - 1)
            return f"torch.sym_ite({self.comparison(depth - 1)}, {', '.join(values)})"
        name, least, most = self.random.choice(FUNCTIONS)
        if most == 1:
            return f"{name}({self.value(depth - 1)})"
        return f"{name}({self.arguments(depth, least, most)})"

    def tuple(self, depth: int) -> str:
        items = self.arguments(depth, 0, 3)
        return f"({items},)" if items else "()"

    def arguments(self, depth: int, least: int, most: int) -> str:
        count = self.random.randint(least, most) if self.random.random() < 0.98 else self.random.randint(0, 4)
        return ", ".join(self.value(depth - 1) for _ in range(count))

    def name(self) -> str:
        return self.random.choice(NAMES[:6]) if self.random.random() < 0.995 else self.random.choice(NAMES)

    def leaf(self) -> str:
        pick = self.random.random()
        if pick < 0.6:
            return self.name()
        if pick < 0.85:
            return self.literal(self.random.choice(EDGES) if self.random.random() < 0.4 else self.random.randint(-4, 20))
        if pick < 0.95:
            return self.literal(self.random.choice(FLOATS))
        return self.random.choice(CONSTANTS)

    def literal(self, number: float) -> str:
        text = repr(number)
        if text.lstrip("-") in ("inf", "nan"):
            return text.replace("inf", "math.inf").replace("nan", "math.nan")
        if isinstance(number, int) and number >= 0 and self.random.random() < 0.1:
            text = self.random.choice([hex(number), bin(number), oct(number), f"{number:_}"])
        return f"({text})" if number < 0 else text

    # ---- hints ----

    def hints(self) -> dict[str, Any]:
        kind = self.random.random()
        names = ["s0", "s1", "s2", "t0", "t1", "t2"]
        if self.random.random() < 0.002:
            names.append(self.random.choice(["max", "math", "torch", "Mod", "float"]))
        return {name: self.hint(kind) for name in names if self.random.random() < 0.998}

    def hint(self, kind: float) -> Any:
        if kind < 0.5:
            return self.random.choice([self.random.randint(-3, 40), self.random.randint(0, 5), self.random.choice(EDGES[:26])])
        if kind < 0.8:
            return self.random.choice(EDGES)
        pick = self.random.random()
        if pick < 0.5:
            return self.random.choice(EDGES)
        if pick < 0.9:
            number = self.random.choice(FLOATS)
            return number if number == number else float("nan")  # each hint is an object of its own
        return self.random.choice([True, False, None])
