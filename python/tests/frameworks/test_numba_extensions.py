"""What the program has taught numba: each pair of programs must be told the same, or differently.

numba's registries only grow, and each extension counts in all keys: so every program has a process of its own, forked
from one that has numba ready.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("numba")

HEAD = """
from numba import njit, types
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import (
    make_attribute_wrapper, models, overload, overload_attribute, overload_method, register_model, type_callable
)

def foo(a): pass
def bar(a): pass
def twice(a): return lambda a: a * 2
def thrice(a): return lambda a: a * 3
"""

SAME = {
    "nothing": ("", ""),
    "the turn of what is for different functions": (
        "overload(foo)(twice)\noverload(bar)(thrice)",
        "overload(bar)(thrice)\noverload(foo)(twice)",
    ),
    "comments": ("overload(foo)(twice)", "# Twice.\noverload(foo)(twice)"),
}

DIFFERENT = {
    "that there is one": ("", "overload(foo)(twice)"),
    "its code": ("overload(foo)(twice)", "overload(foo)(thrice)"),
    "what it reads": (
        "K = 1\n@overload(foo)\ndef one(a): return lambda a: a * K",
        "K = 2\n@overload(foo)\ndef one(a): return lambda a: a * K",
    ),
    "what is overloaded": (
        "overload(foo)(twice)\noverload(bar)(thrice)",
        "overload(bar)(twice)\noverload(foo)(thrice)",
    ),
    "whose turn comes first": (
        "overload(foo)(twice)\noverload(foo)(thrice)",
        "overload(foo)(thrice)\noverload(foo)(twice)",
    ),
    "its options": (
        "overload(foo, jit_options={'error_model': 'numpy'})(twice)",
        "overload(foo, jit_options={'error_model': 'python'})(twice)",
    ),
    "whether it is inlined": ("overload(foo)(twice)", "overload(foo, inline='always')(twice)"),
    "whether it is strict": ("overload(foo)(twice)", "overload(foo, strict=False)(twice)"),
    "whether it prefers literals": ("overload(foo)(twice)", "overload(foo, prefer_literal=True)(twice)"),
    "a method's name": (
        "overload_method(types.Array, 'foo')(twice)\noverload_method(types.Array, 'bar')(thrice)",
        "overload_method(types.Array, 'bar')(twice)\noverload_method(types.Array, 'foo')(thrice)",
    ),
    "a method's type": (
        "overload_method(types.Integer, 'foo')(twice)",
        "overload_method(types.Float, 'foo')(twice)",
    ),
    "an attribute's name": (
        "overload_attribute(types.Array, 'foo')(twice)",
        "overload_attribute(types.Array, 'bar')(twice)",
    ),
    "for which types code is": (
        "@lower_builtin(foo, types.int64)\ndef code(c, b, s, a): return a[0]",
        "@lower_builtin(foo, types.int32)\ndef code(c, b, s, a): return a[0]",
    ),
    "for which function code is": (
        "@lower_builtin(foo, types.int64)\ndef code(c, b, s, a): return a[0]",
        "@lower_builtin(bar, types.int64)\ndef code(c, b, s, a): return a[0]",
    ),
    "for which function a type is": (
        "@type_callable(foo)\ndef typed(context):\n    return lambda a: types.int64",
        "@type_callable(bar)\ndef typed(context):\n    return lambda a: types.int64",
    ),
    "an attribute's type": (
        "@infer_getattr\nclass Of(AttributeTemplate):\n    key = types.Array\n    def resolve_foo(self, a): return a",
        "@infer_getattr\nclass Of(AttributeTemplate):\n    key = types.List\n    def resolve_foo(self, a): return a",
    ),
    "a wrapped attribute": (
        "class Own(types.Type): pass\nmake_attribute_wrapper(Own, 'a', 'b')",
        "class Own(types.Type): pass\nmake_attribute_wrapper(Own, 'a', 'c')",
    ),
    "a type's model": (
        "class Own(types.Type): pass\nregister_model(Own)(models.OpaqueModel)",
        "class Own(types.Type): pass\n@register_model(Own)\nclass Model(models.OpaqueModel): pass",
    ),
}

CHILD = """
import json, os, sys
from guardcache.numba._extensions import Extensions
from guardcache.numba._unkeyed import Unkeyed

head, programs = json.load(sys.stdin)
exec(head, {})
for text in programs:
    if os.fork() == 0:
        exec(head + text, {"__name__": "program"})
        extensions = Extensions()
        try:
            told = [extensions.told(()) for _ in range(2)]
            assert told[0] == told[1]
            answer = json.dumps(told[0])
        except Unkeyed as unkeyed:
            answer = json.dumps("unkeyed: " + str(unkeyed))
        os.write(1, answer.encode() + b"\\n")
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def told() -> dict[str, object]:
    """By program."""
    programs = [text for pair in (*SAME.values(), *DIFFERENT.values(), (TWO,)) for text in pair]
    done = subprocess.run(
        [sys.executable, "-c", CHILD], input=json.dumps([HEAD, programs]), capture_output=True, text=True, check=True
    )
    return dict(zip(programs, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("name", SAME)
def test_what_does_not_count(told: dict[str, object], name: str) -> None:
    first, second = SAME[name]
    assert told[first] == told[second]


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_counts(told: dict[str, object], name: str) -> None:
    first, second = DIFFERENT[name]
    assert told[first] != told[second]
    assert "unkeyed" not in str(told[first])


TWO = "overload(foo)(twice)\ndef foo(a): pass\noverload(foo)(thrice)"


def test_two_that_look_the_same_are_not_told_apart(told: dict[str, object]) -> None:
    assert str(told[TWO]).startswith("unkeyed: extension: there are several program.foo")
