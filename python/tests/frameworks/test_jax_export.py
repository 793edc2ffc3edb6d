"""Functions exported through guardcache: one export serves all sizes that its symbolic shapes allow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

jax = pytest.importorskip("jax")
np = pytest.importorskip("numpy")

import jax.export  # noqa: E402, F811
import jax.numpy as jnp  # noqa: E402
from jax._src import config  # noqa: E402
from jax_kit import run  # noqa: E402

import guardcache.jax  # noqa: E402
from guardcache import Cache, Guards  # noqa: E402
from guardcache.jax._constraints import guards_of  # noqa: E402
from guardcache.jax._jaxpr import UndescribedError, write  # noqa: E402


@pytest.fixture
def installed(directory: Path) -> Iterator[Path]:
    with config.persistent_cache_min_compile_time_secs(0):
        guardcache.jax.install(directory)
        yield directory
        guardcache.jax.uninstall()


def numbers(*shape: int) -> Any:
    return np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def shaped(shape: str, *constraints: str, scope: Any = None) -> Any:
    return jax.ShapeDtypeStruct(
        jax.export.symbolic_shape(shape, constraints=constraints, scope=scope), np.dtype("float32")
    )


def exports() -> list[tuple[str, str]]:
    """Outcome and reason of each that was asked for."""
    return [(each.outcome, each.reason) for each in guardcache.jax.lookups() if each.label.startswith("export ")]


def weigh(x: Any) -> Any:
    return {"weighed": jax.nn.relu(x) @ x.T / x.shape[0]}


def test_one_export_serves_all_its_sizes(installed: Path) -> None:
    first = guardcache.jax.export(weigh, shaped("b, 4", "b >= 2"))
    second = guardcache.jax.export(weigh, shaped("b, 4", "b >= 2"))
    for size in (2, 3, 16):
        x = numbers(size, 4)
        expected = np.asarray(jax.jit(weigh)(x)["weighed"])
        for exported in (first, second):
            assert np.allclose(exported(x)["weighed"], expected, rtol=1e-6)
    assert exports() == [("miss", "no_key")] + [("hit", "")] * 5
    with Cache(installed) as cache:
        assert [entry.guards for entry in cache.entries() if entry.guards] == [
            ("a0d0 >= 1", "a0d0 - 2 >= 0", "a0d1 == 4")
        ]


def test_sizes_that_arent_allowed_are_jaxs_error_and_told(installed: Path) -> None:
    exported = guardcache.jax.export(weigh, shaped("b, 4", "b >= 2"))
    exported(numbers(2, 4))
    with pytest.raises(ValueError, match="b >= 2"):
        exported(numbers(1, 4))
    assert exports() == [("miss", "no_key"), ("miss", "guard_false")]
    assert "args[0].shape[0] - 2 >= 0" in guardcache.jax.explain(label="export")


def test_powers_and_divisions_mean_the_same_as_guards(installed: Path) -> None:
    b = shaped("b, 4", "b*b >= 9", "mod(b, 2) == 0")
    c = shaped("3*c, 2*b", scope=b.shape[0].scope)
    guards = Guards(guards_of(jax.export.export(jax.jit(lambda x, y: x.sum() + y.sum()))(b, c)))
    exported = jax.export.export(jax.jit(lambda x, y: x.sum() + y.sum()))(b, c)
    for rows in range(1, 9):
        for others, columns in ((3, 2 * rows), (4, 2 * rows), (3, rows)):
            sizes = {"a0d0": rows, "a0d1": 4, "a1d0": others, "a1d1": columns}
            assert bool(guards.evaluate(sizes)) == allows(exported, (rows, 4), (others, columns)), sizes


def allows(exported: Any, *shapes: tuple[int, ...]) -> bool:
    """What JAX says."""
    try:
        jax.eval_shape(exported.call, *(jax.ShapeDtypeStruct(shape, np.dtype("float32")) for shape in shapes))
    except ValueError:
        return False
    return True


def test_what_computes_something_else_is_another(installed: Path) -> None:
    table = numbers(4)
    functions = [
        lambda x: x + 1,
        lambda x: x + 2,
        lambda x: x * table,
        lambda x: x * table[::-1],
        lambda x: (x + 1,),
        lambda x: {"a": x + 1},
        lambda x: jnp.where(x > 0, x, 0),
        lambda x: jax.lax.scan(lambda c, row: (c + row, c), x[0], x)[1],
        lambda x: jax.lax.scan(lambda c, row: (c - row, c), x[0], x)[1],
        lambda x: jax.random.normal(jax.random.key(1), (3,)) + x.sum(),
    ]
    x = numbers(3, 4)
    for function in functions:
        found = guardcache.jax.export(function, shaped("b, 4"))(x)
        assert jax.tree.structure(found) == jax.tree.structure(function(x))
        for leaf, expected in zip(jax.tree.leaves(found), jax.tree.leaves(function(x)), strict=True):
            assert np.allclose(leaf, expected, rtol=1e-6)
    assert exports() == [("miss", "no_key")] * len(functions)


def test_names_of_functions_and_symbols_dont_matter_for_what_is_traced() -> None:
    def one(x: Any) -> Any:
        return jax.jit(lambda y: jax.nn.gelu(y))(x)

    def other(z: Any) -> Any:
        return jax.jit(jax.nn.gelu)(z)

    spec = shaped("b, 4")
    inner = write(jax.make_jaxpr(one)(spec))
    assert inner == write(jax.make_jaxpr(other)(spec))


def test_what_the_text_wouldnt_say_is_refused() -> None:
    with pytest.raises(UndescribedError, match="effects"):
        write(jax.make_jaxpr(lambda x: jax.debug.print("{}", x))(1.0))
    pure = jax.make_jaxpr(lambda x: jax.pure_callback(lambda y: y, jax.ShapeDtypeStruct((), np.dtype("float32")), x))
    with pytest.raises(UndescribedError, match="callback"):
        write(pure(np.float32(1)))


def test_it_has_to_be_installed() -> None:
    with pytest.raises(guardcache.jax.NotInstalledError):
        guardcache.jax.export(weigh, shaped("b, 4"))


PROGRAM = """
    import sys
    import jax, numpy
    import guardcache.jax
    guardcache.jax.install(sys.argv[1])
    shape = jax.export.symbolic_shape("b, 4")
    step = guardcache.jax.export(lambda x: (x * 2).sum(axis=1), jax.ShapeDtypeStruct(shape, numpy.float32))
    print(step(numpy.ones((int(sys.argv[2]), 4), numpy.float32)))
    print(guardcache.jax.lookups()[0].outcome)
"""


def test_another_process_finds_it_for_another_size(directory: Path) -> None:
    assert run(PROGRAM, directory, "3").splitlines() == ["[8. 8. 8.]", "miss"]
    assert run(PROGRAM, directory, "2").splitlines() == ["[8. 8.]", "hit"]
