"""A program with jitted functions, run in a process of its own: what it gave, and what the adapter said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHILD = """
import importlib, json, sys, traceback
folder, module, cache, calls, before = sys.argv[1:6]
sys.path.insert(0, folder)
if cache:
    import guardcache.numba
    guardcache.numba.install(cache)
exec(before)
program = importlib.import_module(module)
results = {}
for call in json.loads(calls):
    try:
        results[call] = repr(eval(call, vars(program)))
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        results[call] = f"{error!r} {frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}"
told = {"results": results, "lookups": [], "explained": ""}
if "guardcache.numba" in sys.modules:
    adapter = sys.modules["guardcache.numba"].current()
    told["lookups"] = [(one.outcome, one.label, one.reason, one.note) for one in adapter.lookups]
    told["explained"] = adapter.explain(20)
print(json.dumps(told))
"""


@dataclass
class Told:
    """What a process says when it ends."""

    results: dict[str, str]
    lookups: list[tuple[str, str, str, str]]
    """Outcome, label, reason, note."""
    explained: str

    def outcomes(self) -> dict[str, str]:
        """By label without its file."""
        return {label.partition(" ")[2]: outcome for outcome, label, _, _ in self.lookups}

    def reasons(self, outcome: str) -> list[str]:
        return [reason for found, _, reason, _ in self.lookups if found == outcome]


def start(
    folder: Path,
    text: str,
    calls: Iterable[str],
    cache: Path | None,
    *,
    module: str = "program",
    before: str = "",
    **environment: str,
) -> subprocess.Popen[str]:
    """Writes the program and starts it; `before` runs in the process before it is imported."""
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"{module}.py"
    if not source.exists() or source.read_text() != text:  # numba's own cache looks at its time
        source.write_text(text)
    arguments = [str(folder), module, str(cache or ""), json.dumps(list(calls)), before]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("GUARDCACHE_", "NUMBA_"))}
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, *arguments],
        env={**clean, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> Told:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    told: dict[str, Any] = json.loads(out.splitlines()[-1])
    return Told(told["results"], [tuple(one) for one in told["lookups"]], told["explained"])


def run(folder: Path, text: str, calls: Iterable[str], cache: Path | None, **options: str) -> Told:
    return finish(start(folder, text, calls, cache, **options))
