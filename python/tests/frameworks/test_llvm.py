"""Modules of llvmlite in a second process: found under other names, run under the names that were asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

import llvmlite.binding as ll

from guardcache.llvm._elf import NotAnObjectError, Object

# A function with a number that numba would give it, its callee in a module of its own, and one that calls both.
CHILD = """
import ctypes, json, sys
import guardcache.llvm
cache, number, options, factor = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4]
guardcache.llvm.install(cache)
import llvmlite.binding as ll
ll.initialize_native_target()
ll.initialize_native_asmprinter()
tag = f"B{len(number) + 1}v{number}B2ab"
inner = f"define double @_ZN1m5inner{tag}E(double %x) {{ %a = fmul double %x, {factor} ret double %a }}"
outer = f'''
declare double @sin(double)
declare double @_ZN1m5inner{tag}E(double)
define double @_ZN1m5outer{tag}E(double %x) {{
  %a = call double @_ZN1m5inner{tag}E(double %x)
  %b = call double @sin(double %a)
  ret double %b
}}
define double @plain(double %x) {{
  %a = call double @_ZN1m5outer{tag}E(double %x)
  ret double %a
}}
'''
machine = ll.Target.from_default_triple().create_target_machine(jit=True, **options)
engine = ll.create_mcjit_compiler(ll.parse_assembly(""), machine)
heard = []
if options.get("opt") == 1:
    engine.set_object_cache(lambda module, code: heard.append(len(code)), lambda module: None)
for text in (inner, outer):
    engine.add_module(ll.parse_assembly(text))
engine.finalize_object()
results = {}
for name in (f"_ZN1m5inner{tag}E", f"_ZN1m5outer{tag}E", "plain"):
    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(engine.get_function_address(name))
    results[name] = call(0.5).hex()
lookups = [(one.outcome, one.label, one.reason) for one in guardcache.llvm.current().lookups if "m5" in one.label]
told = {"results": list(results.values()), "lookups": lookups, "explained": guardcache.llvm.explain(9), "heard": heard}
print(json.dumps(told))
"""


@dataclass
class Told:
    results: list[str]
    lookups: list[tuple[str, str, str]]
    explained: str
    heard: list[int]

    def outcomes(self) -> list[str]:
        return [outcome for outcome, _, _ in self.lookups]


def run(cache: Path, number: int, *, factor: str = "2.0", **options: object) -> Told:
    arguments = [str(cache), str(number), json.dumps(options), factor]
    done = subprocess.run([sys.executable, "-c", CHILD, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    return Told(told["results"], told["lookups"], told["explained"], told["heard"])


def test_modules_are_found_under_other_names(tmp_path: Path) -> None:
    first = run(tmp_path, 7)
    assert first.outcomes() == ["miss", "miss"]
    for number in (7, 1234):
        told = run(tmp_path, number)
        assert told.outcomes() == ["hit", "hit"]
        assert told.results == first.results, "what it refers to has the new names, too"


def test_what_differs_is_named(tmp_path: Path) -> None:
    first = run(tmp_path, 7)
    for options, path in (({"opt": 0}, "options.opt"), ({"features": "-avx2"}, "options.features")):
        told = run(tmp_path, 7, **options)
        assert told.outcomes() == ["miss", "miss"]
        assert path in told.explained
        assert told.results == first.results
    changed = run(tmp_path, 7, factor="3.0")
    assert sorted(changed.outcomes()) == ["hit", "miss"]
    assert changed.results[0] == (1.5).hex()


def test_a_cache_of_the_programs_own_hears_of_every_object(tmp_path: Path) -> None:
    for _ in range(2):
        assert len(run(tmp_path, 7, opt=1).heard) >= 2


@pytest.fixture(scope="module")
def code() -> bytes:
    ll.initialize_native_target()
    ll.initialize_native_asmprinter()
    module = ll.parse_assembly(
        "declare void @other() @table = global i32 5 define void @f() { call void @other() ret void }"
        "define weak void @g() { ret void } define internal void @h() noinline { ret void }"
    )
    machine = ll.Target.from_default_triple().create_target_machine()
    made: bytes = machine.emit_object(module)
    return made


def test_symbols_are_read_and_renamed(code: bytes) -> None:
    object = Object(code)
    assert set(object.defined()) == {"f", "g", "table"}
    assert set(object.strong()) == {"f", "table"}
    assert "other" in object.undefined()
    renamed = Object(object.renamed(lambda name: f"a much longer name than {name}"))
    assert set(renamed.defined()) == {f"a much longer name than {name}" for name in ("f", "g", "table")}
    assert (
        Object(renamed.renamed(lambda name: name.removeprefix("a much longer name than "))).defined()
        == object.defined()
    )
    assert object.renamed(lambda name: name) is code


def test_damaged_objects_are_refused_or_read_within_bounds(code: bytes) -> None:
    for content in (b"", b"\x7fELF", code[:40], code[: len(code) // 2], b"MZ" + code[2:]):
        with pytest.raises(NotAnObjectError):
            Object(content)
    for place in range(0, len(code), 3):
        flipped = bytearray(code)
        flipped[place] ^= 0xFF
        try:
            Object(bytes(flipped)).renamed(str.upper)
        except NotAnObjectError:
            continue
