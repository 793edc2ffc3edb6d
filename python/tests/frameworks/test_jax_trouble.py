"""The JAX adapter in trouble: the result is right, and the reason is told."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

jax = pytest.importorskip("jax")
np = pytest.importorskip("numpy")

from jax._src import compilation_cache, config  # noqa: E402
from jax_kit import CALL, SLOW, TELL, finish, run, start, told  # noqa: E402

import guardcache.jax  # noqa: E402
from guardcache import Cache  # noqa: E402

X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)


def f(x: Any) -> Any:
    return (jax.numpy.sin(x) * 3 + 1).sum(axis=1)


@pytest.fixture(scope="module")
def right() -> bytes:
    found: bytes = np.asarray(jax.jit(f)(X)).tobytes()
    return found


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    with config.persistent_cache_min_compile_time_secs(0), config.enable_compilation_cache(True):
        compilation_cache.reset_cache()
        yield
    guardcache.jax.uninstall()


def call() -> bytes:
    """As a process that has compiled nothing yet."""
    jax.clear_caches()
    found: bytes = np.asarray(jax.jit(f)(X)).tobytes()
    return found


def filled(directory: Path) -> Path:
    guardcache.jax.install(directory)
    call()
    guardcache.jax.uninstall()
    return directory


# ---- processes ----


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the slow function gives without anybody's help."""
    result: str = told(run(SLOW + CALL + TELL, tmp_path_factory.mktemp("alone") / "cache"))["result"]
    return result


WAIT = """
    print("ready", flush=True)
    while not Path(sys.argv[2]).exists():
        time.sleep(0.001)
"""


def test_two_processes_at_once_compile_once(directory: Path, tmp_path: Path, alone: str) -> None:
    go = tmp_path / "go"
    processes = [start(SLOW + WAIT + CALL + TELL, directory, go) for _ in range(2)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    go.touch()
    found = [told(finish(process)) for process in processes]
    assert sorted(each["outcomes"][0] for each in found) == ["hit", "miss"]
    assert [each["result"] for each in found] == [alone, alone]


STUCK = """
    from jax._src import compiler
    def stuck(*arguments, **named):
        print("compiling", flush=True)
        time.sleep(100)
    compiler.backend_compile_and_load = stuck
"""


def test_a_killed_process_holds_nobody_up(directory: Path, alone: str) -> None:
    stuck = start(SLOW + STUCK + CALL, directory)
    assert stuck.stdout is not None
    assert stuck.stdout.readline() == "compiling\n"
    waiting = start(SLOW + '    print("ready", flush=True)\n' + CALL + TELL, directory)
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "ready\n"
    time.sleep(0.5)
    assert waiting.poll() is None
    stuck.kill()
    stuck.communicate()
    found = told(finish(waiting))
    assert found["outcomes"] == ["miss"]
    assert found["result"] == alone
    with Cache(directory) as cache:
        assert cache.verify()
        assert sum(1 for _ in cache.entries()) == 1


def test_a_stopped_process_holds_nobody_up_for_long(directory: Path, alone: str) -> None:
    stuck = start(SLOW + STUCK + CALL, directory)
    assert stuck.stdout is not None
    assert stuck.stdout.readline() == "compiling\n"
    stuck.send_signal(signal.SIGSTOP)
    try:
        patience = "    from guardcache.jax import _compile; _compile.PATIENCE_SECONDS = 0.5\n"
        found = told(finish(start(SLOW + patience + CALL + TELL, directory), timeout=30))
    finally:
        stuck.kill()
        stuck.communicate()
    assert (found["outcomes"], found["reasons"], found["result"]) == (["miss"], ["lease_timeout"], alone)


def test_a_full_disk_stops_no_compile(tmp_path: Path, alone: str) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", str(small)], check=False).returncode != 0:
        pytest.skip("a small file system can't be mounted here")
    try:
        found = told(run(SLOW + CALL + TELL, small / "cache"))
        assert found["result"] == alone
        assert found["outcomes"] == ["miss"]
        assert "not stored" in found["notes"][0]
        with Cache(small / "cache", read_only=True) as cache:
            assert cache.verify()
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_threads_of_one_process_compile_once(directory: Path, right: bytes) -> None:
    """Each with a function of its own, so that JAX's caches in memory help none of them."""
    guardcache.jax.install(directory)
    jax.clear_caches()

    def compute(_: int) -> bytes:
        # JAX's settings are each thread's own.
        with config.persistent_cache_min_compile_time_secs(0):
            found: bytes = np.asarray(jax.jit(lambda x: f(x))(X)).tobytes()
            return found

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(compute, range(8)))
    assert found == [right] * 8
    outcomes = Counter(lookup.outcome for lookup in guardcache.jax.lookups())
    assert outcomes == {"miss": 1, "hit": 7}


