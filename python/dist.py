"""Puts the C library's sources into the package's source distribution.

In the tree `subprojects/guardcache` is a link to the top, which a distribution of this folder alone can't follow.
``meson dist`` runs this, and says where the distribution is put together.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

# What the library and the command are built from; tests, examples and fixtures are in the repository.
WANTED = ("meson.build", "meson_options.txt", "LICENSE", "README.md", "include", "src", "guards", "docs/man")


def sources(top: Path) -> list[str]:
    """What git has of them, or, in a distribution that is distributed again, what is there."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *WANTED], cwd=top, capture_output=True, text=True, check=False
    )
    if listed.returncode == 0 and listed.stdout:
        return listed.stdout.rstrip("\0").split("\0")
    found = [path for name in WANTED for path in ([top / name] if (top / name).is_file() else (top / name).rglob("*"))]
    return [str(path.relative_to(top)) for path in found if path.is_file()]


def main() -> None:
    package = Path(os.environ["MESON_SOURCE_ROOT"])
    root = Path(os.environ["MESON_DIST_ROOT"])
    top = (package / "subprojects" / "guardcache").resolve()
    inside = root / "subprojects" / "guardcache"
    if inside.is_symlink():
        inside.unlink()
    for name in sources(top):
        (inside / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(top / name, inside / name)
    licence = root / "LICENSE"
    licence.unlink(missing_ok=True)
    shutil.copy2(top / "LICENSE", licence)


if __name__ == "__main__":
    main()
