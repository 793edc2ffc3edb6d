"""``python -m guardcache``: the command."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig


def find_command() -> str | None:
    """The command of this installation, else the one on PATH."""
    own = os.path.join(sysconfig.get_path("scripts"), "guardcache")
    return own if os.access(own, os.X_OK) else shutil.which("guardcache")


def main() -> int:
    command = find_command()
    if command is None:
        print("guardcache: the command isn't installed beside this package, nor is it on PATH", file=sys.stderr)
        return 2
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
