"""Whether what a name in a trace stands for is JAX's own. Primitives and random generators that the user has made count
in a trace by their names only, and what the name means may differ between processes.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from typing import Any

from jax._src import core
from jax._src.interpreters import mlir
from jax.extend import random

from guardcache.jax._refusal import UndescribedError

GENERATORS = (random.threefry_prng_impl, random.rbg_prng_impl, random.unsafe_rbg_prng_impl)
Generator: Any = type(GENERATORS[0])

_PACKAGES = ("jax", "jaxlib")

_primitives: set[Any] = set()
"""Those that JAX's modules have, as far as they were imported when one was last looked for."""


def check_primitive(primitive: Any) -> None:
    if not _is_known(primitive):
        raise UndescribedError(f"the primitive {primitive.name} isn't JAX's own")
    for rule in _rules(primitive):
        if not all(map(_is_jaxs, _functions(rule))):
            raise UndescribedError(f"the primitive {primitive.name} is lowered by a rule that isn't JAX's own")


def name_of_generator(generator: Any) -> str:
    if not any(generator is own for own in GENERATORS):
        raise UndescribedError(f"the random generator {generator.name} isn't JAX's own")
    return str(generator.name)


def _is_known(primitive: Any) -> bool:
    if primitive not in _primitives:
        _primitives.update(_found())
    return primitive in _primitives


def _found() -> Iterator[Any]:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _PACKAGES:
            yield from (value for value in list(vars(module).values()) if isinstance(value, core.Primitive))


def _rules(primitive: Any) -> Iterator[Any]:
    for table in (mlir._lowerings, *mlir._platform_specific_lowerings.values()):
        if primitive in table:
            found = table[primitive]
            yield getattr(found, "rule", found)


def _functions(rule: Any) -> Iterator[Any]:
    """The rule, and the functions it calls by its arguments and by what it encloses."""
    todo, seen = [rule], set()
    while todo:
        function = todo.pop()
        if id(function) in seen or not callable(function):
            continue
        seen.add(id(function))
        if isinstance(function, functools.partial):
            todo += [function.func, *function.args, *function.keywords.values()]
            continue
        todo += [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
        yield function


def _is_jaxs(function: Any) -> bool:
    module = getattr(function, "__module__", None) or type(function).__module__
    return module.partition(".")[0] in _PACKAGES
