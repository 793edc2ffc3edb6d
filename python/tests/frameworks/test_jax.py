"""The JAX adapter: what shares, what a miss says, and that JAX's settings, logs and counters stay as they are."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

jax = pytest.importorskip("jax")
np = pytest.importorskip("numpy")

import jax.numpy as jnp  # noqa: E402
from jax._src import compilation_cache, compiler, config, distributed, monitoring  # noqa: E402
from jax_kit import run  # noqa: E402

import guardcache.jax  # noqa: E402
from guardcache import Cache, Compiled  # noqa: E402
from guardcache.jax._store import Verification  # noqa: E402

EVENTS = "/jax/compilation_cache/"


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    """Everything is stored, however fast it compiled; nothing is left installed."""
    with ExitStack() as stack:
        stack.enter_context(config.enable_compilation_cache(True))
        stack.enter_context(config.persistent_cache_min_compile_time_secs(0))
        stack.enter_context(config.persistent_cache_min_entry_size_bytes(-1))
        compilation_cache.reset_cache()
        yield
    guardcache.jax.uninstall()
    compilation_cache.reset_cache()


@pytest.fixture
def installed(directory: Path) -> Path:
    guardcache.jax.install(directory)
    return directory


def numbers(*shape: int) -> Any:
    return np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def call(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """As a process that has compiled nothing yet."""
    jax.clear_caches()
    return np.asarray(jax.jit(function, **options)(*arguments))


def outcomes() -> list[tuple[str, str]]:
    return [(lookup.outcome, lookup.reason) for lookup in guardcache.jax.lookups()]


def count(directory: Path) -> int:
    with Cache(directory) as cache:
        return sum(1 for _ in cache.entries())


def made(name: str, body: str) -> Any:
    """A function of another name, from another file and line."""
    space: dict[str, Any] = {"jnp": jnp, "jax": jax}
    exec(compile(f"def {name}(x):\n    return {body}\n", f"/somewhere/{name}.py", "exec"), space)
    return space[name]


BODIES = [
    "jnp.tanh(x)",
    "jnp.sin(x) * 2",
    "x @ x.T",
    "jnp.cumsum(x, axis=0)",
    "jnp.sort(x)",
    "jax.nn.softmax(x)",
    "(x - x.mean()) / (x.std() + 1)",
    "jnp.where(x > 0, x, 0)",
    "jax.grad(lambda y: (y ** 3).sum())(x)",
    "jax.lax.scan(lambda c, r: (c + r, c), x[0], x)[1]",
]


def test_renamed_and_moved_functions_share(installed: Path) -> None:
    x = numbers(4, 4)
    first = [call(made(f"before_{place}", body), x) for place, body in enumerate(BODIES)]
    assert count(installed) == len(BODIES)
    second = [call(made(f"after_{place}", body), x) for place, body in reversed(list(enumerate(BODIES)))]
    assert outcomes() == [("miss", "no_key")] * 10 + [("hit", "")] * 10
    for one, other in zip(first, reversed(second), strict=True):
        assert one.tobytes() == other.tobytes()
    assert guardcache.jax.statistics().saved_seconds > 0


def test_what_computes_something_else_misses(installed: Path) -> None:
    x = numbers(4, 4)
    for body in ("x + 1", "x + 2", "x - 1", "x.T + 1"):
        assert call(made("f", body), x).tobytes() == np.asarray(eval(body, {"x": x})).astype(np.float32).tobytes()
    call(made("f", "x + 1"), numbers(4, 5))
    call(made("f", "x + 1"), numbers(4, 4).astype(np.int32))
    assert [outcome for outcome, _ in outcomes()] == ["miss"] * 6
    assert count(installed) == 6


def test_large_constants_count_by_their_content(installed: Path) -> None:
    tables = [numbers(96, 96), numbers(96, 96)]
    tables[1][95, 95] = 7
    sums = [call(lambda x, table=table: (x * table).sum(), numbers(96, 96)) for table in (*tables, tables[0])]
    assert sums[0] == sums[2] != sums[1]
    assert [outcome for outcome, _ in outcomes()] == ["miss", "miss", "hit"]


def test_a_miss_names_the_option_and_the_flag(installed: Path) -> None:
    x = numbers(4, 4)
    call(jnp.tanh, x)
    call(jnp.tanh, x, compiler_options={"xla_cpu_enable_fast_math": True})
    told = guardcache.jax.explain()
    assert "flags.xla_cpu_enable_fast_math" in told
    assert "stored false" in told
    assert "asked true" in told
    with config.optimization_level("O1"):
        call(jnp.tanh, x)
    assert "options.optimization_level" in guardcache.jax.explain()
    assert [outcome for outcome, _ in outcomes()] == ["miss"] * 3


DEVICES = """
    import sys
    import jax, numpy
    import guardcache.jax
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    guardcache.jax.install(sys.argv[1])
    for device in jax.devices():
        jax.jit(lambda x: x + 1)(jax.device_put(numpy.ones(4, numpy.float32), device))
    print(guardcache.jax.explain())
