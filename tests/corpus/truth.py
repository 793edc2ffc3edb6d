"""What is true about a miss, found without the command: with Python's own eval, and from the descriptions themselves.

A recorded run says which guards stood under a key when it missed, so the guard that decides is the first that Python finds
false. A pair of descriptions says what differs: a difference that is named right turns the one into the other.
"""

from __future__ import annotations

import copy
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "guards"))
import meaning  # noqa: E402 - its folder has to be known first

Answer = dict[str, Any]

# Names of hints in guards are written L['t0'], or t0.
SYMBOL = re.compile(r"[A-Za-z_]\w*")
# How far around the present value a smaller change of one hint is searched for.
AROUND = 300


def number(value: Any) -> Any:
    """A hint as Python has it."""
    if isinstance(value, dict):
        return int(value["$int"]) if "$int" in value else float(value["$float"])
    return value


def numbers(hints: dict[str, Any] | None) -> dict[str, Any]:
    return {name: number(value) for name, value in (hints or {}).items()}


def truth(guard: str, hints: dict[str, Any]) -> tuple[Any, str]:
    return meaning.evaluate(compile(guard.strip(), "guard", "eval"), hints)


def first_failing(guards: list[str], hints: dict[str, Any]) -> int | None:
    return next((index for index, guard in enumerate(guards) if truth(guard, hints)[0] is not True), None)


# ---- guards ----


def wrong_candidate(candidate: Answer, hints: dict[str, Any]) -> str:
    """What is wrong with a candidate's explanation; "" if all of it is right."""
    guards = [guard["text"] for guard in candidate["guards"]]
    for guard in candidate["guards"]:
        if (guard["result"], guard.get("error", "")) != truth(guard["text"], hints):
            return f"{guard['text']}: {guard['result']}"
    decisive = first_failing(guards, hints)
    if candidate["outcome"] in ("guard_false", "guard_error") and candidate.get("first_failing") != decisive:
        return f"guard {candidate.get('first_failing')} is named, it is {decisive}"
    if candidate["outcome"] == "holds" and decisive is not None:
        return f"holds, but guard {decisive} doesn't"
    if any(hints.get(name, name) != number(value) for name, value in candidate["values"].items()):
        return f"values {candidate['values']}"
    if "part" in candidate and decisive is not None:
        return wrong_part(candidate, guards[decisive], hints)
    return ""


def wrong_part(candidate: Answer, guard: str, hints: dict[str, Any]) -> str:
    part, whole = candidate["part"], truth(guard, hints)
    if part not in guard:
        return f"part {part} isn't in {guard}"
    if truth(part, hints) != whole:
        return f"part {part} is {truth(part, hints)}, its guard {whole}"
    wrong = [step for step in steps(candidate["arithmetic"]) if whole[0] is False and not adds_up(step, hints)]
    return f"arithmetic {wrong[0]}" if wrong else ""


def steps(arithmetic: str) -> list[str]:
    """`12 % 8 = 4, L['t1'] = 5` is two steps; commas inside parentheses separate nothing.

    `81 / 2 = 40.5, torch.sym_float(41) = 41: 40.5 > 41` is three: floats on both sides are set against each other at last.
    """
    pieces, depth, begin = [], 0, 0
    for index, letter in enumerate(arithmetic):
        depth += (letter in "([") - (letter in ")]")
        if letter in ",:" and depth == 0:
            pieces.append(arithmetic[begin:index])
            begin = index + 1
    return [piece.strip() for piece in [*pieces, arithmetic[begin:]] if piece.strip()]


def adds_up(step: str, hints: dict[str, Any]) -> bool:
    """`12 % 8 = 4`: both sides are equal in Python. Without ` = `: the comparison itself, which is false.

    `3 / 7 = 0.4286 <= 0.25`: a float beside its bound is rounded, and both it and what it stands for fail the comparison.
    """
    left, equals, right = step.rpartition(" = ")
    if not equals:
        return truth(step, hints)[0] is False
    written, *comparison = re.split(r"( (?:[<>]=?|[!=]=) )", right, maxsplit=1)
    value = eval(written, {"inf": float("inf"), "nan": float("nan")})  # noqa: S307 - a number that the command wrote
    got = eval(left.strip(), dict(meaning.NAMES), {**hints, "L": hints})  # noqa: S307 - a guard of the corpus
    if comparison:
        beyond = "".join(comparison)
        return math.isclose(got, value, rel_tol=1e-3) and not any(truth(f"({x!r}){beyond}", hints)[0] for x in (got, value))
    return bool(got == value or (got != got and value != value))