# ---- damage ----


def payloads(directory: Path) -> list[Path]:
    """Files that hold entries; not the index and the journal."""
    return [path for path in (directory / "entries").rglob("*") if path.is_file() and path.stat().st_size > 0]


def test_no_flipped_bit_gives_a_wrong_number(directory: Path, tmp_path: Path, right: bytes) -> None:
    filled(directory)
    chance = random.Random(20)
    found = []
    for _ in range(24):
        guardcache.jax.uninstall()
        path = chance.choice(payloads(directory))
        whole = path.read_bytes()
        bit = chance.randrange(len(whole) * 8)
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(bytes(damaged))
        guardcache.jax.install(directory)
        assert call() == right
        found.append(guardcache.jax.lookups()[-1])
    reasons = {lookup.reason for lookup in found if lookup.outcome == "miss"}
    assert "corrupt" in reasons
    assert reasons <= {"corrupt", "no_key", "unreadable"}


def test_what_the_backend_cant_load_is_compiled_again(directory: Path, right: bytes) -> None:
    """An entry that is whole, and no executable."""
    guardcache.jax.install(directory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("guardcache.jax._store._serialize", lambda backend, executable: b"no executable")
        assert call() == right
    with pytest.warns(UserWarning, match="Error reading persistent compilation cache entry for 'jit_f'"):
        assert call() == right
    told = guardcache.jax.lookups()[-1]
    assert (told.outcome, told.reason) == ("miss", "unreadable")
    assert "can't be loaded" in told.note
    # What was compiled then is found, beside what can't be loaded.
    guardcache.jax.install(directory)
    assert call() == right
    assert guardcache.jax.lookups()[-1].outcome == "hit"


def test_errors_are_raised_if_jax_is_told_so(directory: Path) -> None:
    guardcache.jax.install(directory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("guardcache.jax._store._serialize", lambda backend, executable: b"no executable")
        call()
    with config.raise_persistent_cache_errors(True), pytest.raises(jax.errors.JaxRuntimeError):
        call()


def test_what_cant_be_serialized_is_compiled_and_told(directory: Path, right: bytes) -> None:
    def refuses(backend: Any, executable: Any) -> bytes:
        raise NotImplementedError("not on this backend")

    guardcache.jax.install(directory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("guardcache.jax._store._serialize", refuses)
        with pytest.warns(UserWarning, match="Error writing persistent compilation cache entry for 'jit_f'"):
            assert call() == right
        assert "not on this backend" in guardcache.jax.lookups()[-1].note
        with config.raise_persistent_cache_errors(True), pytest.raises(NotImplementedError):
            call()


def test_a_cache_that_was_closed_costs_caching_only(directory: Path, right: bytes) -> None:
    cache = Cache(directory)
    guardcache.jax.install(cache)
    cache.close()
    assert call() == right


def test_a_directory_that_cant_be_written(tmp_path: Path, right: bytes) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no directory")
    with pytest.raises(guardcache.Error):
        guardcache.jax.install(blocked / "cache")
    assert not guardcache.jax.is_installed()
    assert call() == right


# ---- versions ----


def test_another_jaxlib_is_told(directory: Path, right: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(directory)
    monkeypatch.setattr("guardcache.jax._describe.jaxlib_version", "0.0.1")
    guardcache.jax._describe._environments.clear()
    guardcache.jax.install(directory)
    assert call() == right
    assert guardcache.jax.lookups()[-1].reason == "no_key"
    explained = guardcache.jax.explain()
    assert "environment.jax" in explained
    assert "0.0.1" in explained