"""


def test_a_miss_names_the_device(directory: Path) -> None:
    told = run(DEVICES, directory, XLA_FLAGS="--xla_force_host_platform_device_count=2")
    assert "options.device_assignment" in told
    assert "other_options" not in told


CLEARED = """
    import gc, sys, weakref
    import jax, jax.extend
    import guardcache.jax
    guardcache.jax.install(sys.argv[1])
    jax.jit(lambda x: x + 1)(1.0)
    backend = weakref.ref(jax.devices()[0].client)
    jax.extend.backend.clear_backends()
    gc.collect()
    print(backend())
"""


def test_a_backend_that_jax_clears_isnt_kept(directory: Path) -> None:
    assert run(CLEARED, directory) == "None\n"


def test_what_only_dumps_or_logs_shares(installed: Path, tmp_path: Path) -> None:
    x = numbers(4, 4)
    call(jnp.tanh, x)
    call(jnp.tanh, x, compiler_options={"xla_dump_to": str(tmp_path / "dump")})
    with config.compilation_cache_dir(str(tmp_path / "xla")):
        call(jnp.tanh, x)
    assert [outcome for outcome, _ in outcomes()] == ["miss", "hit", "hit"]


def test_metadata_and_the_users_hook_count_if_asked_for(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = numbers(4, 4)
    with config.compilation_cache_include_metadata_in_key(True):
        call(made("f", "x + 1"), x)
        call(made("g", "x + 1"), x)
    monkeypatch.setattr("jax._src.cache_key.custom_hook", lambda: "mine")
    call(made("f", "x + 1"), x)
    assert [outcome for outcome, _ in outcomes()] == ["miss"] * 3
    assert "custom_hook" in guardcache.jax.explain()


def test_callbacks_are_bypassed_with_the_reason(installed: Path) -> None:
    said: list[float] = []

    def loud(x: Any) -> Any:
        jax.debug.callback(lambda value: said.append(float(value)), x.sum())
        return x * 2

    for _ in range(2):
        assert (call(loud, numbers(4)) == numbers(4) * 2).all()
    jax.effects_barrier()
    assert len(said) == 2
    assert count(installed) == 0
    assert [outcome for outcome, _ in outcomes()] == ["bypass", "bypass"]
    assert "calls back into Python" in guardcache.jax.explain()


def test_the_minimum_of_compile_time_is_named_with_both_times(installed: Path) -> None:
    with config.persistent_cache_min_compile_time_secs(1000):
        call(jnp.tanh, numbers(4))
    assert count(installed) == 0
    note = guardcache.jax.lookups()[-1].note
    assert "less than the 1000 s of jax_persistent_cache_min_compile_time_secs" in note
    call(jnp.tanh, numbers(4))
    assert "jax_persistent_cache_min_compile_time_secs" in guardcache.jax.explain()


def test_the_minimum_of_size(installed: Path) -> None:
    with config.persistent_cache_min_entry_size_bytes(1 << 30):
        call(jnp.tanh, numbers(4))
    assert count(installed) == 0
    assert "jax_persistent_cache_min_entry_size_bytes" in guardcache.jax.lookups()[-1].note


def test_disabled_is_disabled(installed: Path) -> None:
    with config.enable_compilation_cache(False):
        compilation_cache.reset_cache()
        call(jnp.tanh, numbers(4))
    assert outcomes() == []
    assert count(installed) == 0


def test_only_process_0_writes(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed.global_state, "process_id", 1)
    call(jnp.tanh, numbers(4))
    assert count(installed) == 0
    assert "process 0 does" in guardcache.jax.lookups()[-1].note
    monkeypatch.setattr(distributed.global_state, "process_id", 0)
    call(jnp.tanh, numbers(4))
    monkeypatch.setattr(distributed.global_state, "process_id", 1)
    call(jnp.tanh, numbers(4))
    assert [outcome for outcome, _ in outcomes()] == ["miss", "miss", "hit"]


# ---- the same as JAX's own ----


def a_day() -> None:
    """What all kinds of programs do."""
    x = numbers(4)
    for function in (jnp.tanh, jnp.sin, jnp.tanh):
        call(function, x)
    call(lambda x: jax.debug.print("{}", x), x)
    with config.persistent_cache_min_compile_time_secs(1000):
        call(jnp.cos, x)
    with config.persistent_cache_min_entry_size_bytes(1 << 30):
        call(jnp.exp, x)
    with config.enable_compilation_cache(False):
        compilation_cache.reset_cache()
        call(jnp.log1p, x)
        compilation_cache.reset_cache()
    call(jnp.sin, x)


@contextmanager
def events() -> Iterator[Counter[str]]:
    counted: Counter[str] = Counter()

    def listen(event: str, *arguments: Any, **_: Any) -> None:
        if event.startswith(EVENTS):
            counted[event] += 1
            assert all(isinstance(argument, float) for argument in arguments)

    monitoring.register_event_listener(listen)
    monitoring.register_event_duration_secs_listener(listen)
    try:
        yield counted
    finally:
        monitoring.unregister_event_listener(listen)
        monitoring.unregister_event_duration_listener(listen)


def said(record: logging.LogRecord) -> tuple[int, str]:
    """The level and the message, without keys and times."""
    return record.levelno, str(record.msg)


def both_ways(directory: Path, scenario: Callable[[], None]) -> Iterator[str]:
    """Runs it under JAX's own store, then under guardcache."""
    own = str(directory / "own")
    with config.compilation_cache_dir(own):
        compilation_cache.reset_cache()
        scenario()
        yield "own"
        compilation_cache.reset_cache()
        guardcache.jax.install(directory / "ours")
        scenario()
        yield "ours"


