"""The package under several versions of PyTorch, each in a clean environment of its own, which is removed afterwards.

    python versions.py                       the versions of the table: three lines twice, and the live tests
    python versions.py --version 2.15.0      one of them, or another; `newest` is what pip chooses
    python versions.py --quick               three lines twice, and the short live tests
    python versions.py --wheel FILE          with this wheel, instead of the one that `scripts/wheel` makes first

Newer versions bring some gigabytes of CUDA's libraries. Exit status 1 if anything failed, 77 if a version can't be
installed here.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).parent
VERSIONS = ("2.12.1", "2.13.0", "2.14.1", "2.15.0")
SHORT = ("test_seams.py", "test_started.py")

# What a new user types. In a second process both of PyTorch's caches hit.
THREE_LINES = """
import guardcache.torch, torch
guardcache.torch.install()
print(torch.compile(lambda x: (x * 2).relu())(torch.ones(3)).tolist(), guardcache.torch.statistics().hits)
"""


# Gigabytes from a package index that is far away.
INSTALL_SECONDS_MAX = 600
# All live tests on a busy machine take forty minutes.
TESTS_SECONDS_MAX = 7200


class AbsentError(Exception):
    """A version can't be installed here."""


def install(python: Path, *what: str) -> None:
    command = [str(python), "-m", "pip", "install", "-q", "--no-cache-dir", "--disable-pip-version-check", *what]
    subprocess.run(command, capture_output=True, text=True, check=True, timeout=INSTALL_SECONDS_MAX)


def install_pytorch(python: Path, version: str) -> None:
    try:
        install(python, "torch" if version == "newest" else f"torch=={version}", "numpy")
    except subprocess.CalledProcessError as error:
        raise AbsentError(error.stderr.strip()[-500:]) from None
    except subprocess.TimeoutExpired:
        raise AbsentError(f"not within {INSTALL_SECONDS_MAX} s") from None


def made_wheel() -> str:
    script = HERE.parent.parent / "scripts" / "wheel"
    return subprocess.run([str(script)], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1]


def needed() -> list[str]:
    """Of the live tests, but for PyTorch itself."""
    lines = (HERE / "live" / "requirements.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith(("#", "torch "))]


def second_process_hits(python: Path, directory: Path) -> bool:
    environment = {
        **os.environ,
        "GUARDCACHE_DIR": str(directory / "cache"),
        "TORCHINDUCTOR_CACHE_DIR": str(directory / "inductor"),
    }
    told = []
    for _ in range(2):
        command = [str(python), "-c", THREE_LINES]
        done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
        told.append(done.stdout.strip() or done.stderr[-2000:])
    print(f"   three lines, twice: {told[0]} | {told[1]}", flush=True)
    return told == ["[2.0, 2.0, 2.0] 0", "[2.0, 2.0, 2.0] 2"]


def try_version(wheel: str, version: str, quick: bool) -> bool:
    directory = Path(tempfile.mkdtemp(prefix="guardcache-torch-"))
    try:
        venv.create(directory / "venv", with_pip=True)
        python = directory / "venv" / "bin" / "python"
        install_pytorch(python, version)
        install(python, wheel)
        show = "import torch; print('== PyTorch', torch.__version__, flush=True)"
        subprocess.run([str(python), "-c", show], check=False)
        good = second_process_hits(python, directory)
        install(python, "pytest", "pytest-xdist >= 3.5", *needed())
        tests = [str(HERE / "live" / name) for name in SHORT] if quick else [str(HERE / "live")]
        options = ["-q", "-p", "no:cacheprovider", "--show-capture=no", "-c", str(HERE.parent / "pyproject.toml")]
        options += ["--numprocesses", "2", "--dist", "loadfile"]  # as python/tests/run
        command = [str(python), "-m", "pytest", *options, *tests]
        run = subprocess.run(command, cwd=directory, check=False, timeout=TESTS_SECONDS_MAX)
        return good and run.returncode == 0
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(f"   {error}\n{error.stderr or ''}", flush=True)
        return False
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel")
    parser.add_argument("--version", action="append")
    parser.add_argument("--quick", action="store_true")
    wanted = parser.parse_args()
    # What ends this process from outside mustn't leave gigabytes behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    wheel = os.path.abspath(wanted.wheel) if wanted.wheel else made_wheel()
    passed, failed, absent = 0, 0, 0
    for version in wanted.version or VERSIONS:
        try:
            good = try_version(wheel, version, wanted.quick)
        except AbsentError as reason:
            print(f"== PyTorch {version} can't be installed here: {reason}", flush=True)
            absent += 1
            continue
        passed, failed = passed + good, failed + (not good)
    print(f"{passed} versions passed, {failed} failed, {absent} can't be installed")
    sys.exit(1 if failed else 77 if absent else 0)


if __name__ == "__main__":
    main()
