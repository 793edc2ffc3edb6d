"""What compiled code depends on without its compiler being asked: the machine it was compiled on."""

from __future__ import annotations

import functools
import platform

# Of /proc/cpuinfo: what tells processors apart, under the names of x86 and of Arm.
_FACTS = {
    "model name": "model",
    "CPU implementer": "implementer",
    "CPU part": "part",
    "flags": "features",
    "Features": "features",
}


@functools.cache
def host_cpu() -> dict[str, str]:
    """The processor of this machine, for a description's ``environment``: a compiler that compiles for the host makes
    other code of the same source on another one, which may not run here.
    """
    found = {"architecture": platform.machine()}
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if not line.strip():
                    break  # all others are like the first
                if name.strip() in _FACTS:
                    found[_FACTS[name.strip()]] = value.strip()
    except OSError:
        found["model"] = platform.processor()
    return found
