"""Functions exported through guardcache: one export serves all sizes that its symbolic shapes allow."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

jax = pytest.importorskip("jax")
np = pytest.importorskip("numpy")

import jax.export  # noqa: E402, F811
import jax.numpy as jnp  # noqa: E402
from jax._src import config, core  # noqa: E402
from jax.extend import random  # noqa: E402
from jax.interpreters import mlir  # noqa: E402
from jax_kit import run  # noqa: E402

import guardcache.jax  # noqa: E402
from guardcache import Cache, Guards  # noqa: E402
from guardcache.jax._constraints import guards_of  # noqa: E402
from guardcache.jax._jaxpr import write  # noqa: E402
from guardcache.jax._refusal import UndescribedError  # noqa: E402
from guardcache.jax._settings import settings  # noqa: E402


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


def test_sizes_dont_fill_the_memory(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guardcache.jax._export._REMEMBERED", 2)
    exported = guardcache.jax.export(lambda x: x + 1, shaped("b"))
    for size in range(1, 6):
        assert exported(numbers(size)).shape == (size,)
    assert len(exported._found) <= 2


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


# ---- what must not share, and what isn't described ----

Low = namedtuple("Range", "lo hi")
High = namedtuple("Range", "hi lo")
jax.export.register_namedtuple_serialization(Low, serialized_name="tests.Low")
jax.export.register_namedtuple_serialization(High, serialized_name="tests.High")


class Tagged:
    """A node whose text doesn't say its tag."""

    def __init__(self, tag: bytes, x: Any) -> None:
        self.tag, self.x = tag, x


class Tag:
    def __init__(self, content: bytes) -> None:
        self.content = content

    def __repr__(self) -> str:
        return "a tag"


jax.tree_util.register_pytree_node(Tagged, lambda t: ((t.x,), Tag(t.tag)), lambda tag, x: Tagged(tag.content, *x))
jax.export.register_pytree_node_serialization(
    Tagged,
    serialized_name="tests.Tagged",
    serialize_auxdata=lambda tag: tag.content,
    deserialize_auxdata=lambda content: Tag(bytes(content)),
)


def told_apart(value: Any) -> list[Any]:
    """What a result is, with its type, tags, and every bit."""
    tag = value.tag if isinstance(value, Tagged) else getattr(value, "_fields", None)
    return [tag, *(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(value))]


def nan(bits: int) -> Any:
    return np.array(bits, np.uint32).view(np.float32)[()]


def drawn(x: Any) -> Any:
    return x + jax.random.uniform(jax.random.key(3), (4,))


DIFFERENT: dict[str, tuple[Callable[..., Any], Callable[..., Any], AbstractContextManager[Any]]] = {
    "a setting": (drawn, drawn, jax.threefry_partitionable(False)),
    "a NaN's bits": (
        lambda x: jnp.where(x > 9, x, nan(0x7FC00001)),
        lambda x: jnp.where(x > 9, x, nan(0xFFC00002)),
        nullcontext(),
    ),
    "fields swapped": (lambda x: Low(x - 1, x + 1), lambda x: High(x - 1, x + 1), nullcontext()),
    "a node's content": (lambda x: Tagged(b"a", x), lambda x: Tagged(b"b", x), nullcontext()),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_what_its_text_alone_wouldnt_tell_apart(installed: Path, what: str) -> None:
    one, other, setting = DIFFERENT[what]
    x, spec = numbers(4), jax.ShapeDtypeStruct((4,), "float32")
    guardcache.jax.export(one, spec)(x)
    with setting:
        expected = jax.export.export(jax.jit(other))(spec).call(x)
        assert told_apart(guardcache.jax.export(other, spec)(x)) == told_apart(expected)
        assert told_apart(guardcache.jax.export(other, spec)(x)) == told_apart(expected)
    assert exports() == [("miss", "no_key"), ("miss", "no_key"), ("hit", "")]


def primitive(name: str, meaning: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is a primitive of the user's own."""
    made = core.Primitive(name)
    made.def_abstract_eval(lambda x: x)
    mlir.register_lowering(made, mlir.lower_fun(meaning, multiple_results=False))
    return made.bind


def with_generator(x: Any) -> Any:
    own = random.threefry_prng_impl._replace(name="threefry2x32")
    return x + jax.random.uniform(jax.random.wrap_key_data(np.zeros(2, np.uint32), impl=own))


class Unregistered(namedtuple("Unregistered", "x")):
    pass


def spread() -> Any:
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x",))
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))


