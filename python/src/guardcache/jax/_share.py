"""Whether processes of a job that are to share what one compiles have the same key for it.

JAX's hash of the devices may differ between them, as it does on CPUs; then what the first process shares is under a key
that the others never ask for, and they would wait for theirs until JAX's time is up. So the first says what its hash is
before it looks anything up, and a process whose own differs compiles for itself.
"""

from __future__ import annotations

import hashlib
from typing import Any

from jax._src import config

from guardcache.jax._describe import topology_of

_said: set[tuple[int, str]] = set()
"""By the client of a job and the name there."""
_heard: dict[tuple[int, str], str] = {}


def announce(job: Any, devices: Any, first: int) -> None:
    """`job` is JAX's `distributed.global_state`."""
    name = _name(devices)
    if job.process_id != first or (id(job.client), name) in _said:
        return
    _said.add((id(job.client), name))
    job.client.key_value_set(name, topology_of(devices), allow_overwrite=True)


def agrees(job: Any, devices: Any, first: int) -> bool:
    """Whether the first process has these devices as this one has."""
    if job.process_id == first:
        return True
    name = _name(devices)
    place = (id(job.client), name)
    if place not in _heard:
        _heard[place] = job.client.blocking_key_value_get(name, config.share_binary_between_hosts_timeout_ms.value)
    return _heard[place] == topology_of(devices)


def _name(devices: Any) -> str:
    numbers = ",".join(str(device.id) for device in devices.flat)
    return f"guardcache/devices/{hashlib.sha256(numbers.encode()).hexdigest()}"
