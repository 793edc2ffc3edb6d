"""The package as a whole: the command, the type marker, what it costs when nothing is wanted of it."""

from __future__ import annotations

import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

import guardcache


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)


def test_the_command_runs() -> None:
    done = run("-m", "guardcache", "--version")
    assert done.returncode == 0
    assert guardcache.__version__ in done.stdout


def test_the_commands_exit_status_is_passed_on(tmp_path: Path) -> None:
    assert run("-m", "guardcache", "key", str(tmp_path / "missing.json")).returncode == 2


def test_types_are_shipped() -> None:
    assert resources.files("guardcache").joinpath("py.typed").is_file()


def test_public_names_exist_and_are_documented() -> None:
    for name in guardcache.__all__:
        public = getattr(guardcache, name)
        if isinstance(public, type) and public.__module__.startswith("guardcache._"):
            assert public.__doc__, name


@pytest.mark.parametrize("heavy", ["torch", "asyncio", "difflib"])
def test_importing_the_package_does_not_import_what_it_may_not_need(heavy: str) -> None:
    assert run("-c", f"import guardcache, sys; sys.exit({heavy!r} in sys.modules)").returncode == 0


def test_every_module_is_installed() -> None:
    """meson.build lists them one by one."""
    source = Path(__file__).parents[1] / "src"
    installed = Path(str(resources.files("guardcache"))).parent
    wanted = {path.relative_to(source) for path in source.rglob("*") if path.suffix in (".py", ".pyi", ".pth")}
    assert [str(path) for path in sorted(wanted) if not (installed / path).is_file()] == []