def test_counters_and_events_are_those_of_jax(directory: Path) -> None:
    with events() as counted:
        found = []
        for _ in both_ways(directory, a_day):
            found.append(dict(counted))
            counted.clear()
    own, ours = found
    assert ours == own
    assert own[EVENTS + "cache_hits"] == 2
    assert own[EVENTS + "compile_time_saved_sec"] == 2


@pytest.mark.parametrize(("explain", "log_compiles"), [(True, False), (False, True), (False, False)])
def test_logs_are_those_of_jax(
    directory: Path, caplog: pytest.LogCaptureFixture, explain: bool, log_compiles: bool
) -> None:
    caplog.set_level(logging.DEBUG, "jax._src.compiler")
    caplog.set_level(logging.DEBUG, "jax._src.compilation_cache")
    with config.explain_cache_misses(explain), config.log_compiles(log_compiles):
        found = []
        for _ in both_ways(directory, a_day):
            told = [said(record) for record in caplog.records if "ersistent" in str(record.msg).lower()]
            found.append([one for one in told if "Initialized" not in one[1]])
            caplog.clear()
    own, ours = found
    assert ours == own
    assert any("PERSISTENT COMPILATION CACHE MISS" in text for _, text in own)


def test_a_failing_compile_is_jaxs_own_error(directory: Path) -> None:
    def fails() -> Any:
        try:
            call(jnp.tanh, numbers(4), compiler_options={"xla_no_such_flag": True})
        except Exception as error:
            return type(error), str(error)
        raise AssertionError

    before = fails()
    guardcache.jax.install(directory)
    assert fails() == before
    assert count(directory) == 0


def test_contents_are_checked_if_asked_for(installed: Path) -> None:
    """JAX's executables have a counter of the process inside, so what is compared here is made by hand."""
    graph = guardcache.Graph("stablehlo")
    graph.component("module", "module @a {}")
    with Cache(installed) as cache:
        cache.insert(graph, b"stored")
        with config.compilation_cache_check_contents(True):
            verification = Verification(cache)
            assert verification.wanted("key")
            with pytest.raises(RuntimeError, match="Persistent compilation cache inconsistency for key key"):
                verification.verify("key", graph, Compiled(b"fresh"))
            assert verification.wanted("key")
            verification.verify("key", graph, Compiled(b"stored"))
            assert not verification.wanted("key")
        assert not Verification(cache).wanted("key")


