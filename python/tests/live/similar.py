# ruff: noqa: E501  (programs, a line each)
"""Functions that are hard to tell apart: of one name, on one line, with one text or nearly so, and other results.

A variation is a text with a number in it, of which K is what the result depends on; each is a file `work.py`, beside
it `helper.py`. Nothing in them needs a C++ compiler: their graphs are matrix products of slices.

python similar.py DIRECTORY '["variation:number", ..]' compiles each and says what it gave, and what it must give.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

NUMBERS = range(6)

_HELPER = "import torch\ndef part(x, k=0):\n    return torch.mm(x[k:k + 2], x)\n"

# What stands in work.py; `target` is compiled and called with x. Of pairs, the second is helper.py.
VARIATIONS: dict[str, str | tuple[str, str]] = {
    "literal": "def target(x):\n    return torch.mm(x[K:K + 2], x)\n",
    "global": "k = K\ndef target(x):\n    return torch.mm(x[k:k + 2], x)\n",
    "global list": "k = [0, K]\ndef target(x):\n    return torch.mm(x[k[1]:k[1] + 2], x)\n",
    "global dictionary": "k = {'a': K}\ndef target(x):\n    return torch.mm(x[k['a']:k['a'] + 2], x)\n",
    "global tuple": "k = ((K,),)\ndef target(x):\n    return torch.mm(x[k[0][0]:k[0][0] + 2], x)\n",
    "global string": "k = 'a' * K\ndef target(x):\n    return torch.mm(x[len(k):len(k) + 2], x)\n",
    "default": "def target(x, k=K):\n    return torch.mm(x[k:k + 2], x)\n",
    "keyword default": "def target(x, *, k=K):\n    return torch.mm(x[k:k + 2], x)\n",
    "closure": "def make(k):\n    def f(x):\n        return torch.mm(x[k:k + 2], x)\n    return f\ntarget = make(K)\n",
    "closed function": (
        "def make(k):\n    def part(x):\n        return x[k:k + 2]\n    def f(x):\n        return torch.mm(part(x), x)\n"
        "    return f\ntarget = make(K)\n"
    ),
    "chosen function": (
        "def a(x):\n    return torch.mm(x[:2], x)\ndef b(x):\n    return torch.mm(x[2:4], x)\ndef c(x):\n"
        "    return torch.mm(x[4:6], x)\nchosen = [a, b, c][K % 3]\ndef target(x):\n    return chosen(x) * 1\n"
    ).replace(" * 1", ""),
    "callee": ("def part(x):\n    return torch.mm(x[K:K + 2], x)\ndef target(x):\n    return part(x)\n"),
    "callee's default": "def part(x, k=K):\n    return torch.mm(x[k:k + 2], x)\ndef target(x):\n    return part(x)\n",
    "callee's global": "k = K\ndef part(x):\n    return torch.mm(x[k:k + 2], x)\ndef target(x):\n    return part(x)\n",
    "other module": (
        "import helper\ndef target(x):\n    return helper.part(x)\n",
        "import torch\ndef part(x):\n    return torch.mm(x[K:K + 2], x)\n",
    ),
    "other module's global": (
        "from helper import part\ndef target(x):\n    return part(x)\n",
        "import torch\nk = K\ndef part(x):\n    return torch.mm(x[k:k + 2], x)\n",
    ),
    "other module's constant": (
        "import helper\ndef target(x):\n    return torch.mm(x[helper.k:helper.k + 2], x)\n",
        "k = K\n",
    ),
    "decorator": (
        "import functools\ndef shifted(k):\n    def decorate(f):\n        @functools.wraps(f)\n        def inner(x):\n"
        "            return f(x[k:])\n        return inner\n    return decorate\n@shifted(K)\ndef target(x):\n"
        "    return torch.mm(x[:2], x.new_ones(8, 8)[:, :8])\n"
    ).replace("x.new_ones(8, 8)[:, :8]", "x[:1].t().mm(x[:1])"),
    "decorators": (
        "import functools\ndef plain(f):\n    return f\ndef other(f):\n    @functools.wraps(f)\n    def inner(x):\n"
        "        return f(x[K:])\n    return inner\n@(plain if K % 2 else other)\ndef target(x):\n"
        "    return torch.mm(x[:1].t(), x[:1])\n"
    ),
    "method": "class C:\n    def f(self, x):\n        return torch.mm(x[K:K + 2], x)\ntarget = C().f\n",
    "class attribute": "class C:\n    k = K\n    def f(self, x):\n        return torch.mm(x[self.k:self.k + 2], x)\n"
    "target = C().f\n",
    "instance attribute": "class C:\n    def __init__(self, k):\n        self.k = k\n    def f(self, x):\n"
    "        return torch.mm(x[self.k:self.k + 2], x)\ntarget = C(K).f\n",
    "called method": "class C:\n    def g(self, x):\n        return x[K:K + 2]\n    def f(self, x):\n"
    "        return torch.mm(self.g(x), x)\ntarget = C().f\n",
    "base class": "class B:\n    def g(self, x):\n        return x[K:K + 2]\nclass C(B):\n    def f(self, x):\n"
    "        return torch.mm(self.g(x), x)\ntarget = C().f\n",
    "property": "class C:\n    @property\n    def k(self):\n        return K\n    def f(self, x):\n"
    "        return torch.mm(x[self.k:self.k + 2], x)\ntarget = C().f\n",
    "static method": "class C:\n    @staticmethod\n    def g(x):\n        return x[K:K + 2]\ndef target(x):\n"
    "    return torch.mm(C.g(x), x)\n",
    "class method": "class C:\n    @classmethod\n    def g(cls, x):\n        return x[K:K + 2]\ndef target(x):\n"
    "    return torch.mm(C.g(x), x)\n",
    "patched instance": "class C:\n    def g(self, x):\n        return x[:2]\n    def f(self, x):\n"
    "        return torch.mm(self.g(x), x)\nc = C()\nc.g = lambda x: x[K:K + 2]\ntarget = c.f\n",
    "module": "class M(torch.nn.Module):\n    def forward(self, x):\n        return torch.mm(x[K:K + 2], x)\ntarget = M()\n",
    "module's attribute": "class M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.k = K\n"
    "    def forward(self, x):\n        return torch.mm(x[self.k:self.k + 2], x)\ntarget = M()\n",
    "inner module": "class N(torch.nn.Module):\n    def forward(self, x):\n        return torch.mm(x[K:K + 2], x)\n"
    "class M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.n = N()\n"
    "    def forward(self, x):\n        return self.n(x)\ntarget = M()\n",
    "patched forward": "class M(torch.nn.Module):\n    def forward(self, x):\n        return torch.mm(x[:2], x)\n"
    "target = M()\ntarget.forward = lambda x: torch.mm(x[K:K + 2], x)\n",
    "hook": "class N(torch.nn.Module):\n    def forward(self, x):\n        return x[:6]\n"
    "class M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.n = N()\n"
    "    def forward(self, x):\n        return torch.mm(self.n(x).t(), x[:6])\ntarget = M()\nif K:\n"
    "    target.n.register_forward_hook(lambda module, inputs, output: output.roll(K, 1)[:, :8])\n".replace(
        "output.roll(K, 1)[:, :8]", "inputs[0][2 - K % 3:8 - K % 3]"
    ),
    "partial": "import functools\ndef part(x, k):\n    return torch.mm(x[k:k + 2], x)\nf = functools.partial(part, k=K)\n"
    "def target(x):\n    return f(x)\n",
    "lambda": "f = lambda x: torch.mm(x[K:K + 2], x)\ndef target(x):\n    return f(x)\n",
    "shadowed builtin": "def len(x):\n    return K\ndef target(x):\n    return torch.mm(x[len(x):len(x) + 2], x)\n",
    "enumeration": "import enum\nclass E(enum.Enum):\n    A = K\ne = E.A\ndef target(x):\n"
    "    return torch.mm(x[e.value:e.value + 2], x)\n",
    "dataclass": "import dataclasses\n@dataclasses.dataclass\nclass D:\n    k: int = K\nd = D()\ndef target(x):\n"
    "    return torch.mm(x[d.k:d.k + 2], x)\n",
    "named tuple": "from collections import namedtuple\nt = namedtuple('T', 'a b')(1, K)\ndef target(x):\n"
    "    return torch.mm(x[t.b:t.b + 2], x)\n",
    "true or one": "k = [0, False, 1, True, 1.0, 0.0][K]\ndef target(x):\n"
    "    return torch.mm(x[:1].t(), x[:1]) if type(k) is bool else torch.mm(x[:2], x) if type(k) is int else x.mm(x)\n",
    "flag": "use = K % 2 == 0\ndef target(x):\n    return torch.mm(x, x) if use else torch.mm(x[K:K + 2], x)\n",
    "autograd function": "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        return torch.mm(x[K:K + 2], x)\n    @staticmethod\n    def backward(ctx, g):\n        return None\n"
    "def target(x):\n    return F.apply(x)\n",
    "graph break": "k = K\ndef target(x):\n    y = torch.mm(x, x)\n    torch._dynamo.graph_break()\n"
    "    return torch.mm(y[k:k + 2], x)\n",
    "patched torch": "import torch.nn.functional as F\ndef linear(x, w, bias=None):\n    return torch.mm(x[K:K + 2], w)\n"
    "if K:\n    F.linear = linear\nclass M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.n = torch.nn.Linear(8, 8, bias=False)\n        torch.nn.init.eye_(self.n.weight)\n"
    "    def forward(self, x):\n        return self.n(x)\ntarget = M()\n",
}


def cases() -> list[str]:
    return [f"{name}:{number}" for name in VARIATIONS for number in NUMBERS]


def write(directory: Path, case: str) -> None:
    name, _, number = case.rpartition(":")
    texts = VARIATIONS[name]
    work, helper = texts if isinstance(texts, tuple) else (texts, _HELPER)
    directory.mkdir(parents=True, exist_ok=True)
    for file, text in (("work.py", "import torch\n" + work), ("helper.py", helper)):
        (directory / file).write_text(text.replace("K", number))


def load(directory: Path) -> Any:
    """As in a process of its own, for which Dynamo must forget what modules it has seen."""
    import torch

    torch._dynamo.symbolic_convert._import_module.cache_clear()
    for name in ("work", "helper"):
        sys.modules.pop(name, None)
    sys.path[0] = str(directory)
    importlib.invalidate_caches()
    return importlib.import_module("work")


def run(directory: Path, case: str) -> dict[str, Any]:
    import torch

    import guardcache.torch

    linear = torch.nn.functional.linear
    before = guardcache.torch.statistics()
    write(directory, case)
    work = load(directory)
    x = torch.arange(64.0).reshape(8, 8)
    try:
        with torch.no_grad():
            expected = work.target(x)
            got = torch.compile(work.target)(x)
    finally:
        torch.nn.functional.linear = linear
    after = guardcache.torch.statistics()
    return {
        "right": bool(torch.equal(got, expected)),
        "hits": after.frames - before.frames,
        "stored": after.frames_stored - before.frames_stored,
        "refused": list(after.frames_refused.keys() - before.frames_refused.keys()),
    }


def main() -> None:
    import torch

    import guardcache.torch

    torch._dynamo.config.recompile_limit = 1000
    guardcache.torch.install(precompile=True)
    directory = Path(sys.argv[1])
    print("\n" + json.dumps({case: run(directory / str(i), case) for i, case in enumerate(json.loads(sys.argv[2]))}))


if __name__ == "__main__":
    main()
