"""numba's functions in a second process: found in any order, anywhere, under any name, and never served wrong."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("numba")

from numba_program import Told, finish, run, start

PROGRAM = """
import math
import numpy as np
from numba import njit

N = 3
TABLE = np.array([1.0, 2.0, 4.0])


@njit
def low(x):
    if x < 0:
        raise ValueError("too low")
    return x * 2.0 + N


@njit
def total(values):
    found = 0.0
    for value in values:
        found += low(value) + TABLE[1]
    return found


@njit(fastmath=True)
def dot(a, b):
    found = 0.0
    for i in range(len(a)):
        found += a[i] * b[i]
    return found


@njit
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def make(k):
    @njit
    def inner(x):
        return x + k

    return inner


one, five = make(1), make(5)


@njit
def twice(x):
    return x * 2


first_twice = twice


@njit
def twice(x):
    return x * 2.5


@njit
def numbers(n):
    for i in range(n):
        yield i * i


@njit
def squares(n):
    found = 0
    for square in numbers(n):
        found += square
    return found


@njit
def counted(n):
    return {"a": n}["a"]


@njit
def words(text):
    return text + "!"
"""

CALLS = [
    "counted(3)",
    "low(2.0)",
    "total(TABLE)",
    "dot(TABLE, TABLE)",
    "fibonacci(10)",
    "one(2)",
    "five(2)",
    "first_twice(3)",
    "twice(3)",
    "list(numbers(4))",
    "words('abc')",
    "squares(4)",
    "low(-1.0)",
]


class Stored:
    """The cache that the first process left, and what that process said."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.cache = base / "cache"
        self.plain = run(base / "plain", PROGRAM, CALLS, None).results
        self.first = run(base / "first", PROGRAM, CALLS, self.cache)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    return Stored(tmp_path_factory.mktemp("numba"))


def all_hit(told: Told) -> None:
    assert {label for label, outcome in told.outcomes().items() if outcome != "hit"} == set()
    assert told.lookups


def test_the_first_process_compiles_with_the_same_results(stored: Stored) -> None:
    assert stored.first.results == stored.plain
    assert set(stored.first.outcomes().values()) == {"miss"}


def test_a_second_process_hits_in_any_order(stored: Stored) -> None:
    told = run(stored.base / "first", PROGRAM, reversed(CALLS), stored.cache)
    assert told.results == stored.plain
    all_hit(told)


def test_moved_and_commented_functions_hit_and_raise_where_they_stand_now(stored: Stored, tmp_path: Path) -> None:
    text = "# Moved.\n\n\n" + PROGRAM.replace("    return x * 2.0", "    # Scaled.\n    return x * 2.0")
    told = run(tmp_path, text, CALLS, stored.cache, module="elsewhere")
    all_hit(told)
    line = 1 + text[: text.index("raise ValueError")].count("\n")
    assert told.results.pop("low(-1.0)") == f"ValueError('too low') elsewhere.py:{line} low"
    assert told.results == {call: result for call, result in stored.plain.items() if call != "low(-1.0)"}


def test_renamed_functions_hit(stored: Stored, tmp_path: Path) -> None:
    def renamed(text: str) -> str:
        return text.replace("low(", "lower(").replace("total(", "sum_of(").replace("fibonacci(", "fib(")

    told = run(tmp_path, renamed(PROGRAM), [renamed(call) for call in CALLS[:-1]], stored.cache)
    assert list(told.results.values()) == list(stored.plain.values())[:-1]
    all_hit(told)


def test_what_is_compiled_later_links_what_was_found(stored: Stored, tmp_path: Path) -> None:
    text = PROGRAM + "\n\n@njit\ndef later(x):\n    return low(x) + total(TABLE) + fibonacci(5) + squares(3)\n"
    calls = ["low(2.0)", "total(TABLE)", "fibonacci(3)", "list(numbers(4))", "later(1.0)"]
    told = run(tmp_path, text, calls, stored.cache)
    assert told.outcomes().pop("later(float64)") == "miss"
    assert told.results["later(1.0)"] == "44.0"
    again = run(tmp_path, text, ["later(1.0)"], stored.cache)
    assert again.results["later(1.0)"] == "44.0"


