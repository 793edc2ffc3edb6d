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


# What a script may do before it imports what compiles. Each line ends with a compile in Inductor's own directory.
SAVED = """
import sys, torch
from torch._inductor.utils import fresh_cache
kept = []
torch.compile(lambda x: x.sin() * 2, backend=lambda gm, inputs: kept.extend((gm, inputs)) or gm)(torch.ones(4))
with fresh_cache():
    torch._inductor.standalone_compile(*kept).save(path=sys.argv[1], format=sys.argv[2])
"""
LOADED = """
    loaded = torch._inductor.CompiledArtifact.load(path={path!r}, format={form!r})
    print(torch.equal(loaded(torch.ones(4))[0], torch.ones(4).sin() * 2))
"""


@pytest.mark.parametrize("form", ["binary", "unpacked"])
@pytest.mark.parametrize("around", ["if True:", "from torch._inductor.utils import fresh_cache\nwith fresh_cache():"])
def test_a_standalone_artifact_is_found_where_it_was_put(form: str, around: str, tmp_path: Path) -> None:
    """PyTorch looks for it in its own store, or through guardcache, as it was stored: it fails if that is another."""
    path = str(tmp_path / "artifact")
    plain = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "first"), "GUARDCACHE_TORCH": "0"}
    subprocess.run([sys.executable, "-c", SAVED, path, form], env=plain, check=True, capture_output=True)
    script = "import torch\n" + around + LOADED.format(path=path, form=form) + COMPILED + ASKED
    output, errors = run(tmp_path, script)
    assert (output, errors) == ("True\n[2.0, 2.0]\nTrue {'no_key': 2}\n", "")


@pytest.mark.parametrize("autoload", ["0", "1"])
def test_a_first_compile_in_a_fresh_cache_leaves_the_others_to_guardcache(autoload: str, tmp_path: Path) -> None:
    script = (
        "from torch._inductor.utils import fresh_cache\n"
        "import torch\n"
        "with fresh_cache():\n    torch.compile(lambda x: x - 1)(torch.ones(2))\n"
        "torch._dynamo.reset()\n"
    )
    if autoload == "1":
        script = "import _guardcache_start as s; assert s.cancel()\n" + script
    told = "import guardcache.torch as g; print(g.statistics().stored, sum(g.statistics().passed_by.values()))\n"
    assert run(tmp_path, script + COMPILED + told, TORCH_DEVICE_BACKEND_AUTOLOAD=autoload) == ("[2.0, 2.0]\n2 2\n", "")


def test_artifacts_that_are_loaded_first_are_in_guardcache(tmp_path: Path) -> None:
    save = COMPILED + f"open({str(tmp_path / 'kept')!r}, 'wb').write(torch.compiler.save_cache_artifacts()[0])\n"
    run(tmp_path, save)
    load = f"import torch; torch.compiler.load_cache_artifacts(open({str(tmp_path / 'kept')!r}, 'rb').read())\n"
    told = "import guardcache.torch as g; print(g.statistics().stored, g.statistics().hits)\n"
    output, errors = run(tmp_path, load + COMPILED + told, GUARDCACHE_DIR=str(tmp_path / "other"))
    assert (output, errors) == ("[2.0, 2.0]\n2 2\n", "")
