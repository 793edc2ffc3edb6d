"""What a second process asks for after the program has changed: each call gives what the program says now.

All changes are made at once: a process before, and one after.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

pytest.importorskip("numba")

from numba_program import finish, run, start

PROGRAM = """
import time

import numpy as np
from numba import jit, njit

import lazy
import own
import statistics

A, B = 1, 2


@njit
def double(x):
    return x * 2


def divide(a, b):
    return a / b


as_python = njit(divide)
as_numpy = njit(error_model="numpy")(divide)
T = (double, as_python)


@njit
def of_a_module_like_pythons(x):
    return statistics.area(x) + statistics.K


@njit
def of_the_time_zone():
    return time.timezone


@njit
def of_what_is_made_on_demand():
    return lazy.K


@njit
def of_an_enumeration():
    return own.Color.C.value


@njit
def of_a_flag():
    return own.Flags.AB.value


def collector():
    found = []

    @jit(forceobj=True)
    def collect(x):
        found.append(x)
        return len(found)

    return collect, found


collect, found = collector()
"""

BEFORE = """
@njit
def of_builtins(x, y):
    return min(x, y)


@njit
def of_globals():
    return A - B


@njit
def of_functions(x):
    return double(x) - abs(x)


@njit
def of_functions_within(x):
    def first(y):
        return y * A

    def second(y):
        return y * B

    return first(x) + 10 * second(x)


@njit
def of_options(x):
    return as_numpy(1.0, x) + as_numpy(1.0, x)
"""

CHANGED = (
    ("min(x, y)", "max(x, y)"),
    ("A - B", "B - A"),
    ("double(x) - abs(x)", "abs(x) - double(x)"),
    ("y * A", "y * C"),
    ("y * B", "y * A"),
    ("y * C", "y * B"),
    ("as_numpy(1.0, x) + as_numpy", "as_numpy(1.0, x) + as_python"),
)

MODULES = {
    "statistics": ("from numba import njit\nK = {}\n@njit\ndef area(x): return x * K\n", ("1", "2")),
    "lazy": ("def __getattr__(name):\n    if name == 'K': return {}\n    raise AttributeError(name)\n", ("1", "2")),
    "own": (
        "import enum\nclass Color(enum.Enum):\n    A = 1\n    B = 2\n    C = {}\n"
        "class Flags(enum.IntFlag):\n    A = 1\n    B = 2\n    D = 4\n    AB = {}\n",
        ("1", "2"),
    ),
}

# Call, its result before and after.
CALLS = {
    "of_builtins(1, 2)": ("1", "2"),
    "of_globals()": ("-1", "1"),
    "of_functions(3)": ("3", "-3"),
    "of_functions_within(1)": ("21", "12"),
    "of_options(0.0)": ("inf", "ZeroDivisionError"),
    "of_a_module_like_pythons(1)": ("2", "4"),
    "of_the_time_zone()": ("0", "18000"),
    "of_what_is_made_on_demand()": ("1", "2"),
    "of_an_enumeration()": ("1", "2"),
    "of_a_flag()": ("3", "5"),
    "collect(1)": ("1", "1"),
    "len(found)": ("1", "1"),
}


def test_each_gives_what_the_program_says_now(tmp_path: Path) -> None:
    for turn, zone in enumerate(("UTC", "EST5")):
        folder = tmp_path / str(turn)
        folder.mkdir()
        for name, (text, values) in MODULES.items():
            (folder / f"{name}.py").write_text(text.replace("{}", values[turn], 1).replace("{}", ("3", "5")[turn]))
        text = BEFORE
        for old, new in CHANGED * turn:
            assert old in text
            text = text.replace(old, new)
        told = run(folder, PROGRAM + text, CALLS, tmp_path / "cache", TZ=zone)
        for call, results in CALLS.items():
            assert told.results[call].startswith(results[turn]), call
        assert "closure variable found: code that runs as Python would get a copy of it" in told.reasons("bypass")
        assert told.outcomes()["double(int64)"] == ("hit" if turn else "miss")


MADE = """
from numba import njit

