"""What counts about what a function reads, and what doesn't: each pair must have equal tellings, or different ones."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba")

from guardcache import Graph
from guardcache.numba._unkeyed import Unkeyed
from guardcache.numba._values import Walk

MODULE = """
import builtins, enum, math, signal, time, types
import collections
import numpy as np
from numba import njit

class Color(enum.Enum):
    RED = 1

Point = collections.namedtuple("Point", "x y")
helpers = types.ModuleType("helpers")
helpers.A, helpers.B = 1, 2
"""


def function(text: str, **names: Any) -> FunctionType:
    """The function `f` of a module's text."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(MODULE + text, scope)
    scope.update(names)
    found: FunctionType = getattr(scope["f"], "py_func", scope["f"])
    return found


def told(text: str, **names: Any) -> Any:
    return Walk().parts(function(text, **names))


def key(text: str) -> str:
    graph = Graph("numba")
    for name, value in told(text).items():
        graph.component(name, value)
    return graph.key


SAME = {
    "comments, lines, documentation": (
        "def f(x): return x + 1",
        "\n# Here.\ndef f(x):\n    'It adds.'\n    return x + 1",
    ),
    "its name": ("def f(x): return x + 1", "def g(x): return x + 1\nf = g"),
    "a callee's name": (
        "@njit\ndef g(x): return x\ndef f(x): return g(x)",
        "@njit\ndef h(x): return x\ndef f(x): return h(x)",
    ),
    "its own name, where it calls itself": (
        "@njit\ndef f(n): return n and f(n - 1)",
        "@njit\ndef g(n): return n and g(n - 1)\nf = g",
    ),
    "globals that it doesn't read": ("N = 1\ndef f(x): return x", "N = 2\ndef f(x): return x"),
    "what it doesn't read of a module": (
        "def f(x): return helpers.A",
        "helpers.B = 3\ndef f(x): return helpers.A",
    ),
}

