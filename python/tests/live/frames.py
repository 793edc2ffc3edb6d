"""One process of a live test under ``install(precompile=True)``: functions whose surroundings change while it runs.

python frames.py DIRECTORY      prints a line of JSON, by case: whether the numbers were right, and what was found
"""

from __future__ import annotations

import abc
import importlib
import json
import os
import sys
import threading
from collections import UserDict
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

import torch
from torch._inductor import config
from torch._inductor.custom_graph_pass import CustomGraphPass

import guardcache.torch

mm = torch.mm
scale = 2
X = torch.arange(64.0).reshape(8, 8)
EDITED = "import torch\ndef part(x):\n    return x[{0}:{0} + 2]\ndef target(x):\n    return torch.mm(part(x), x)\n"


def same(compiled: Callable[..., Any], plain: Callable[..., Any], *arguments: Any) -> bool:
    return bool(torch.equal(compiled(*arguments), plain(*arguments)))


def training(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return mm(x, w).sum()


def case_training(_: Path) -> bool:
    ours, theirs = (torch.ones(8, 8, requires_grad=True) for _ in range(2))
    torch.compile(training)(X, ours).backward()
    training(X, theirs).backward()
    return ours.grad is not None and theirs.grad is not None and torch.equal(ours.grad, theirs.grad)


def breaking(x: torch.Tensor) -> torch.Tensor:
    y = mm(x, x)
    torch._dynamo.graph_break()
    return mm(mm(y, x), x)


def case_graph_break(_: Path) -> bool:
    return same(torch.compile(breaking), breaking, X)


def sized(x: torch.Tensor) -> torch.Tensor:
    return mm(x, x.t())


def case_sizes_and_dtypes(_: Path) -> bool:
    """Static, then dynamic, then of another type: a variant each."""
    compiled = torch.compile(sized)
    wanted = [X[:n] for n in (3, 4, 7, 8)] + [X[:4].double()]
    return all(same(compiled, sized, x) for x in wanted)


def scaled(x: torch.Tensor) -> torch.Tensor:
    return mm(x, x)[:scale]


def case_global_changes(_: Path) -> bool:
    global scale
    compiled, right = torch.compile(scaled), True
    for scale in (2, 3, 2):  # noqa: B007  (the function reads it)
        right = right and same(compiled, scaled, X)
    return right


def appending(x: torch.Tensor, seen: list[int]) -> torch.Tensor:
    seen.append(x.size(0))
    return mm(x, x)


def case_side_effect(_: Path) -> bool:
    ours: list[int] = []
    theirs: list[int] = []
    return torch.equal(torch.compile(appending)(X, ours), appending(X, theirs)) and ours == theirs == [8]


def both(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return mm(x, y)


def case_one_object_or_two(_: Path) -> bool:
    compiled = torch.compile(both)
    return same(compiled, both, X, X) and same(compiled, both, X, X + 1) and same(compiled, both, X, X)


def cut(rows: int) -> Callable[[torch.Tensor], torch.Tensor]:
    def f(x: torch.Tensor) -> torch.Tensor:
        return mm(x, x)[:rows]

    return f


def case_threads(_: Path) -> bool:
    right: list[bool] = []
    work = [
        threading.Thread(target=lambda i=i: right.append(same(torch.compile(cut(i)), cut(i), X))) for i in range(1, 5)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    return right == [True] * 4


def case_source_is_edited(directory: Path) -> bool:
    """The file says another thing than what runs; it is loaded again; a callee is exchanged, and put back."""
    sys.path.insert(0, str(directory))
    sys.dont_write_bytecode = True
    (directory / "edited.py").write_text(EDITED.format(0))
    edited = importlib.import_module("edited")
    right = True
    for start in (0, 3, 1, 3, 0):
        (directory / "edited.py").write_text(EDITED.format(start))
        right = right and same(torch.compile(edited.target), edited.target, X)
        importlib.reload(edited)
        torch._dynamo.reset()
        compiled, part = torch.compile(edited.target), edited.part
        for callee in (part, lambda x: x[4:6], part):
            edited.part = callee
            right = right and same(compiled, edited.target, X)
    return right


def first(x: torch.Tensor) -> torch.Tensor:
    return mm(x[:2], x)


def later(x: torch.Tensor) -> torch.Tensor:
    return mm(x[2:4], x)


def caller(x: torch.Tensor) -> torch.Tensor:
    return first(x)


def case_code_is_exchanged(_: Path) -> bool:
    torch.compile(caller)(X)
    code, first.__code__ = first.__code__, later.__code__
    torch._dynamo.reset()
    right = same(torch.compile(caller), caller, X)
    first.__code__ = code
    return right


class Module(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return mm(x[:2], x)


def case_hooks_and_methods(_: Path) -> bool:
    module = Module()
    right = same(torch.compile(module), module, X)
    hook = module.register_forward_hook(lambda _module, _inputs, output: output * 2)
    torch._dynamo.reset()
    right = right and same(torch.compile(module), module, X)
    hook.remove()
    forward, Module.forward = Module.forward, lambda self, x: mm(x[4:6], x)  # type: ignore[method-assign]
    torch._dynamo.reset()
    right = right and same(torch.compile(module), module, X)
    Module.forward = forward  # type: ignore[method-assign]
    return right


def case_modes(_: Path) -> bool:
    compiled = torch.compile(later)
    with torch.autocast("cpu", torch.bfloat16):
        low = compiled(X).dtype == later(X).dtype
    with torch.inference_mode():
        inference = same(compiled, later, X)
    return low and inference and compiled(X.clone().requires_grad_()).requires_grad and not compiled(X).requires_grad


NUMBER = int(os.environ.get("NUMBER", "0"))
"""Another one in each process."""


@torch.compiler.assume_constant_result
def constant() -> int:
    return NUMBER


def from_constant(x: torch.Tensor) -> torch.Tensor:
    return mm(x[constant() : constant() + 2], x)


def case_assumed_constant(_: Path) -> bool:
    """What Dynamo doesn't guard at all isn't stored."""
    return same(torch.compile(from_constant), from_constant, X)


class Pass(CustomGraphPass):
    """Of a process with another number another one, as PyTorch can tell by its uuid alone."""

    def __call__(self, graph: torch.fx.Graph) -> None:
        for node in graph.nodes:
            if NUMBER and node.target is torch.ops.aten.mm.default:
                node.args = (node.args[1], node.args[1])

    def uuid(self) -> str:
        return f"pass {NUMBER}"


def multiplied(x: torch.Tensor) -> torch.Tensor:
    return mm(x.t(), x)


def case_passes(_: Path) -> bool:
    wanted, right = mm(X, X) if NUMBER else multiplied(X), True
    right = right and torch.equal(torch.compile(multiplied, options={"post_grad_custom_pre_pass": Pass()})(X), wanted)
    torch._dynamo.reset()
    with config.patch(post_grad_custom_pre_pass=Pass()):
        return right and torch.equal(torch.compile(multiplied)(X), wanted)


def by_method(x: torch.Tensor) -> torch.Tensor:
    return x.mm(x) + 1


def case_replaced_method(_: Path) -> bool:
    """Dynamo doesn't notice; at least nothing of it is kept, or found."""
    before = guardcache.torch.statistics()
    own = torch.Tensor.mm
    torch.Tensor.mm = lambda x, y: own(x, y)  # type: ignore[assignment, method-assign]
    torch.compile(by_method)(X)
    torch.Tensor.mm = own  # type: ignore[method-assign]
    after = guardcache.torch.statistics()
    return (before.frames, before.frames_stored) == (after.frames, after.frames_stored)


NAMES = {"a", "bb", "ccc", "dddd", "eeeee"}


def walking(x: torch.Tensor) -> torch.Tensor:
    for name in NAMES:
        x = mm(x, X) * len(name) + 1
    return x


def walking_constant(x: torch.Tensor) -> torch.Tensor:
    for name in {"a", "bb", "ccc", "dddd", "eeeee"}:
        x = mm(x, X) * len(name) + 2
    return x


def case_sets_are_walked(_: Path) -> bool:
    """Texts hash otherwise in each process."""
    return all(
        bool(torch.allclose(torch.compile(f)(X / 64), f(X / 64), rtol=1e-5)) for f in (walking, walking_constant)
    )


def asking(x: torch.Tensor, how: str = "bb") -> torch.Tensor:
    return mm(x, x) if how in {"a", "bb", "ccc"} else x


def case_sets_are_asked(_: Path) -> bool:
    return same(torch.compile(asking), asking, X)


def by_builtin(x: torch.Tensor) -> torch.Tensor:
    return mm(x[: max(2, 3)], x)


def case_a_builtin_is_shadowed(_: Path) -> bool:
    """Not in the first process."""
    if NUMBER:
        globals()["max"] = min
    right = same(torch.compile(by_builtin), by_builtin, X)
    globals().pop("max", None)
    return right


class Thing:
    """Two of them are equal in all that is asked of them."""


one = Thing()
other = one if NUMBER else Thing()


def by_identity(x: torch.Tensor) -> torch.Tensor:
    return mm(x, x) if one is other else x


class Lists:
    def __init__(self) -> None:
        self.first: list[int] = []
        self.second = self.first if NUMBER else []


def by_list(x: torch.Tensor, lists: Lists) -> torch.Tensor:
    lists.first.append(1)
    return mm(x[: 2 + len(lists.second)], x)


def case_one_object_after_the_first_process(_: Path) -> bool:
    return same(torch.compile(by_identity), by_identity, X) and torch.equal(
        torch.compile(by_list)(X, Lists()), by_list(X, Lists())
    )


def plain(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def equal(x: torch.Tensor) -> torch.Tensor:
    return x + 1


equal.__code__ = plain.__code__
Same = type("Thing", (), {"__module__": __name__})
Twin = type("Thing", (), {"__module__": __name__})
kind = Same if NUMBER else Twin


class Abstract(abc.ABC):  # noqa: B024
    pass


class Registered:
    pass


class Top(abc.ABC):  # noqa: B024
    pass


class Below(Top):
    pass


class RegisteredBelow:
    pass


class RegisteredWithPythons:
    pass


if NUMBER:
    Abstract.register(Registered)
    Below.register(RegisteredBelow)
    Mapping.register(RegisteredWithPythons)


def by_function(x: torch.Tensor) -> torch.Tensor:
    return mm(x, x) if first_of_two is second_of_two else mm(x, x) + 1


first_of_two = plain
second_of_two = plain if NUMBER else equal


def by_class(x: torch.Tensor, thing: Any) -> torch.Tensor:
    return mm(x, x) * 2 if type(thing) is kind else mm(x, x) * 3


def by_registration(x: torch.Tensor, thing: Any) -> torch.Tensor:
    return mm(x, x) * 5 if isinstance(thing, Abstract) else mm(x, x) * 7


def by_registration_below(x: torch.Tensor, thing: Any) -> torch.Tensor:
    return mm(x, x) * 11 if isinstance(thing, Top) else mm(x, x) * 13


def by_registration_with_pythons(x: torch.Tensor, thing: Any) -> torch.Tensor:
    return mm(x, x) * 17 if isinstance(thing, Mapping) else mm(x, x) * 19


def case_relations_after_the_first_process(_: Path) -> bool:
    return (
        same(torch.compile(by_function), by_function, X)
        and same(torch.compile(by_class), by_class, X, Same())
        and same(torch.compile(by_registration), by_registration, X, Registered())
        and same(torch.compile(by_registration_below), by_registration_below, X, RegisteredBelow())
        and same(torch.compile(by_registration_with_pythons), by_registration_with_pythons, X, RegisteredWithPythons())
    )


class Choices(UserDict[str, float]):
    factor = 1.0


def by_choice(x: torch.Tensor, choices: Choices) -> torch.Tensor:
    return mm(x, x) * choices.factor


def case_others_register_with_pythons(_: Path) -> bool:
    """Which libraries have done so when a frame is looked at differs from process to process."""
    MutableMapping.register(type(f"Of{NUMBER}", (), {}))
    choices = Choices()
    choices.factor = 3.0
    return same(torch.compile(by_choice), by_choice, X, choices)


class Options:
    def __init__(self, named: dict[str, int] | None) -> None:
        self.named = named


def by_option(x: torch.Tensor, options: Options) -> torch.Tensor:
    return mm(x, x) if options.named is None else mm(x, x) * (2 if "double" in options.named else 3)


def case_ways_through_a_function(_: Path) -> bool:
    """What is looked at on the second way, which is stored last, isn't there on the first."""
    return all(same(torch.compile(by_option), by_option, X, Options(named)) for named in (None, {"double": 1}))


NOTHING_BACKWARD: list[Callable[[torch.Tensor], torch.Tensor]] = [
    lambda x: x.clone(),
    lambda x: x + 1,
    lambda x: torch.dropout(x, 0.0, True),
]


def case_a_backward_without_a_graph(_: Path) -> bool:
    """There is nothing to compile in it, so that nothing of it can be kept."""
    right = True
    for function in NOTHING_BACKWARD:
        x = X.clone().requires_grad_()
        torch.compile(function)(x).sum().backward()
        right &= x.grad is not None and bool((x.grad == 1).all())
    return right


def growing(x: torch.Tensor, n: int) -> torch.Tensor:
    return mm(x, x.t()) * n


def case_sizes_of_served_frames_count(_: Path) -> bool:
    """The second size becomes dynamic, and the third needs nothing, whether the first was traced or served."""
    compiled = torch.compile(growing)
    sizes = [(3, 8)] if NUMBER == 0 else [(3, 8), (4, 9), (5, 10)]
    before = guardcache.torch.statistics().frames_stored
    right = all(same(compiled, growing, X[:rows], n) for rows, n in sizes)
    return right and guardcache.torch.statistics().frames_stored - before <= 1


def shifting(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return mm(y, y)


def case_overlapping_after_the_first_process(_: Path) -> bool:
    def pair() -> tuple[torch.Tensor, torch.Tensor]:
        whole = torch.arange(72.0).reshape(9, 8)
        return (whole[:8], whole[1:]) if NUMBER else (whole[:8], whole[1:].clone())

    return torch.equal(torch.compile(shifting)(*pair()), shifting(*pair()))


def by_key(named: dict[Any, Any]) -> torch.Tensor:
    return mm(named["x"], named["x"]) * list(named)[1]


def case_keys_of_the_first_process(_: Path) -> bool:
    named = {"x": X, NUMBER + 2: 0}
    return same(torch.compile(by_key), by_key, named)


def case_a_method_of_another_name(_: Path) -> bool:
    before = guardcache.torch.statistics()
    torch.Tensor.sin = torch.Tensor.cos  # type: ignore[method-assign]
    torch.compile(lambda x: mm(x.sin(), x))(X)
    del torch.Tensor.sin
    after = guardcache.torch.statistics()
    return (before.frames, before.frames_stored) == (after.frames, after.frames_stored)


operators = torch.library.Library("frames", "DEF")
operators.define("taken_apart(Tensor x) -> Tensor")
operators.impl("taken_apart", lambda x: x * (NUMBER + 2), "CompositeImplicitAutograd")


def by_operator(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.frames.taken_apart(mm(x, x)) + 1


def case_an_operator_of_ones_own(_: Path) -> bool:
    """It is traced through when the graph is compiled, and nothing says what it was: at least no frame is kept.

    PyTorch's own keys know operators by their names, so that its graph caches, and guardcache below them, find it.
    """
    before = guardcache.torch.statistics()
    torch.compile(by_operator)(X)
    after = guardcache.torch.statistics()
    return (before.frames, before.frames_stored) == (after.frames, after.frames_stored)


def main() -> None:
    guardcache.torch.install(precompile=True)
    report = {}
    for name, case in [(name, case) for name, case in globals().items() if name.startswith("case_")]:
        torch._dynamo.reset()
        before = guardcache.torch.statistics()
        right = case(Path(sys.argv[1]))
        after = guardcache.torch.statistics()
        report[name] = {
            "right": right,
            "hits": after.frames - before.frames,
            "stored": after.frames_stored - before.frames_stored,
            "refused": list(after.frames_refused),
        }
    print("\n" + json.dumps(report))


if __name__ == "__main__":
    main()