def test_what_is_checked_is_compiled_once_in_each_process(installed: Path) -> None:
    with config.compilation_cache_check_contents(True):
        for _ in range(2):
            call(jnp.tanh, numbers(4))
    assert outcomes() == [("miss", "refresh"), ("hit", "")]


# ---- profiles ----


def profiled() -> Any:
    """A compile with a profile, as a process that has collected one asks for it."""
    return config.enable_pgle(True), config.pgle_profiling_runs(1)


def test_what_is_compiled_with_a_profile_lies_beside_the_plain_one(installed: Path) -> None:
    x = numbers(4)
    enabled, runs = profiled()
    with enabled, runs:
        call(jnp.tanh, x)
        call(jnp.tanh, x, compiler_options={"fdo_profile": b"\x0a\x00"})
    assert [lookup.outcome for lookup in guardcache.jax.lookups()] == ["miss", "miss"]
    with Cache(installed) as cache:
        assert sorted(entry.variant for entry in cache.entries()) == ["", "pgle"]
    with config.compilation_cache_expect_pgle(True):
        call(jnp.tanh, x)
    assert outcomes()[-1] == ("hit", "")


def test_a_missing_profiled_one_is_told_if_it_is_expected(installed: Path) -> None:
    x = numbers(4)
    enabled, runs = profiled()
    with enabled, runs:
        call(jnp.tanh, x)
    with config.compilation_cache_expect_pgle(True), pytest.warns(UserWarning, match="PERSISTENT CACHE MISS for PGLE"):
        call(jnp.tanh, x)
    assert outcomes()[-1] == ("hit", "")
    with config.compilation_cache_expect_pgle(True), pytest.warns(UserWarning, match="PERSISTENT CACHE WRITE"):
        call(jnp.sin, x)


# ---- installing ----


def test_uninstalling_puts_everything_back(directory: Path) -> None:
    names = ("compile_or_get_cached", "_get_cache_key", "_is_executable_in_cache", "_cache_write")
    before = [getattr(compiler, name) for name in names]
    guardcache.jax.install(directory)
    assert [getattr(compiler, name) for name in names] != before
    assert jax.config.jax_compilation_cache_dir == str(directory / "sub" / "xla")
    assert guardcache.jax.is_installed()
    guardcache.jax.install(directory)
    guardcache.jax.uninstall()
    assert [getattr(compiler, name) for name in names] == before
    assert jax.config.jax_compilation_cache_dir is None
    with pytest.raises(guardcache.jax.NotInstalledError):
        guardcache.jax.lookups()


def test_a_directory_that_the_user_named_stays(directory: Path, tmp_path: Path) -> None:
    with config.compilation_cache_dir(str(tmp_path / "theirs")):
        guardcache.jax.install(directory)
        assert config.compilation_cache_dir.value == str(tmp_path / "theirs")
        guardcache.jax.uninstall()
        assert config.compilation_cache_dir.value == str(tmp_path / "theirs")


def test_a_moved_seam_is_told_and_jax_compiles(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert guardcache.jax.moved() == {"compiles": [], "exports": []}
    monkeypatch.setattr(compiler, "_cache_write", lambda key, executable: None)
    assert "_cache_write takes (key, executable)" in guardcache.jax.moved()["compiles"][0]
    with pytest.raises(guardcache.jax.SeamsMovedError, match="_cache_write"):
        guardcache.jax.install(directory)
    assert not guardcache.jax.is_installed()
    monkeypatch.undo()
    assert (call(jnp.sign, numbers(4)) == np.sign(numbers(4))).all()


SCRIPT = """
    import sys
    import jax, numpy
    print(float(jax.jit(lambda x: x.sum())(numpy.ones(3))))
    print("guardcache" in sys.modules)
"""


def test_a_variable_installs_it_in_a_script_that_knows_nothing(directory: Path) -> None:
    variables = {"GUARDCACHE_DIR": str(directory), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    assert run(SCRIPT, **variables).split() == ["3.0", "False"]
    assert run(SCRIPT, GUARDCACHE_JAX="1", **variables).split() == ["3.0", "True"]
    assert count(directory) == 1