CHANGES = {
    "a global": ("N = 3", "N = 4", "low(float64)", "globals.N"),
    "an array": ("2.0, 4.0]", "2.5, 4.0]", "total(array(float64, 1d, C))", "globals.TABLE"),
    "an option": ("fastmath=True", "fastmath=False", "dot(array", "options.fastmath"),
    "a callee": ("x * 2.0 + N", "x * 3.0 + N", "total(array(float64, 1d, C))", "functions.callee 1.literals"),
    "a closure": ("make(5)", "make(6)", "make.<locals>.inner(int64)", "closure.k"),
}


def test_what_has_changed_is_compiled_and_named(stored: Stored, tmp_path: Path) -> None:
    text = PROGRAM
    for old, new, _, _ in CHANGES.values():
        assert old in text
        text = text.replace(old, new)
    told = run(tmp_path, text, CALLS, stored.cache)
    assert told.results["total(TABLE)"] == "42.0"
    assert told.results["five(2)"] == "8"
    for _, _, label, path in CHANGES.values():
        explained = [part for part in told.explained.split("miss: ") if label in part]
        assert any(path in part for part in explained), f"{path}: {told.explained}"
    assert told.outcomes()["fibonacci(int64)"] == "hit"


def test_another_machine_or_version_is_named(stored: Stored) -> None:
    before = "from guardcache.numba import _description as d; found = {**d._versions(), 'llvmlite': '0.1'}; "
    before += "d._versions = lambda: found"
    told = run(stored.base / "first", PROGRAM, ["low(2.0)"], stored.cache, before=before)
    assert told.results["low(2.0)"] == stored.plain["low(2.0)"]
    assert told.outcomes() == {"low(float64)": "miss"}
    assert "environment.llvmlite" in told.explained
    told = run(stored.base / "first", PROGRAM, ["low(2.0)"], stored.cache, NUMBA_CPU_NAME="generic")
    assert told.outcomes() == {"low(float64)": "miss"}
    assert "environment.cpu" in told.explained


ASIDE = """
import ctypes
import numpy as np
from numba import njit, objmode, prange, vectorize, cfunc
from numba.extending import overload

sin = ctypes.CDLL("libm.so.6").sin
sin.restype, sin.argtypes = ctypes.c_double, [ctypes.c_double]


class Settings:
    scale = 2


settings = Settings()
BIG = np.zeros(200_000)


@njit
def calls_c(x):
    return sin(x)


@njit
def large():
    return BIG.sum()


@njit
def even(n):
    return True if n == 0 else odd(n - 1)


@njit
def odd(n):
    return False if n == 0 else even(n - 1)


@njit
def as_python(n):
    with objmode(found="int64"):
        found = len(str(n))
    return found


@njit
def apply(f, x):
    return f(x)


@njit
def raises(x):
    if x:
        raise Own("no")
    return x


class Own(Exception):
    pass


@vectorize
def ufunc(x):
    return x + 1


@cfunc("float64(float64)")
def callback(x):
    return x + 1


@njit(parallel=True)
def parallel(values):
    found = 0.0
    for i in prange(len(values)):
        found += values[i]
    return found
"""

ASIDE_CALLS = [
    "calls_c(0.5)",
    "large()",
    "even(4)",
    "odd(4)",
    "as_python(1234)",
    "apply(odd, 3)",
    "raises(1)",
    "ufunc(np.arange(3.0))",
    "callback.ctypes(1.0)",
    "parallel(np.arange(5.0))",
]


def test_what_cannot_be_shared_is_compiled_and_says_why(tmp_path: Path) -> None:
    first = run(tmp_path, ASIDE, ASIDE_CALLS, tmp_path / "cache")
    told = run(tmp_path, ASIDE, ASIDE_CALLS, tmp_path / "cache")
    assert told.results == first.results
    assert told.results["calls_c(0.5)"] == repr(math.sin(0.5))
    assert told.outcomes()["parallel(array(float64, 1d, C))"] == "hit"
    why = {label.partition(" ")[2]: f"{reason} {note}" for _, label, reason, note in told.lookups}
    assert "global sin" in why["calls_c(float64)"]
    assert "global BIG: an array of this size" in why["large()"]
    assert "call each other" in why["even(int64)"]
    assert "global objmode" in why["as_python(int64)"]
    assert "argument 0" in next(reason for label, reason in why.items() if label.startswith("apply("))


CHANGING = """
from numba import njit

N = 1


@njit
def inner(x):
    return x + N


@njit
def outer(x):
    return inner(x) * 10


def change(n):
    global N
    N = n
"""


