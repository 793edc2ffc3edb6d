"""Several processes of one job: one compiles and shares, and only process 0 writes."""

from __future__ import annotations

import ast
import socket
from pathlib import Path

import pytest

pytest.importorskip("jax")

from jax_kit import finish, start

from guardcache import Cache

# On CPUs JAX's hash of the devices differs between processes. Where a test needs one that doesn't, it says so.
PROGRAM = """
    import sys
    import jax, numpy
    from jax._src import cache_key
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    def same(hash_obj, accelerators):
        hash_obj.update(b"same")

    directory, port, number, share, hashes = sys.argv[1:]
    if hashes == "same":
        cache_key._hash_accelerator_config = same
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_share_binary_between_hosts", share == "share")
    jax.distributed.initialize(f"127.0.0.1:{port}", 2, int(number))
    import guardcache.jax
    guardcache.jax.install(directory)
    mesh = Mesh(numpy.array(jax.devices()), ("x",))
    whole, parts = (NamedSharding(mesh, PartitionSpec(*names)) for names in ((), ("x",)))
    rows = numpy.arange(32, dtype=numpy.float32).reshape(8, 4)
    x = jax.make_array_from_callback(rows.shape, parts, lambda index: rows[index])
    print(float(jax.jit(lambda x: (x * 2).sum(), out_shardings=whole)(x)))
    told = guardcache.jax.lookups()[-1]
    print((told.outcome, told.note))
"""


def job(directory: Path, share: str, hashes: str = "same") -> list[tuple[str, str]]:
    """What became of the compile, by process; all have the right result."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    processes = [start(PROGRAM, directory, port, number, share, hashes) for number in ("0", "1")]
    outputs = [finish(process, timeout=40).splitlines()[-2:] for process in processes]
    assert [output[0] for output in outputs] == ["992.0", "992.0"]
    return [ast.literal_eval(output[1]) for output in outputs]


@pytest.mark.parametrize(
    ("share", "note"),
    [
        ("share", "not stored: another process of the job stores it"),
        ("alone", "not stored: process 1 of the job doesn't write, process 0 does"),
    ],
)
def test_one_process_writes_and_all_find(directory: Path, share: str, note: str) -> None:
    assert job(directory, share) == [("miss", ""), ("miss", note)]
    with Cache(directory) as cache:
        assert sum(1 for _ in cache.entries()) == 1
    assert job(directory, share) == [("hit", ""), ("hit", "")]


def test_processes_whose_keys_differ_dont_wait_for_each_other(directory: Path) -> None:
    (first, second) = job(directory, "share", "JAX's")
    assert first == ("miss", "")
    assert second == ("miss", "not stored: process 1 of the job doesn't write, process 0 does")
