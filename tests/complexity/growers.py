"""What grows: one feature of a description, a guard or a rule set, made so many times.

A grower takes a number and gives a text whose size grows with it. The names say what is many; the fixed cases of
check.py are some of them at a size.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

Grower = Callable[[int], str]

# ---- expressions ----


def joined(separator: str, form: str) -> Grower:
    """form once for each number, with {i} the number and {j} the next."""
    return lambda n: separator.join(form.format(i=i, j=i + 1, k=2 * i, l=2 * i + 1) for i in range(n))


def wrapped(form: str, most: int = 180) -> Grower:
    """form within itself."""

    def grow(n: int) -> str:
        text = "s0"
        for i in range(min(n, most)):
            text = form.format(text, i=i)
        return text

    return grow


EXPRESSIONS: dict[str, Grower] = {
    "sum": joined(" + ", "s{i}"),
    "difference": joined(" - ", "s{i}"),
    "sum of multiples": joined(" + ", "{j}*s{i}"),
    "sum of one symbol": joined(" + ", "s0"),
    "product": joined("*", "s{i}"),
    "product of sums": joined("*", "(s{k} + s{l})"),
    "product of sums with one": joined("*", "(s{i} + 1)"),
    "product of powers": joined("*", "(s{i} + 1)**32"),
    "sum of powers": joined("+", "(s{i} + s{j} + u{i})**32"),
    "sum of products": joined("+", "s{k}*s{l}"),
    "ring of products": joined("+", "s{i}*s{j}"),
    "towers of numbers": joined("+", "((3**32)**32)*s{i}"),
    "product of towers": joined("*", "(((7**32)**32)**32)"),
    "long integers": joined("+", "9" * 4000 + "*s{i}"),
    "quotients": joined("//", "s{i}"),
    "fractions": joined("/", "s{i}"),
    "remainders": joined("%", "s{i}"),
    "bits": joined("&", "s{i}"),
    "comparisons": joined("<", "s{i}"),
    "conditions": joined(" and ", "s{i}"),
    "sum of maxima": joined("+", "Max(s{i}, s{j})"),
    "sum of remainders": joined("+", "Mod(s{i}*8 + 4, s{j})"),
    "sum of calls": joined("+", "f(s{i})"),
    "sum of floats": joined("+", "z{i}*0.5 + s{i}"),
    "product of floats": joined("*", "(z{i} + s{i})"),
    "arguments": lambda n: f"Max({joined(',', 's{i}')(n)})",
    "arguments of many": lambda n: "+".join(f"f({joined(',', f's{{i}}_{k}')(1000)})" for k in range(n // 1000 + 1)),
    "tokens": lambda n: "? " + joined(" ", "s{i}")(n),
    "signs": lambda n: "+".join("-" * 100 + f"s{i}" for i in range(n // 25 + 1)),
    "spaces": lambda n: "s0" + " " * n + "+ s1",
    "long names": lambda n: "+".join("s" + "x" * 200 + str(i) for i in range(n // 50 + 1)),
    "nested products": wrapped("({0} + 1)*(a{i} + b{i})*(c{i} + 2)"),
    "nested sums": wrapped("({0} + s{i})//2"),
    "nested maxima": wrapped("Max({0}, s{i})"),
    "nested calls": wrapped("f({0}, s{i})"),
}

# ---- descriptions ----


def described(**components: Any) -> str:
    return json.dumps({"format": "guardcache-graph/1", "kind": "generic", **components})


def symbolic(text: str) -> dict[str, str]:
    return {"$sym": text}


def tensor(*shape: Any, **members: Any) -> dict[str, Any]:
    return {"$tensor": {"dtype": "float32", "shape": list(shape), **members}}


def inputs(values: list[Any]) -> list[dict[str, Any]]:
    return [{"name": f"x{i}", "value": value} for i, value in enumerate(values)]


def nested(inner: Any, most: int, wrap: Callable[[Any, int], Any]) -> Callable[[int], Any]:
    def grow(n: int) -> Any:
        value = inner
        for i in range(min(n, most)):
            value = wrap(value, i)
        return value

    return grow


def node(name: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
    return {"name": name, "op": "call_function", "target": "f", "args": list(args), "kwargs": kwargs}


def deep_graph(n: int) -> dict[str, Any]:
    graph: dict[str, Any] = {"nodes": [node(f"a{i}", *[{"$node": "root"}] * 20) for i in range(n // 20 + 1)]}
    for i in range(60):
        graph = {"nodes": [node(f"b{i}")], "subgraphs": {"g": graph}}
    graph["nodes"].append(node("root"))
    return graph


def random_pairs(n: int) -> list[Any]:
    chance = random.Random(n)  # noqa: S311 - not for secrets
    return [tensor(f"s{chance.randrange(n)}*s{chance.randrange(n)}") for _ in range(n)]


VALUES: dict[str, Callable[[int], Any]] = {
    "items": lambda n: [0] * n,
    "members": lambda n: {f"k{i}": i for i in reversed(range(n))},
    "members of long names": lambda n: {"k" * 500 + str(i): i for i in range(n // 100 + 2)},
    "text": lambda n: "x" * n,
    "escapes": lambda n: "\x01" * n,
    "bytes": lambda n: {"$bytes": "QUJD" * n},
    "lists in lists": nested(0, 240, lambda value, _: [value]),
    "tuples in tuples": nested(0, 240, lambda value, _: {"$tuple": [value]}),
    "sets in sets": nested(symbolic("s0"), 23, lambda value, i: {"$set": [value, symbolic(f"s{i}")]}),
    "sets deep in sets": nested("x", 240, lambda value, i: {"$set": [value, i]}),
    "a long list in sets": lambda n: nested([symbolic(f"s{i}") for i in range(n)], 23, lambda v, _: {"$set": [v]})(23),
    "set of texts": lambda n: {"$set": [f"{i}" for i in range(n)]},
    "set of one text": lambda n: {"$set": ["x"] * n},
    "set of symbols": lambda n: {"$set": [symbolic(f"s{i}") for i in range(n)]},
    "set of a ring": lambda n: {"$set": [symbolic(f"s{i}*s{(i + 1) % n}") for i in range(n)]},
    "set of a path": lambda n: {"$set": [symbolic(f"s{i}*s{i + 1}") for i in range(n)]},
    "set of long texts": lambda n: {"$set": ["x" * 4000 + str(i) for i in range(n // 800 + 2)]},
    "tied sets": lambda n: [{"$set": [symbolic(f"s{2 * i}"), symbolic(f"s{2 * i + 1}")]} for i in range(n)],
    "integers": lambda n: [int("9" * 4000)] * (n // 800 + 1),
    "a symbol of digits": lambda n: symbolic("9" * n),
    "a text of digits": lambda n: {"$int": "9" * n},
}

DESCRIPTIONS: dict[str, Grower] = {
    "components": lambda n: described(**{f"c{i}": symbolic(f"s{i}") for i in range(n)}),
    "inputs": lambda n: described(inputs=inputs([tensor(f"s{i}", f"s{i + 1}") for i in range(n)])),
    "inputs of sums": lambda n: described(inputs=inputs([tensor(f"s{i} + s{i + 1}") for i in range(n)])),
    "inputs of pairs": lambda n: described(inputs=inputs(random_pairs(n))),
    "rank": lambda n: described(inputs=inputs([tensor(*[4] * n, stride=[1] * n)])),
    "symbolic rank": lambda n: described(inputs=inputs([tensor(*[f"s{i}" for i in range(n)])])),
    "tensor's members": lambda n: described(inputs=inputs([tensor(2, **{f"m{i}": symbolic(f"s{i}") for i in range(n)})])),
    "values": lambda n: described(constants={"k": tensor(n, values=list(range(n)))}),
    "nodes": lambda n: described(graph={"nodes": [node("a"), *(node(f"n{i}", {"$node": "a"}) for i in range(n))]}),
    "arguments of a node": lambda n: described(graph={"nodes": [node("a"), node("b", *[{"$node": "a"}] * n)]}),
    "keywords of a node": lambda n: described(graph={"nodes": [node("a", **{f"k{i}": i for i in range(n)})]}),
    "subgraphs": lambda n: described(graph={"nodes": [], "subgraphs": {f"g{i}": {"nodes": []} for i in range(n)}}),
    "references out of a deep graph": lambda n: described(graph=deep_graph(n)),
    "constants": lambda n: described(graph={"nodes": [], "constants": {f"k{i}": tensor(2) for i in range(n)}}),
    "open brackets": lambda n: "[" * n,
    "a text that breaks off": lambda n: '{"format": "guardcache-graph/1", "things": [' + "[], " * n,
    "lines before an error": lambda n: "\n" * n + "x",
    "a wrong one behind many": lambda n: described(things=[*[tensor("s0")] * n, {"$node": "nowhere"}]),
}
for expression_name, expression in EXPRESSIONS.items():
    DESCRIPTIONS[f"a {expression_name}"] = lambda n, f=expression: described(inputs=inputs([symbolic(f(n))]))
    DESCRIPTIONS[f"many a {expression_name}"] = lambda n, f=expression: described(
        inputs=inputs([symbolic(f(8).replace("s", f"s{k}_")) for k in range(n // 8 + 1)])
    )
for value_name, value_grower in VALUES.items():
    DESCRIPTIONS[value_name] = lambda n, f=value_grower: described(things=f(n))

# ---- texts under rules ----

# What the shipped rules look for, and what may come between.
PIECES = (
    '"', '\\"', "(", ")", " ", "\n", "\t", ";", "//", "@", '@"', "%", "#", "!", "#loc", "loc(", 'loc("a":1:2)',
    "#loc1 = loc(unknown)\n", "module @", "func.func private @f_1", "%arg0", "%1 = ", "!1 = !{", "attributes #1 = ", "B1v2", "B3",
    "__numba_array_expr_0x7f", "@.str.1", "@.bytes.12", "@julia_f_1", "jl_global", "#1.jit", "inttoptr (i64 140000000000 to ",
    "source_filename = ", "kernel_idx = 1", 'jax.result_info = "', 'backend_config = "1234567890"', "0x7f0011223344", "x", "1", "_",
    ".", "$", "\\", "=", "{", "}", ",", ":", "triton_poi_fused_1",
)  # fmt: skip
KINDS = ("stablehlo", "llvm-ir", "triton", "fx", "aot")


def text_of(kind: str, text: str) -> str:
    return json.dumps(
        {"format": "guardcache-graph/1", "kind": kind, "module": text, "source": text, "options": {"code": text[:1000]}}
    )


# Names that rules hand back: no line end, and no quote or one that is never closed, ends the search for where they begin.
NAMES = joined(" ", "__numba_array_expr_0x{i:x}")
DESCRIPTIONS["names on one line"] = lambda n: text_of("llvm-ir", NAMES(n))
DESCRIPTIONS["names behind a quote"] = lambda n: text_of("llvm-ir", '@"' + NAMES(n) + '"')
DESCRIPTIONS["names of strings on one line"] = lambda n: text_of("llvm-ir", joined(" ", "@.bytes.{i}")(n))


def pieces(chance: random.Random, n: int) -> str:
    """A few pieces, repeated, with a start and an end."""
    some = [chance.choice(PIECES) for _ in range(chance.randint(1, 4))]
    middle = "".join(chance.choice(some) for _ in range(chance.randint(1, 5)))
    start, end = ("".join(chance.choice(PIECES) for _ in range(chance.randint(0, 3))) for _ in range(2))
    return start + middle * max(1, n // len(middle)) + end


# ---- rule sets ----

PATTERNS = (
    "x.*?y", "(x+x+)+y", "x[^q]*y", "(?:x|x)*y", "[a-z]*?[0-9]", "(a?){20}a{20}", "x(?=.*y)", r"\bx+\b", "(?:.*?,){11}P",
    r"tmp_\d+", "(x|y)*z", ".*.*=.*", r"(?<a>\((?:[^()]|(?&a))*\))",
)  # fmt: skip


def rule_set(chance: random.Random, count: int) -> str:
    rules = [
        {"path": "options.t", "kind": chance.choice(["drop", "const", "ordinal", "sort"]), "with": "#",
         "pattern": chance.choice(PATTERNS) + str(i), "why": "it grows"}
        for i in range(count)
    ]  # fmt: skip
    for rule in rules:
        if rule["kind"] in ("drop", "sort"):
            del rule["with"]
    return json.dumps({"format": "guardcache-rules/1", "name": "grown", "text": rules})


def lazy_rules(count: int) -> str:
    rules = [
        {"path": "options.t", "kind": "drop", "pattern": f"(?:a|b)*?c{i}", "why": "tried anew at each place"}
        for i in range(count)
    ]
    return json.dumps({"format": "guardcache-rules/1", "name": "lazy", "text": rules})


# ---- guards ----

# None of them holds for a small value: what would hit is searched for.
EXPLAINED = (
    "(s0**200)**200 % 7 == 12", "(s0**60)**60 % 7 == 12", "s0**4000 % 7 == 12", "(s0**700)**900 % 7 == 12",
    "(s0**100 * s1**100)**50 % 7 == 12", "(1 << (s0*s1*1000)) % 7 == 12",
)  # fmt: skip

GUARDS: dict[str, Grower] = {
    **{name: lambda n, f=grow: f"{f(n)} == 7" for name, grow in EXPRESSIONS.items()},
    "bounds": lambda n: " and ".join(f"s{i % 400} <= {i}" for i in range(n)),
    "remainders of many": lambda n: " and ".join(f"s{i % 400} % {i + 2} == 0" for i in range(n)),
    "alternatives": lambda n: " or ".join(f"s{i % 400} < -{i}" for i in range(n)),
    "divisions": lambda n: " and ".join(f"(s{i % 400} // s{(i + 7) % 400}) % 3 == 1" for i in range(n)),
    "large powers": lambda n: "+".join(["(7**300000 % 7)"] * n) + " > 0",
    "large shifts": lambda n: "+".join(f"((1 << 999999) % {i + 3})" for i in range(n)) + " > 0",
    "large products": lambda n: "+".join(["((1 << 499999)*(1 << 499999))"] * n) + " > 0",
    "large quotients": lambda n: "+".join(["((1 << 999999)//((1 << 500000) - 1))"] * n) + " > 0",
    "large powers of a hint": lambda n: "+".join(["(3**(s5*s5*10000) % 7)"] * n) + " > 0",
    "digits": lambda n: "9" * n + " > s0",
    "hexadecimal digits": lambda n: "0x" + "f" * n + " > s0",
    "a long name": lambda n: "L['" + "t" * n + "'] > 0",
    "attributes": lambda n: "a" + ".b" * n,
    "not": lambda n: "not " * min(n, 190) + "s0",
}
