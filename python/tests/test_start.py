"""The start hook, without PyTorch: what it costs and what it leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path


def run(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_waiting_imports_nothing() -> None:
    """Nor does it wait twice."""
    script = "import sys; before = set(sys.modules); import _guardcache_start as s; s.start(); s.start()\n"
    told = "print(sorted(set(sys.modules) - before), sum(f is s._finder for f in sys.meta_path))"
    assert run(script + told, GUARDCACHE_TORCH="0") == "['_guardcache_start'] 1"


def test_python_starts_waiting_only_if_asked_to() -> None:
    script = (
        "import sys; print('_guardcache_start' in sys.modules, 'guardcache' in sys.modules, 'typing' in sys.modules)"
    )
    plain = run(script, GUARDCACHE_TORCH="0")
    assert plain.split()[:2] == ["False", "False"]
    assert run(script, GUARDCACHE_TORCH="1").split() == ["True", "False", plain.split()[2]]


def test_pytorch_finds_the_entry_point() -> None:
    (point,) = [point for point in metadata.entry_points(group="torch.backends") if point.name == "guardcache"]
    assert point.value == "_guardcache_start:autoload"


def test_autoload_waits_only_if_asked_to() -> None:
    script = "import sys, _guardcache_start as s; s.autoload(); print(s.cancel(), s.cancel())"
    assert run(script, GUARDCACHE_TORCH="0") == "False False"
    assert run(script, GUARDCACHE_TORCH="1") == "True False"


def test_autoload_never_raises() -> None:
    script = "import sys, _guardcache_start as s; s.cancel(); sys.meta_path = None; sys.stderr = sys.stdout\n"
    told = run(script + "s.autoload()", GUARDCACHE_TORCH="1")
    assert "guardcache: PyTorch runs without the adapter" in told


def test_autoload_never_raises_where_nothing_can_be_told() -> None:
    script = "import sys, _guardcache_start as s; s.cancel(); sys.meta_path = None\n"
    for stderr in ("None", "open('/dev/null', 'w'); sys.stderr.close()"):
        assert run(script + f"sys.stderr = {stderr}; s.autoload(); print('on')", GUARDCACHE_TORCH="1") == "on"


def test_asking_where_the_module_is_doesnt_end_the_wait(tmp_path: Path) -> None:
    inner = tmp_path / "torch" / "_inductor"
    inner.mkdir(parents=True)
    (tmp_path / "torch" / "__init__.py").touch()
    (inner / "__init__.py").touch()
    (inner / "compile_fx.py").write_text("import sys\nif sys.argv[0] == 'fails':\n    raise ImportError('today')\n")
    script = (
        "import sys, importlib.util, _guardcache_start as s; s.finish = lambda: print('installed', s.cancel())\n"
        "name = 'torch._inductor.compile_fx'; s.start(); importlib.util.find_spec(name); sys.argv[0] = 'fails'\n"
        "try: importlib.import_module(name)\n"
        "except ImportError: sys.argv[0] = ''\n"
        "importlib.import_module(name)"
    )
    assert run(script, PYTHONPATH=str(tmp_path), GUARDCACHE_TORCH="0") == "installed True"
