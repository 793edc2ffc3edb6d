"""Each advice that has an example is followed, and docs/advice.md has what comes of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RUNNER = Path(__file__).parents[3] / "tests" / "advice" / "run.py"


def test_each_advice_is_followed() -> None:
    done = subprocess.run([sys.executable, str(RUNNER)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-8000:]
