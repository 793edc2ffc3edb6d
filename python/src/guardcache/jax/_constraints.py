"""What an exported function's shape constraints are as guards: `floordiv(args[0].shape[0], 2) >= 1` and the like.

A size is named by the argument and the dimension it is in: `a0d1` is ``args[0].shape[1]``. JAX writes powers as ``^``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jax._src.export import shape_poly

Shapes = Sequence[Sequence[Any]]


def name_of(argument: int, dimension: int) -> str:
    return f"a{argument}d{dimension}"


def sizes_of(shapes: Shapes) -> dict[str, int]:
    """The sizes of arguments, by their names in guards."""
    return {name_of(*place): int(size) for place, size in _each(shapes)}


def sources_of(shapes: Shapes) -> dict[str, str]:
    """The same names, in the user's words."""
    return {name_of(*place): f"args[{place[0]}].shape[{place[1]}]" for place, _ in _each(shapes)}


def guards_of(exported: Any) -> list[str]:
    """What the sizes must be like. Those that aren't symbolic JAX has in the types of its arguments."""
    avals = exported.in_avals
    _, constraints, sizes = shape_poly.solve_dim_vars(tuple(avals), args_kwargs_tree=exported.in_tree)
    names = {text: name_of(argument, dimension) for text, argument, dimension in sizes}
    guards = [_translated(constraint, names) for constraint in constraints.constraints]
    fixed = ((place, size) for place, size in _each([aval.shape for aval in avals]) if isinstance(size, int))
    return [*guards, *(f"{name_of(*place)} == {size}" for place, size in fixed)]


def _each(shapes: Shapes) -> Iterator[tuple[tuple[int, int], Any]]:
    """Each size, with the argument and the dimension it is in."""
    for argument, shape in enumerate(shapes):
        for dimension, size in enumerate(shape):
            yield (argument, dimension), size


def _translated(constraint: Any, names: dict[str, str]) -> str:
    sign = {"EQ": "==", "GEQ": ">="}[constraint.comp.name]
    text = f"{constraint.left} {sign} {constraint.right}".replace("^", "**")
    # `args[1].` is no beginning of `args[12].`, thanks to the bracket.
    for said, name in names.items():
        text = text.replace(said, name)
    return text