DIFFERENT = {
    "a constant": ("def f(x): return x + 1", "def f(x): return x + 2"),
    "a constant's type": ("def f(x): return x + 1", "def f(x): return x + 1.0"),
    "the sign of zero": ("def f(x): return x * 0.0", "def f(x): return x * -0.0"),
    "truth and one": ("def f(x): return True", "def f(x): return 1"),
    "a number and its text": ("def f(x): return 1", "def f(x): return '1'"),
    "text and bytes": ("def f(x): return 'a'", "def f(x): return b'a'"),
    "a member of an enumeration and its number": (
        "N = signal.SIGINT\ndef f(x): return N",
        "N = 2\ndef f(x): return N",
    ),
    "a named tuple and a tuple": ("N = (1, 2)\ndef f(x): return N", "N = [1, 2]\ndef f(x): return N"),
    "NumPy's number": ("N = np.int32(1)\ndef f(x): return N", "N = np.int64(1)\ndef f(x): return N"),
    "an array's content": ("N = np.array([1, 2])\ndef f(x): return N", "N = np.array([1, 3])\ndef f(x): return N"),
    "an array's type": ("N = np.array([1, 2])\ndef f(x): return N", "N = np.array([1, 2], 'u8')\ndef f(x): return N"),
    "an array's shape": ("N = np.zeros((2, 3))\ndef f(x): return N", "N = np.zeros((3, 2))\ndef f(x): return N"),
    "an array's order": (
        "N = np.zeros((2, 3))\ndef f(x): return N",
        "N = np.zeros((2, 3), order='F')\ndef f(x): return N",
    ),
    "which global": ("N, M = 1, 2\ndef f(x): return N - M", "N, M = 1, 2\ndef f(x): return M - N"),
    "which global, in a function within": (
        "N, M = 1, 2\ndef f(x):\n    def g(): return N - M\n    return g()",
        "N, M = 1, 2\ndef f(x):\n    def g(): return M - N\n    return g()",
    ),
    "which callee, in a function within": (
        "@njit\ndef g(x): return x\n@njit\ndef h(x): return -x\ndef f(x):\n    def i(): return g(h(x))\n    return i()",
        "@njit\ndef g(x): return x\n@njit\ndef h(x): return -x\ndef f(x):\n    def i(): return h(g(x))\n    return i()",
    ),
    "which builtin": ("def f(x): return min(x)", "def f(x): return max(x)"),
    "which builtin, in a function within": (
        "def f(x):\n    def g(): return min(x)\n    return g()",
        "def f(x):\n    def g(): return max(x)\n    return g()",
    ),
    "which closure": (
        "def make(g, h): return lambda x: g(x) - h(x)\nf = make(njit(lambda x: x), njit(lambda x: -x))",
        "def make(g, h): return lambda x: g(x) - h(x)\nf = make(njit(lambda x: -x), njit(lambda x: x))",
    ),
    "a global and a callee": (
        "N = 1\n@njit\ndef g(x): return x\ndef f(x): return g(N)",
        "N = 1\n@njit\ndef g(x): return x\ndef f(x): return N(g)",
    ),
    "an operator": ("def f(x): return x + 1", "def f(x): return x - 1"),
    "a method": ("def f(x): return x.min()", "def f(x): return x.max()"),
    "an argument's name": ("def f(x): return 1", "def f(y): return 1"),
    "a default": ("def f(x=1): return x", "def f(x=2): return x"),
    "a keyword's default": ("def f(*, x=1): return x", "def f(*, x=2): return x"),
    "a closure": (
        "def make(k): return lambda x: x + k\nf = make(1)",
        "def make(k): return lambda x: x + k\nf = make(2)",
    ),
    "a function within": (
        "def f(x):\n    def g(y): return y + 1\n    return g(x)",
        "def f(x):\n    def g(y): return y + 2\n    return g(x)",
    ),
    "a callee's constant": (
        "@njit\ndef g(x): return x\ndef f(x): return g(x)",
        "@njit\ndef g(x): return -x\ndef f(x): return g(x)",
    ),
    "a callee's global": (
        "N = 1\n@njit\ndef g(x): return x + N\ndef f(x): return g(x)",
        "N = 2\n@njit\ndef g(x): return x + N\ndef f(x): return g(x)",
    ),
    "a callee's options": (
        "@njit\ndef g(x): return x\ndef f(x): return g(x)",
        "@njit(fastmath=True)\ndef g(x): return x\ndef f(x): return g(x)",
    ),
    "which callee": (
        "@njit\ndef g(x): return x\n@njit\ndef h(x): return -x\ndef f(x): return g(x) - h(x)",
        "@njit\ndef g(x): return x\n@njit\ndef h(x): return -x\ndef f(x): return h(x) - g(x)",
    ),
    "itself and another": (
        "@njit\ndef f(n): return n and f(n - 1)",
        "@njit\ndef g(n): return n\n@njit\ndef f(n): return n and g(n - 1)",
    ),
    "what it reads of a module": ("def f(x): return helpers.A", "helpers.A = 3\ndef f(x): return helpers.A"),
    "a builtin that is shadowed": ("def f(x): return abs(x)", "abs = math.sqrt\ndef f(x): return abs(x)"),
    "what a package's module has been given": (
        "time.KKK = 1\ndef f(x): return time.KKK",
        "time.KKK = 2\ndef f(x): return time.KKK",
    ),
    "what a module makes when it is asked": (
        "helpers.__getattr__ = lambda name: 1\ndef f(x): return helpers.C",
        "helpers.__getattr__ = lambda name: 2\ndef f(x): return helpers.C",
    ),
    "what has been put among the builtins": (
        "builtins.KKK = 1\ndef f(x): return KKK",
        "builtins.KKK = 2\ndef f(x): return KKK",
    ),
    "one function, jitted twice": (
        "def g(x): return x\na = njit(g)\nb = njit(g)\ndef f(x): return a(x) + b(x)",
        "def g(x): return x\na = njit(g)\nb = njit(error_model='numpy')(g)\ndef f(x): return a(x) + b(x)",
    ),
    "a dictionary among the options": (
        "@njit(parallel={'fusion': False})\ndef g(x): return x\ndef f(x): return g(x)",
        "@njit(parallel={'fusion': True})\ndef g(x): return x\ndef f(x): return g(x)",
    ),
    "for which types a callee was compiled": (
        "@njit('f8(f8)')\ndef g(x): return x\ndef f(x): return g(x)",
        "@njit('f4(f4)')\ndef g(x): return x\ndef f(x): return g(x)",
    ),
    "which function, where others look the same": (
        "def g(x): pass\ndef h(x): pass\ndef f(x): return g(x)",
        "def g(x): pass\ndef h(x): pass\ndef f(x): return h(x)",
    ),
    "which function of a module": (
        "helpers.g, helpers.h = njit(lambda x: x), njit(lambda x: -x)\ndef f(x): return helpers.g(helpers.h(x))",
        "helpers.g, helpers.h = njit(lambda x: -x), njit(lambda x: x)\ndef f(x): return helpers.g(helpers.h(x))",
    ),
    "a builtin of another module": ("g = math.sin\ndef f(x): return g(x)", "g = math.cos\ndef f(x): return g(x)"),
}


