#!/usr/bin/env python3
"""Canonical bytes decode and encode again identically with cbor2 in canonical mode.

cbor2_cross.py COMMAND ENVIRONMENT FOLDER: all descriptions below FOLDER. cbor2 is installed from PyPI into a virtual
environment of that name; where that can't be done the test is skipped (status 77).
"""

import pathlib
import subprocess
import sys
import venv

SKIPPED = 77
# Fewer descriptions than this prove nothing.
LEAST = 50

CHECK = """
import subprocess, sys
import cbor2
bad = 0
for path in sys.argv[2:]:
    form = subprocess.run([sys.argv[1], "canon", path], check=True, capture_output=True).stdout
    if cbor2.dumps(cbor2.loads(form), canonical=True) != form:
        print(path)
        bad += 1
print(len(sys.argv) - 2, "forms,", bad, "differ")
sys.exit(bad != 0)
"""


def has_cbor2(python: pathlib.Path) -> bool:
    return subprocess.run([python, "-c", "import cbor2"], capture_output=True, check=False).returncode == 0


def main() -> int:
    command, environment, folder = sys.argv[1:]
    python = pathlib.Path(environment) / "bin" / "python"
    if not python.exists():
        venv.create(environment, with_pip=True)
    if not has_cbor2(python):
        subprocess.run([python, "-m", "pip", "install", "--quiet", "cbor2"], check=False, capture_output=True)
    if not has_cbor2(python):
        print("cbor2 isn't there and can't be installed")
        return SKIPPED
    paths = sorted(str(path) for path in pathlib.Path(folder).glob("**/graphs/*.json"))
    if len(paths) < LEAST:
        print(f"only {len(paths)} descriptions below {folder}")
        return 1
    return subprocess.run([python, "-c", CHECK, command, *paths], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