def changed(would_hit: str) -> dict[str, int]:
    return {name: int(value) for name, value in (change.split("=") for change in would_hit.split())}


def wrong_advice(candidate: Answer, hints: dict[str, Any]) -> str:
    """The advised hints must satisfy every guard, and no smaller change of the same single hint may."""
    guards = [guard["text"] for guard in candidate["guards"]]
    advised = changed(candidate["would_hit"])
    if first_failing(guards, {**hints, **advised}) is not None:
        return f"{candidate['would_hit']} doesn't hold"
    if len(advised) != 1:
        return ""
    ((name, value),) = advised.items()
    present = hints[name]
    for step in range(1, min(abs(value - present), AROUND)):
        for other in (present + step, present - step):
            if first_failing(guards, {**hints, name: other}) is None:
                return f"{candidate['would_hit']}, but {name}={other} is nearer"
    return ""


# ---- descriptions ----


def path_steps(path: str) -> list[str | int]:
    """`graph.nodes[5].args[1]` as `["graph", "nodes", 5, "args", 1]`."""
    found = re.findall(r"\[(\d+)\]|\[(\"(?:[^\"\\]|\\.)*\")\]|([^.\[\]]+)", path)
    return [int(index) if index else json.loads(quoted) if quoted else name for index, quoted, name in found]


class Unclear(Exception):
    """A difference that can't be put into a description as it is written: an inserted node, a cut text."""


class Names:
    """The names that a description's own nodes and symbols have, by which the explanation's are translated."""

    def __init__(self, description: Answer) -> None:
        self.nodes = [node["name"] for node in description.get("graph", {}).get("nodes", [])]
        self.symbols: dict[str, str] = {}
        for value in description.get("inputs", []):
            for expression in self.expressions(value["value"]):
                for symbol in re.findall(r"[A-Za-z_]\w*(?!\w|\()", expression):
                    self.symbols.setdefault(symbol, f"{symbol[0]}{len(self.symbols)}")

    @staticmethod
    def expressions(value: Any) -> list[str]:
        if not isinstance(value, dict):
            return []
        if "$sym" in value:
            return [value["$sym"]]
        tensor = value.get("$tensor", {})
        sizes = [*(tensor.get("shape") or []), *(tensor.get("stride") or [])]
        return [size for size in sizes if isinstance(size, str)]

    def own(self, expression: str) -> str:
        back = {canonical: symbol for symbol, canonical in self.symbols.items()}
        return SYMBOL.sub(lambda found: back.get(found[0], found[0]), expression)

    def value(self, text: str, is_size: bool) -> Any:
        """The value that `text` stands for, as the description writes it there: a tensor's size is a plain expression."""
        node = re.fullmatch(r"nodes\[(\d+)\]", text)
        if node:
            return {"$node": self.nodes[int(node[1])]}
        if "..." in text or ".." in text:
            raise Unclear(text)
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            if is_size:
                return self.own(text)
            raise Unclear(text) from None
        if isinstance(value, dict) and set(value) == {"$sym"}:
            return {"$sym": self.own(value["$sym"])}
        return value


def inside(value: Any, step: str | int) -> Any:
    """What a step of a path leads to: through the one-member objects that stand for types."""
    while isinstance(value, dict) and len(value) == 1 and next(iter(value)).startswith("$"):
        value = next(iter(value.values()))
    return value[step]


def apply_difference(description: Answer, names: Names, item: Answer) -> None:
    """Puts what was asked where the stored description has something else."""
    *outer, last = path_steps(item["path"])
    place: Any = description
    if item["asked"] is None or "hunks" in item:
        raise Unclear(item["path"])
    try:
        for step in outer:
            place = inside(place, step)
        while isinstance(place, dict) and len(place) == 1 and next(iter(place)).startswith("$"):
            place = next(iter(place.values()))
        is_size = isinstance(last, int) and outer[-1] in ("shape", "stride")
        place[last] = names.value(item["asked"], is_size)
    except (KeyError, IndexError, TypeError) as error:
        raise Unclear(item["path"]) from error


def patched(stored: Answer, differs: list[Answer]) -> Answer:
    """The stored description with every difference applied. Raises Unclear where that can't be done."""
    names, result = Names(stored), copy.deepcopy(stored)
    for item in differs:
        apply_difference(result, names, item)
    return result
