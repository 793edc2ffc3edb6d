"""What a guard means in Python: the names that PyTorch's and JAX's interpreters bind, and eval().

Written from those interpreters' behaviour; torch itself is not needed.
"""

from __future__ import annotations

import math
import operator
import types
from typing import Any


def _round_trip(names: str, function: Any) -> dict[str, Any]:
    return {name: function for name in names.split()}


def is_dense(*flat: Any) -> int:
    """1 if sizes and strides, given one after the other, describe memory without gaps and overlaps."""
    rank = len(flat) // 2
    sizes, strides = list(flat[:rank]), list(flat[rank:])
    if rank == 1:
        return int(strides[0] == 1 or sizes[0] < 2)
    expected = 1
    for size, stride in sorted(zip(sizes, strides), key=operator.itemgetter(1)):
        if size == 1:
            continue
        if stride != expected:
            return 0
        expected *= size
    return 1


def cast_bool(value: Any) -> int:
    if isinstance(value, bool):
        return 1 if value else 0
    return int(value.node.expr)


def _numbers(a: Any, b: Any) -> bool:
    assert isinstance(a, (int, float)), type(a)
    assert isinstance(b, (int, float)), type(b)
    return isinstance(a, float) or isinstance(b, float)


def sym_max(a: Any, b: Any) -> Any:
    return float(max(a, b)) if _numbers(a, b) else max(a, b)


def sym_min(a: Any, b: Any) -> Any:
    return float(min(a, b)) if _numbers(a, b) else min(a, b)


def sym_ite(condition: Any, value: Any, other: Any) -> Any:
    assert isinstance(condition, bool) and type(value) is type(other)
    return value if condition else other


def sym_not(value: Any) -> bool:
    return not value


def sym_int(value: Any) -> int:
    return int(value)


def sym_float(value: Any) -> float:
    return float(value)


def non_negative(value: Any) -> Any:
    return max(value, 0)


torch = types.ModuleType("torch")
for _name in "sqrt cos cosh sin sinh tan tanh asin acos atan log2".split():
    setattr(torch, "_sym_" + _name, getattr(math, _name))
for _function in (sym_max, sym_min, sym_ite, sym_not, sym_int, sym_float):
    setattr(torch, _function.__name__, _function)
for _name in "inf nan pi e".split():
    setattr(torch, _name, getattr(math, _name))
setattr(torch, "sym_sqrt", math.sqrt)

NAMES: dict[str, Any] = {
    "math": math,
    "torch": torch,
    "IsNonOverlappingAndDenseIndicator": is_dense,
    "cast_symbool_to_symint_guardless": cast_bool,
    "Abs": operator.abs,
    "Eq": operator.eq,
    "Ne": operator.ne,
    "Lt": operator.lt,
    "Le": operator.le,
    "Gt": operator.gt,
    "Ge": operator.ge,
    "Max": max,
    "Min": min,
    "PowByNatural": operator.pow,
    "FloatPow": math.pow,
    "non_negative": non_negative,
    **_round_trip("Mod PythonMod mod", operator.mod),
    **_round_trip("FloorDiv CleanDiv floordiv", operator.floordiv),
    **_round_trip("TrueDiv IntTrueDiv FloatTrueDiv", operator.truediv),
    **_round_trip("floor FloorToInt", math.floor),
    **_round_trip("ceiling CeilToInt", math.ceil),
    **_round_trip("Round RoundToInt RoundDecimal", round),
    "TruncToInt": math.trunc,
    "ToFloat": float,
}


def value_of(code: types.CodeType, hints: dict[str, Any]) -> Any:
    """What Python's eval gives, or raises. Hints hide functions, as locals do."""
    return eval(code, NAMES, {"L": hints, **hints})


def evaluate(code: types.CodeType, hints: dict[str, Any]) -> tuple[Any, str]:
    """(True, ""), (False, "") or ("error", the exception's name)."""
    try:
        return bool(value_of(code, hints)), ""
    except Exception as raised:  # noqa: BLE001 - whatever it is, it is the answer
        return "error", type(raised).__name__