def test_a_caller_of_what_was_compiled_before_a_change_is_not_stored(tmp_path: Path) -> None:
    first = run(tmp_path, CHANGING, ["inner(1)", "change(2)", "outer(1)"], tmp_path / "cache")
    assert first.results["outer(1)"] == "20", "numba freezes what inner read"
    assert first.reasons("bypass") == ["global inner: inner was compiled before what it reads has changed"]
    second = run(tmp_path, CHANGING, ["change(2)", "outer(1)"], tmp_path / "cache")
    assert second.results["outer(1)"] == "30"


EXTENDED = """
from numba import njit
from numba.extending import overload


def scale(x):
    return x


@overload(scale)
def overload_scale(x):
    return lambda x: x * 2


@njit
def scaled(x):
    return scale(x)
"""


def test_an_edited_overload_is_never_served_from_before(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert run(tmp_path, EXTENDED, ["scaled(4)"], cache).results == {"scaled(4)": "8"}
    told = run(tmp_path, EXTENDED, ["scaled(4)"], cache)
    all_hit(told)
    told = run(tmp_path, EXTENDED.replace("x * 2", "x * 3"), ["scaled(4)"], cache)
    assert told.results == {"scaled(4)": "12"}
    assert "extensions.program.scale" in told.explained


def test_the_environment_variable_installs_it_before_the_first_function(tmp_path: Path) -> None:
    text = PROGRAM + "\n\n@njit('float64(float64)')\ndef eager(x):\n    return x + N\n"
    started = {"GUARDCACHE_NUMBA": "1", "GUARDCACHE_DIR": str(tmp_path / "cache")}
    for outcome in ("miss", "hit"):
        told = run(tmp_path, text, ["low(2.0)", "eager(1.0)"], None, **started)
        assert told.outcomes() == {"eager(float64)": outcome, "low(float64)": outcome}


def test_without_the_variable_nothing_of_it_is_imported() -> None:
    code = "import sys; from numba import njit; njit(lambda x: x)(1); print('guardcache' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_processes_that_want_the_same_compile_it_once(tmp_path: Path) -> None:
    calls = ["total(TABLE)", "words('abc')"]
    together = [start(tmp_path, PROGRAM, calls, tmp_path / "cache") for _ in range(2)]
    told = [finish(process) for process in together]
    assert len({str(sorted(one.results.items())) for one in told}) == 1
    assert [one.outcomes()["words(unicode_type)"] for one in told].count("miss") == 1


def test_one_that_is_killed_while_it_compiles_holds_nobody_up(tmp_path: Path) -> None:
    before = """
from numba.core import compiler
original = compiler.compile_extra
def slow(*a, **k):
    print("compiling", flush=True)
    import time; time.sleep(60)
compiler.compile_extra = slow
"""
    victim = start(tmp_path, PROGRAM, ["low(2.0)"], tmp_path / "cache", before=before)
    assert victim.stdout is not None
    assert victim.stdout.readline() == "compiling\n"
    waiting = start(tmp_path, PROGRAM, ["low(2.0)"], tmp_path / "cache")
    time.sleep(1)
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    began = time.monotonic()
    assert finish(waiting).results == {"low(2.0)": "7.0"}
    assert time.monotonic() - began < 30


def test_a_full_disk_costs_the_caching_only(tmp_path: Path) -> None:
    before = """
import os, resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))
"""
    told = run(tmp_path, PROGRAM, ["words('abc')"], tmp_path / "cache", before=before)
    assert told.results == {"words('abc')": "'abc!'"}
    assert [note for _, label, _, note in told.lookups if note], told.lookups


def test_a_flipped_bit_is_compiled_again_and_told(stored: Stored, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    run(tmp_path, PROGRAM, ["total(TABLE)"], cache)
    for file in (path for path in cache.rglob("*") if path.is_file() and path.stat().st_size > 2000):
        content = bytearray(file.read_bytes())
        if b"\x7fELF" in content:
            content[content.index(b"\x7fELF") + 600] ^= 4
            file.write_bytes(content)
    told = run(tmp_path, PROGRAM, ["total(TABLE)"], cache)
    assert told.results == {"total(TABLE)": stored.plain["total(TABLE)"]}
    assert set(told.reasons("miss")) == {"corrupt"}