def make(name, lines, file):
    text = "\\n" * lines + f"@njit\\ndef {name}(x):\\n    if x > 0:\\n        raise ValueError('bad')\\n    return x\\n"
    scope = {"njit": njit}
    exec(compile(text, file, "exec"), scope)
    return scope[name]
"""


def test_equal_functions_raise_each_at_its_own_place(tmp_path: Path) -> None:
    first = run(tmp_path, MADE + "\nf = make('alpha', 0, 'one.py')\n", ["f(1)"], tmp_path / "cache")
    assert first.results == {"f(1)": "ValueError('bad') one.py:4 alpha"}
    text = MADE + "f, g = make('beta', 5, 'one.py'), make('alpha', 9, 'two.py')\nh = make('alpha', 0, 'one.py')\n"
    text += "\n@njit\ndef calls(x):\n    return g(x)\n"
    told = run(tmp_path, text, ["f(0)", "g(0)", "h(0)", "f(1)", "g(1)", "h(1)", "calls(1)"], tmp_path / "cache")
    assert list(told.outcomes().values()).count("hit") == 2, "two of them have one label"
    assert told.results["f(1)"] == "ValueError('bad') one.py:9 beta"
    assert told.results["g(1)"] == told.results["calls(1)"] == "ValueError('bad') two.py:13 alpha"
    assert told.results["h(1)"] == "ValueError('bad') one.py:4 alpha"


ASKED_FOR = """
import math

from numba import njit


@njit
def one(x):
    return x + 1


@njit(cache=True)
def area(x):
    return x * getattr(math, "pi")
"""


def test_numbas_own_cache_has_what_cannot_be_told(tmp_path: Path) -> None:
    calls = ["area(1.0)", "sum(area.stats.cache_hits.values())"]
    for hits in ("0", "1"):
        told = run(tmp_path, ASKED_FOR, calls, tmp_path / "cache")
        assert list(told.results.values()) == [repr(math.pi), hits]
        assert told.reasons("bypass") == ["global math: a module is used otherwise than by its attributes"]


def test_one_that_is_stopped_holds_nobody_up_for_long(tmp_path: Path) -> None:
    slow = """
from numba.core import compiler
original = compiler.compile_extra
def slow(*a, **k):
    print("compiling", flush=True)
    import time; time.sleep(60)
compiler.compile_extra = slow
"""
    impatient = "from guardcache.numba import _functions; assert _functions._PATIENCE <= 10; _functions._PATIENCE = 1"
    stopped = start(tmp_path, ASKED_FOR, ["one(1)"], tmp_path / "cache", before=slow)
    try:
        assert stopped.stdout is not None
        assert stopped.stdout.readline() == "compiling\n"
        told = run(tmp_path, ASKED_FOR, ["one(1)"], tmp_path / "cache", before=impatient)
        assert told.results == {"one(1)": "2"}
        assert told.reasons("miss") == ["lease_timeout"]
    finally:
        stopped.kill()
        stopped.communicate()


EACH_OTHERS = """
import os
import pathlib
import time

from numba import njit, types
from numba.extending import overload


def other(x):
    pass


@overload(other)
def overload_other(x):
    return (lambda x: x + 0.5) if isinstance(x, types.Integer) else (lambda x: int(x))


def both(x):
    pass


@overload(both)
def overload_both(x):
    here = pathlib.Path(__file__).parent
    (here / os.environ["ME"]).touch()
    limit = time.monotonic() + 20
    while not ((here / "a").exists() and (here / "b").exists()) and time.monotonic() < limit:
        time.sleep(0.05)
    return lambda x: x


@njit
def f(x, n):
    if n <= 0:
        return both(x) * 1.0
    return f(other(x), n - 1)
"""


def test_two_that_need_what_the_other_compiles_do_not_wait_for_each_other(tmp_path: Path) -> None:
    calls = {"a": "f(1, 3)", "b": "f(1.5, 3)"}
    both = [start(tmp_path, EACH_OTHERS, [call], tmp_path / "cache", ME=me) for me, call in calls.items()]
    assert [list(finish(process).results.values()) for process in both] == [["1.5"], ["1.0"]]