PLAIN = jax.ShapeDtypeStruct((4,), "float32")
UNDESCRIBED: dict[str, tuple[Callable[..., Any], Any]] = {
    "primitive sin isn't JAX's own": (primitive("sin", jnp.cos), PLAIN),
    "generator threefry2x32 isn't JAX's own": (with_generator, PLAIN),
    "Unregistered isn't registered": (lambda x: Unregistered(x), PLAIN),
    "an array has a NamedSharding": (lambda x: x * 2, jax.ShapeDtypeStruct((4,), "float32", sharding=spread())),
    "in_shardings of jit is a NamedSharding": (jax.jit(lambda x: x * 2, in_shardings=spread()), PLAIN),
}


@pytest.mark.parametrize("reason", UNDESCRIBED)
def test_what_cant_be_described_is_exported_without_the_cache(installed: Path, reason: str) -> None:
    function, spec = UNDESCRIBED[reason]
    for _ in range(2):
        found = guardcache.jax.export(function, spec)(numbers(4))
        expected = jax.export.export(function if hasattr(function, "lower") else jax.jit(function))(spec)
        assert told_apart(found) == told_apart(expected.call(numbers(4)))
    assert [outcome for outcome, _ in exports()] == ["bypass"] * 2
    assert all(reason in told for _, told in exports())


def test_what_is_set_by_with_isnt_described() -> None:
    settings()
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x",))
    with mesh, pytest.raises(UndescribedError, match="mesh_context_manager"):
        settings()


def test_a_rule_that_the_user_gave_a_primitive_of_jax_isnt_described() -> None:
    table = mlir._lowerings if hasattr(mlir, "_lowerings") else jax._src.interpreters.mlir._lowerings
    before = table[jax.lax.sin_p]
    try:
        mlir.register_lowering(jax.lax.sin_p, mlir.lower_fun(lambda x, **_: x, multiple_results=False))
        with pytest.raises(UndescribedError, match="sin is lowered by a rule"):
            write(jax.make_jaxpr(jax.lax.sin)(1.0))
    finally:
        table[jax.lax.sin_p] = before


def test_it_is_differentiated_as_jax_does_cold_and_warm(installed: Path) -> None:
    @jax.custom_vjp
    def tripled(x: Any) -> Any:
        return x * 3

    tripled.defvjp(lambda x: (x * 3, None), lambda _, g: (g * 5,))

    def f(x: Any) -> Any:
        return (jnp.sin(x) * tripled(x)).sum()

    second = jax.grad(lambda x: jax.grad(f)(x).sum())
    for _ in range(2):
        exported = guardcache.jax.export(f, shaped("b"))
        x = numbers(3)
        assert np.allclose(jax.grad(exported)(x), jax.grad(f)(x), rtol=1e-6)
        assert np.allclose(jax.grad(lambda x, e=exported: jax.grad(e)(x).sum())(x), second(x), rtol=1e-6)
    assert [outcome for outcome, _ in exports()] == ["miss", "hit"]


def test_another_export_calls_it_with_sizes_that_are_symbolic(installed: Path) -> None:
    inner = guardcache.jax.export(weigh, shaped("b, 4"))
    outer = jax.export.export(jax.jit(lambda x: inner(x)["weighed"] + 1))(shaped("c, 4"))
    x = numbers(3, 4)
    assert np.allclose(outer.call(x), weigh(x)["weighed"] + 1, rtol=1e-6)


KEY = jax.random.key(5)
STORED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "static arguments": (jax.jit(lambda x, n: x * n, static_argnums=1), (PLAIN, 4)),
    "a number as spec": (lambda x, factor: x * factor, (PLAIN, 2.0)),
    "an array as spec": (lambda x, factor: x * factor, (PLAIN, jnp.float32(2))),
    "a key that is closed over": (lambda x: x + jax.random.uniform(KEY), (PLAIN,)),
    "options of jit": (jax.jit(lambda x, y: x, keep_unused=True, donate_argnums=1), (PLAIN, PLAIN)),
}


@pytest.mark.parametrize("what", STORED)
def test_what_jax_can_export_is_stored(installed: Path, what: str) -> None:
    function, specs = STORED[what]
    arguments = (numbers(4), *(numbers(4) if spec is PLAIN else spec for spec in specs[1:]))
    passed = arguments[:1] if what == "static arguments" else arguments
    expected = np.asarray(function(*arguments))
    for _ in range(2):
        assert np.allclose(guardcache.jax.export(function, *specs)(*passed), expected, rtol=1e-6)
    assert exports() == [("miss", "no_key"), ("hit", "")]


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
