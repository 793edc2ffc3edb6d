"""Processes on machines that share a cache, or don't."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

# A process that hangs must end some day; one that compiles all models on a busy machine must not.
_SECONDS_MAX = 3600


@dataclass
class Machine:
    """Where processes run: an Inductor directory, and a guardcache directory that may be shared with other machines."""

    inductor: Path
    guardcache: Path
    path: str = field(default_factory=lambda: os.environ["PATH"])

    def environment(self, **more: str) -> dict[str, str]:
        return {
            **os.environ,
            "TORCHINDUCTOR_CACHE_DIR": str(self.inductor),
            "GUARDCACHE_DIR": str(self.guardcache),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "PATH": self.path,
            **more,
        }

    def start(self, environment: dict[str, str] | None = None, **scenario: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(HERE / "scenario.py"), json.dumps(scenario)],
            env=self.environment(**(environment or {})),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, environment: dict[str, str] | None = None, **scenario: Any) -> dict[str, Any]:
        """Of a scenario with one model: its report."""
        return report_of(self.start(environment, **scenario))


def reports_of(process: subprocess.Popen[str]) -> dict[str, dict[str, Any]]:
    """By model."""
    output, errors = process.communicate(timeout=_SECONDS_MAX)
    assert process.returncode == 0, errors[-4000:]
    reports: dict[str, dict[str, Any]] = json.loads(output.rstrip().rpartition("\n")[2])
    for report in reports.values():
        report["stderr"] = errors
    return reports


def report_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    (report,) = reports_of(process).values()
    return report


def total(report: dict[str, Any], counter: str) -> int:
    return sum(batch["counters"].get(counter, 0) for batch in report["batches"])


def programs(report: dict[str, Any]) -> list[str]:
    return [program for batch in report["batches"] for program in batch["programs"]]


def right(report: dict[str, Any]) -> bool:
    return all(batch["right"] for batch in report["batches"])


def digests(report: dict[str, Any]) -> list[str]:
    return [batch["digest"] for batch in report["batches"]]


class Machines:
    """Makes machines that share one guardcache directory."""

    def __init__(self, root: Path, workshop: Path) -> None:
        self._root = root
        self._workshop = workshop
        self._count = 0

    def new(self, *, compiler: bool = True, shared: bool = True) -> Machine:
        """With an empty Inductor directory. Without a compiler, PATH has Python alone."""
        self._count += 1
        guardcache = self._root / ("guardcache" if shared else f"guardcache{self._count}")
        machine = Machine(self._root / f"inductor{self._count}", guardcache)
        if not compiler:
            machine.path = str(Path(sys.executable).parent)
        return machine

    def used(self, *, shared: bool = True) -> Machine:
        """With the session's Inductor directory, where the compiler was asked much already: for tests that are about
        neither, since a compile costs more than everything else together.
        """
        machine = self.new(shared=shared)
        machine.inductor = self._workshop
        return machine
