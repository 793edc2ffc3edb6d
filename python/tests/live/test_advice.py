"""Each advice that has an example is followed, and docs/advice.md has what comes of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

RUNNER = Path(__file__).parents[3] / "tests" / "advice" / "run.py"

# GUARDCACHE_LONG=1 follows each, also under canonical keys.
PART = [] if os.environ.get("GUARDCACHE_LONG") == "1" else ["--key", "pytorch", "--every", "4"]


def test_advice_is_followed() -> None:
    command = [sys.executable, str(RUNNER), *PART]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-8000:]
