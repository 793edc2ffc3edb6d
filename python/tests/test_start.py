"""The start hook, without PyTorch: what it costs and what it leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest


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


# The hook waits for the modules, or comes when they are imported already, as PyTorch's entry point does.
CALLS = """
import sys, _guardcache_start as s
s.finish = lambda: print("installed", end=" ")
early, late = (lambda: None), s.start
if sys.argv[1] == "imported":
    early, late = late, early
late()
import torch._inductor.utils, torch._inductor.runtime.cache_dir_utils, torch.compiler._cache as c
early()
print(torch._inductor.utils.fresh_cache(1), torch._inductor.runtime.cache_dir_utils.temporary_cache_dir(x=2), end=" ")
print(c.CacheArtifactManager.populate_caches(3), c.CacheArtifactManager().populate_caches(4))
"""


def torch_with(directory: Path, fresh_cache: str, populate_caches: str) -> None:
    sources = {
        "torch/_inductor/utils.py": fresh_cache,
        "torch/_inductor/runtime/cache_dir_utils.py": "def temporary_cache_dir(x): return x",
        "torch/compiler/_cache.py": f"class CacheArtifactManager:\n    {populate_caches}",
    }
    for name, source in sources.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    for package in ("torch", "torch/_inductor", "torch/_inductor/runtime", "torch/compiler"):
        (directory / package / "__init__.py").touch()


@pytest.mark.parametrize("how", ["imported", "waits"])
@pytest.mark.parametrize(
    "kind", ["@staticmethod\n    def {}(x): return x", "@classmethod\n    def {}(cls, x): return x"]
)
def test_what_must_find_the_adapter_installed_installs_it(how: str, kind: str, tmp_path: Path) -> None:
    torch_with(tmp_path, "def fresh_cache(x): return x", kind.format("populate_caches"))
    script = f"import sys; sys.argv = ['', {how!r}]\n" + CALLS
    told = run(script, PYTHONPATH=str(tmp_path), GUARDCACHE_TORCH="0")
    assert told == "installed installed 1 2 installed installed 3 4"


def test_a_function_that_has_moved_stays_as_it_is(tmp_path: Path) -> None:
    torch_with(tmp_path, "fresh_cache = None", "populate_caches = 3")
    script = (
        "import _guardcache_start as s; s.finish = lambda: print('installed')\n"
        "s.start(); import torch._inductor.utils as u, torch.compiler._cache as c\n"
        "print(u.fresh_cache, c.CacheArtifactManager.populate_caches)\n"
    )
    assert run(script, PYTHONPATH=str(tmp_path), GUARDCACHE_TORCH="0") == "None 3"
    (tmp_path / "torch" / "compiler" / "_cache.py").write_text("")
    assert run("import _guardcache_start as s; s.start(); import torch.compiler._cache", PYTHONPATH=str(tmp_path)) == ""
