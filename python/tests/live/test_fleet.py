"""One cache for a fleet, under PyTorch: hosts with nothing in common but a Redis server, named by a variable."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from machines import Machine, Machines, digests, programs, right, total

pytestmark = pytest.mark.live

# How long a lookup waits for the server.
TIMEOUT_MS = 1500


class Server:
    """A Redis server on a socket of its own."""

    def __init__(self, directory: Path) -> None:
        self.socket = directory / "redis"
        # Without files: what it holds ends with it.
        command = ["redis-server", "--port", "0", "--unixsocket", str(self.socket), "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=directory)
        while not self.socket.exists():
            assert self.process.poll() is None
            time.sleep(0.01)

    @property
    def url(self) -> str:
        return f"redis+unix://{self.socket}?timeout-ms={TIMEOUT_MS}"

    def stop(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait()


@pytest.fixture
def server() -> Iterator[Server]:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server isn't installed")
    # A socket's path has at most 107 bytes, which pytest's directories may exceed.
    with tempfile.TemporaryDirectory(prefix="gc") as directory:
        running = Server(Path(directory))
        yield running
        running.stop()


def on(machine: Machine, server: Server, **scenario: Any) -> dict[str, Any]:
    """The report of a process that knows of guardcache and the server by its environment alone."""
    return machine.run({"GUARDCACHE_TORCH": "1", "GUARDCACHE_TIERS": server.url}, **scenario)


def far(machines: Machines) -> Machine:
    """A host without a C++ compiler, with empty directories of its own."""
    machine = machines.new(compiler=False, shared=False)
    assert shutil.which("g++", path=machine.path) is None
    return machine


@pytest.mark.parametrize("backward", [False, True])
def test_compiled_here_served_there(machines: Machines, server: Server, backward: bool) -> None:
    scenario = {"model": "mlp", "batches": [4], "backward": backward}
    cold = on(machines.used(shared=False), server, **scenario)
    assert right(cold)
    assert cold["stored"] > 0
    (counts,) = cold["tiers"].values()
    assert counts["hits"] == counts["timeouts"] == counts["unavailable"] == 0

    there = far(machines)
    served = on(there, server, **scenario)
    assert right(served)
    assert digests(served) == digests(cold)
    assert served["misses"] == {}
    assert programs(served) == []
    assert total(served, "autograd_cache_hit") == 1
    name = server.url
    assert set(served["hits_by_tier"]) == {name}
    assert served["tiers"][name]["hits"] == served["hits"]
    assert f"tier {name}: {served['hits']} of {served['hits']} lookups served" in served["explanation"]

    # It is that host's now, whatever becomes of the server.
    server.stop()
    again = on(there, server, **scenario)
    assert digests(again) == digests(cold)
    assert set(again["hits_by_tier"]) <= {"local", "memory"}
    assert again["tiers"][name]["asked"] == 0


def test_variants_of_two_hosts_serve_a_third(machines: Machines, server: Server) -> None:
    """One graph with guards that only one of both sizes fulfils: what PyTorch's own remote cache keeps one of."""
    scenario: dict[str, Any] = {"model": "pooling", "dynamic": True}
    reports = [on(machines.used(shared=False), server, batches=[size], **scenario) for size in (12, 13)]
    assert all(right(report) and report["stored"] > 0 for report in reports)
    assert "guard_false" in reports[1]["misses"]
    third = on(far(machines), server, batches=[12, 13, 16, 17], **scenario)
    assert right(third)
    assert third["misses"] == {}
    assert programs(third) == []
    assert digests(third)[:2] == digests(reports[0]) + digests(reports[1])
    assert total(third, "autograd_cache_hit") == 4
    assert third["tiers"][server.url]["hits"] >= 2


def test_pytorchs_own_remote_cache_keeps_the_last_variant(machines: Machines, server: Server) -> None:
    """The same three hosts, without guardcache. Whoever compiles a variant takes the other one's place."""
    pytest.importorskip("redis")
    environment = {
        "TORCHINDUCTOR_REDIS_URL": f"unix://{server.socket}",
        "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE": "1",
        "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE": "1",
        "GUARDCACHE_TORCH": "0",
    }
    scenario: dict[str, Any] = {"model": "pooling", "dynamic": True, "adapter": False}
    for size in (12, 13):
        machines.new(shared=False).run(environment, batches=[size], **scenario)
    third = machines.new(shared=False).run(environment, batches=[13, 12], **scenario)
    hits = [batch["counters"].get("autograd_cache_hit", 0) for batch in third["batches"]]
    assert right(third)
    assert hits == [1, 0]


def test_a_server_that_is_gone_is_no_error(machines: Machines, server: Server) -> None:
    server.stop()
    report = on(machines.used(shared=False), server, model="mlp", batches=[4])
    assert right(report)
    assert report["stored"] > 0
    (counts,) = report["tiers"].values()
    assert (counts["timeouts"], counts["hits"]) == (0, 0)
    assert counts["unavailable"] >= 1
    assert "remote_unavailable" in report["misses"]
    assert set(report["local_reasons"]) == {"no_key"}
    assert "in trouble" in report["explanation"]
    assert "Traceback" not in report["stderr"]


def test_a_server_that_hangs_costs_a_timeout(machines: Machines, server: Server) -> None:
    os.kill(server.process.pid, signal.SIGSTOP)
    report = on(machines.used(shared=False), server, model="mlp", batches=[4])
    assert right(report)
    assert report["stored"] > 0
    (counts,) = report["tiers"].values()
    # After the first it is left alone for a while, then asked again: each such time-out is all there is to wait for.
    assert counts["timeouts"] >= 1
    assert counts["asking_ns"] < (counts["timeouts"] * TIMEOUT_MS + 500) * 1_000_000
    assert "remote_timeout" in report["misses"]
    assert "no answer in time" in report["explanation"]
    assert "Traceback" not in report["stderr"]


def test_namespaces_are_kept_apart(machines: Machines, server: Server) -> None:
    scenario: dict[str, Any] = {"model": "mlp", "batches": [4]}
    on(machines.used(shared=False), server, **scenario)
    environment = {"GUARDCACHE_TORCH": "1", "GUARDCACHE_TIERS": server.url, "GUARDCACHE_NAMESPACE": "other"}
    other = machines.used(shared=False).run(environment, **scenario)
    assert other["hits"] == 0
