"""What a client sees of the types, and where the package refuses to work."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import client
import pytest

HERE = Path(__file__).parent
MYPY = (sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent")


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_client_has_no_type_errors(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    checked = run(
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--follow-imports=silent",
        f"--cache-dir={tmp_path}",
        f"{HERE}/client.py",
    )
    assert checked.stdout.startswith("Success"), checked.stdout + checked.stderr


def test_a_wrong_client_has_some(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import guardcache\n"
        "cache = guardcache.open('x', readonly=True)\n"
        "cache.lookup(guardcache.Graph(), {'s0': 'eight'}, lable='x')\n"
        "cache.get_or_compile(guardcache.Graph(), lambda: b'code')\n"
    )
    checked = run(*MYPY, f"--cache-dir={tmp_path}", str(wrong))
    for line in (2, 3, 4):
        assert f"wrong.py:{line}: error" in checked.stdout, checked.stdout + checked.stderr


def test_the_client_runs(directory: Path) -> None:
    assert client.use(str(directory)) == b"code"


def test_a_subinterpreter_is_refused() -> None:
    script = (
        "import _xxsubinterpreters as sub\n"
        "inner = sub.create()\n"
        "sub.run_string(inner, 'import sys; sys.path[:] = ' + repr(__import__('sys').path) + '\\nimport guardcache')\n"
    )
    if sys.version_info >= (3, 13):
        script = script.replace("_xxsubinterpreters", "_interpreters").replace("run_string(inner, ", "exec(inner, ")
    refused = run(sys.executable, "-c", script)
    assert "the main interpreter alone" in refused.stderr + refused.stdout


def test_a_build_without_an_interpreter_lock_is_refused() -> None:
    header = HERE.parent / "native" / "native.h"
    include = HERE.parents[1] / "include"
    command = ["cc", "-fsyntax-only", f"-I{sysconfig.get_path('include')}", f"-I{include}", "-x", "c", str(header)]
    try:
        built = run(*command)
    except FileNotFoundError:
        pytest.skip("there is no C compiler")
    if built.returncode != 0:
        pytest.skip("there are no headers of Python's")
    refused = run(*command, "-DPy_GIL_DISABLED=1")
    assert refused.returncode != 0
    assert "free-threaded" in refused.stderr
