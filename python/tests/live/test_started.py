"""The start hook under PyTorch: installed behind the script's own import, once, and never in its way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.live

COMPILED = "import torch; print(torch.compile(lambda x: x + 1)(torch.ones(2)).tolist())\n"
ASKED = "import guardcache.torch as g; print(g.is_installed(), g.statistics().misses)\n"


def run(tmp_path: Path, script: str, **environment: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={
            **os.environ,
            "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"),
            "GUARDCACHE_DIR": str(tmp_path / "own"),
            "GUARDCACHE_TORCH": "1",
            **environment,
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    # PyTorch's wheels with CUDA say that there is none.
    lines = done.stderr.splitlines(keepends=True)
    return done.stdout, "".join(line for line in lines if "No CUDA runtime is found" not in line)


@pytest.mark.parametrize("autoload", ["0", "1"])
def test_a_script_that_knows_nothing_is_cached(autoload: str, tmp_path: Path) -> None:
    """With Python's own hook, and by PyTorch's entry point."""
    script = COMPILED + ASKED
    if autoload == "1":
        script = "import _guardcache_start as s; assert s.cancel()\n" + script
    told = run(tmp_path, script, TORCH_DEVICE_BACKEND_AUTOLOAD=autoload)
    assert told == ("[2.0, 2.0]\nTrue {'no_key': 2}\n", "")


def test_the_adapter_may_be_asked_before_anything_is_compiled(tmp_path: Path) -> None:
    assert run(tmp_path, ASKED) == ("True {}\n", "")


def test_an_explicit_install_is_the_only_one(tmp_path: Path) -> None:
    script = (
        f"import guardcache.torch as g; g.install({str(tmp_path / 'chosen')!r})\n"
        "print(g._install.current().cache.directory)\n" + COMPILED
    )
    assert run(tmp_path, script) == (f"{tmp_path / 'chosen'}\n[2.0, 2.0]\n", "")
    assert not (tmp_path / "own").exists()


@pytest.mark.parametrize("key", ["canonical", "nonsense"])
def test_what_goes_wrong_is_a_line(key: str, tmp_path: Path) -> None:
    output, errors = run(tmp_path, COMPILED, GUARDCACHE_TORCH_KEY=key)
    assert output == "[2.0, 2.0]\n"
    told = 'guardcache: PyTorch runs without the adapter: key is "pytorch" or "canonical", not \'nonsense\'\n'
    assert errors == ("" if key == "canonical" else told)


def test_a_broken_package_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "guardcache").mkdir()
    (tmp_path / "guardcache" / "__init__.py").write_text("raise ImportError('half an installation')\n")
    output, errors = run(tmp_path, COMPILED, PYTHONPATH=str(tmp_path))
    assert output == "[2.0, 2.0]\n"
    assert errors == "guardcache: PyTorch runs without the adapter: half an installation\n"


def test_the_module_keeps_its_own_loader(tmp_path: Path) -> None:
    script = (
        "import torch._inductor.compile_fx as m, inspect\n"
        "print(type(m.__loader__).__name__, type(m.__spec__.loader).__name__)\n"
        "print('def compile_fx' in inspect.getsource(m))\n"
    )
    assert run(tmp_path, script) == ("SourceFileLoader SourceFileLoader\nTrue\n", "")