@pytest.mark.parametrize("name", SAME)
def test_what_does_not_count(name: str) -> None:
    first, second = SAME[name]
    assert key(first) == key(second)


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_counts(name: str) -> None:
    first, second = DIFFERENT[name]
    assert key(first) != key(second)


UNKEYED = {
    "an object": ("settings = object()\ndef f(x): return settings", "global settings"),
    "a dictionary": ("table = {}\ndef f(x): return table", "global table"),
    "an object in a tuple": ("items = (1, object())\ndef f(x): return items", "global items"),
    "an array of objects": ("items = np.array([None])\ndef f(x): return items", "global items"),
    "a large array": ("items = np.zeros(200_000)\ndef f(x): return items", "global items"),
    "a class of a script": ("def f(x): return Color.RED", "no other process finds"),
    "a random generator's method": ("draw = np.random.RandomState(1).rand\ndef f(x): return draw()", "global draw"),
    "functions that call each other": (
        "@njit\ndef f(n): return g(n)\n@njit\ndef g(n): return h(n)\n@njit\ndef h(n): return g(n)",
        "call each other",
    ),
    "a callee's pipeline": (
        "from numba.core.compiler import CompilerBase\n@njit(pipeline_class=CompilerBase)\ndef g(x): return x\n"
        "def f(x): return g(x)",
        "global g: it has a compiler pipeline of its own",
    ),
    "a module by itself": ("def f(x): return getattr(helpers, 'A')", "global helpers: a module is used otherwise"),
    "a module under another name": ("def f(x):\n    m = helpers\n    return m.A", "global helpers: a module"),
    "a module within a module": (
        "helpers.inner = types.ModuleType('inner')\ndef f(x): return helpers.inner",
        "global helpers.inner: a module",
    ),
    "a callee's object": ("it = object()\n@njit\ndef g(x): return it\ndef f(x): return g(x)", "global g: global it"),
    "a closure without a value": (
        "def make():\n    def f(): return k\n    return f\n    k = 1\nf = make()",
        "no value",
    ),
}


@pytest.mark.parametrize("name", UNKEYED)
def test_what_cannot_be_told(name: str) -> None:
    text, why = UNKEYED[name]
    with pytest.raises(Unkeyed, match=why):
        told(text)


def test_packages_count_by_their_versions() -> None:
    text = (
        "import random\ndef f(x): return np.sum(x) + np.linalg.norm(x) + np.random.rand() + random.random() + math.pi"
    )
    found = told(text)["globals"]
    assert found["np.sum"] == f"function numpy.sum of numpy {np.__version__}"
    assert found["np.linalg.norm"] == f"function numpy.linalg.norm of numpy {np.__version__}"
    assert found["np.random.rand"].startswith("numpy.random.rand, ")
    assert found["random.random"].startswith("random.random, ")
    assert found["math.pi"] == repr(math.pi)


def test_a_package_counts_by_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was edited keeps its version; its jitted functions count as the program's own do."""
    tellings = []
    for name, body in (("one", "return x + K"), ("two", "return x - K"), ("three", "return x - K")):
        folder = tmp_path / name / "site-packages"
        folder.mkdir(parents=True)
        source = "from numba import njit\n__version__ = '1'\nK = 1\ndef plain(x): return x\n@njit\ndef g(x): "
        (folder / "edited.py").write_text(source + body)
        monkeypatch.syspath_prepend(str(folder))
        sys.modules.pop("edited", None)
        text = "import edited\ndef f(x): return edited.plain(x)\nedited.K = 7\n"
        tellings.append((told(text), told(text.replace("plain", "g"))))
    (first, first_jitted), (second, second_jitted), third = tellings
    assert first != second
    assert first_jitted != second_jitted
    assert (second, second_jitted) == third
    assert second_jitted["globals"]["edited.g"]["globals"] == {"K": 7}


def test_a_module_of_the_program_is_not_pythons_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "this.py").write_text("K = 5\ndef g(x): return x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("this", None)
    found = told("import this\ndef f(x): return this.g(this.K)")["globals"]
    assert found["this.K"] == 5
    assert "code" in found["this.g"]
    del sys.modules["this"]


def test_what_says_it_is_a_packages_own_has_to_be_there() -> None:
    text = "def g(x): return x\ng.__module__, g.__qualname__ = 'numpy', 'sum'\ndef f(x): return g(x)"
    assert "functions" in told(text)
