"""What is told of AOT's and Inductor's lookups: names, causes, and whose compile it was."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch._inductor.codecache import PyCodeCache  # noqa: E402

import guardcache.torch  # noqa: E402

pytestmark = pytest.mark.live


@pytest.fixture(scope="module", autouse=True)
def _inductor_directory(workshop: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(workshop))
        patch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")
        yield


@pytest.fixture(autouse=True)
def cache(tmp_path: Path) -> Iterator[guardcache.Cache]:
    with guardcache.open(tmp_path / "guardcache") as cache:
        guardcache.torch.install(cache)
        yield cache
        guardcache.torch.uninstall()
        torch._dynamo.reset()


def run(function: Callable[..., Any], *inputs: Any) -> Any:
    """A first call in what might be a new process."""
    torch._dynamo.reset()
    PyCodeCache.cache_clear()
    return torch.compile(function)(*inputs)


def told_of_aot(cache: guardcache.Cache) -> str:
    """What is told of AOT's lookup that missed last."""
    missed = [lookup for lookup in guardcache.torch.lookups() if lookup.kind == "aot" and lookup.outcome == "miss"]
    key = guardcache.torch._adapter.entries.stored_key("aot", missed[-1].key)
    return " ".join(cache.explain_past(key=key).split())


def scale(image: Any, gain: Any) -> Any:
    return image * gain


def scale_renamed(picture: Any, gain: Any) -> Any:
    return picture * gain


def test_inserts_have_the_labels_of_their_lookups(cache: guardcache.Cache) -> None:
    run(scale, torch.randn(3, requires_grad=True), torch.randn(3)).sum().backward()
    asked = sorted(lookup.label for lookup in guardcache.torch.lookups())
    assert sorted(entry.label for entry in cache.entries()) == asked
    assert sum(label.endswith("scale(image, gain) (backward)") for label in asked) == 1
    assert sum(label.endswith("scale(image, gain)") for label in asked) == 2


def test_aots_key_is_explained(cache: guardcache.Cache) -> None:
    with torch.no_grad():
        run(scale, torch.randn(3), torch.randn(3))
    run(scale, torch.randn(3), torch.randn(3))
    told = told_of_aot(cache)
    assert "the same function" in told
    assert "grad_enabled stored False asked True" in told
    assert "one of the two ran under torch.no_grad()" in told
    run(scale_renamed, torch.randn(3), torch.randn(3))
    told = told_of_aot(cache)
    assert "arguments[0] stored image asked picture" in told
    assert "names of variables" in told
    run(scale, torch.randn(4), torch.randn(3, 4))
    told = told_of_aot(cache)
    assert "image (example_inputs[0]) stored f32[3][1]cpu asked f32[4][1]cpu" in told


def test_a_forward_whose_backward_never_runs(tmp_path: Path, workshop: Path) -> None:
    """PyTorch stores AOT's entry with the backward: without one each process compiles it again."""
    script = (
        "import torch, guardcache, guardcache.torch, sys\n"
        "guardcache.torch.install(sys.argv[1])\n"
        "torch.compile(torch.nn.Linear(3, 3))(torch.ones(2, 3))\n"
        "(missed,) = [each for each in guardcache.torch.lookups() if each.kind == 'aot']\n"
        "cache = guardcache.torch._install.current().cache\n"
        "print(cache.explain_past(key=guardcache.torch._adapter.entries.stored_key('aot', missed.key)))\n"
    )
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(workshop)}
    command = [sys.executable, "-c", script, str(tmp_path / "own")]
    first, second = (
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout for _ in range(2)
    )
    assert "first compile of this graph" in first
    assert "another process missed it at" in second
    assert "first compile" not in second


def test_a_hit_isnt_asked_what_its_key_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    adapter = guardcache.torch._install.current()
    original = adapter._lines_of

    def lines_of(key: str) -> Sequence[str]:
        asked.append(key)
        return original(key)

    monkeypatch.setattr(adapter, "_lines_of", lines_of)
    run(scale, torch.randn(3), torch.randn(3))
    assert len([key for key in asked if key.startswith("a")]) == 1
    run(scale, torch.randn(3), torch.randn(3))
    assert len([key for key in asked if key.startswith("a")]) == 1


@pytest.mark.parametrize("reason", ["Cannot cache a graph with freezing enabled", "mkldnn tensors unpickleable"])
def test_both_bypasses_of_a_frozen_model_have_advice(cache: guardcache.Cache, reason: str) -> None:
    assert "torch._inductor.config.freezing" in cache.explain_data(guardcache.Graph("fx"), bypass=reason)["advice"]


# ---- why Dynamo compiled again ----

SAID_BY_DYNAMO = [
    ("0/0: tensor 'x' size mismatch at index 0. expected 8, actual 9", "x.size(0) was 8, now it is 9"),
    (
        "[1/0_2]: tensor 'self._parameters['w']' rank mismatch. expected 2, actual 3",
        "self.w had 2 dimensions, now it has 3",
    ),
    (
        "0/3: tensor 'x' dtype mismatch. expected Int, actual Long",
        "the elements of x were Int, now they are Long",
    ),
    ("0/1: tensor 'x' requires_grad mismatch. expected requires_grad=1", "x required gradients, now it doesn't"),
    ("0/6: GLOBAL_STATE changed: grad_mode ", "grad mode (torch.no_grad) isn't as it was"),
    (
        "0/2: GLOBAL_STATE changed: autocast(cpu)_enabled autocast(cpu)_dtype allow_tf32 ",
        "torch.autocast on cpu, float32 matmul precision isn't as it was",
    ),
    (
        "1/0: fn._modules['1'].training == True                 # return F.drop()  # nn/modules/dropout.py:73 in f"
        '\nUser stack trace:\n  File "a.py", line 69, in inner\n    return 1',
        "fn.1 was compiled in training, now it is in evaluation",
    ),
    ("0/1: k == 1      # return g(x)*k  # mp/rec.py:19 in f", "k == 1 isn't so any more (rec.py:19)"),
    ("0/1: something that no version says yet", "something that no version says yet isn't so any more"),
]


@pytest.mark.parametrize(("reason", "sentence"), SAID_BY_DYNAMO)
def test_dynamos_reasons_become_sentences(reason: str, sentence: str) -> None:
    assert guardcache.torch._recompiles.sentence(reason) == sentence


def shifted(image: Any, by: int = 1, flag: bool = True) -> Any:
    return image + by if flag else image - by


CAUSES: dict[str, tuple[Callable[[Callable[..., Any]], Any], str]] = {
    "a size": (
        lambda call: (call(torch.ones(8, 3)), call(torch.ones(9, 3))),
        "Dynamo compiled it again: image.size(0) was 8, now it is 9 image.size(0) was 8, then 9: became dynamic",
    ),
    "a number": (
        lambda call: (call(torch.ones(2, 3), 1), call(torch.ones(2, 3), 5)),
        "by == 1 isn't so any more (test_told.py:{line}) by was 1, then 5: became dynamic",
    ),
    "a flag": (
        lambda call: (call(torch.ones(2, 3)), call(torch.ones(2, 3), 1, False)),
        "flag == True isn't so any more (test_told.py:{line})",
    ),
    "an element type": (
        lambda call: (call(torch.ones(2, 3)), call(torch.ones(2, 3).double())),
        "the elements of image were Float, now they are Double",
    ),
    "strides": (
        lambda call: (call(torch.ones(2, 3)), call(torch.ones(3, 2).t())),
        "image.stride(0) was 3, now 1",
    ),
    "gradients": (
        lambda call: (call(torch.ones(2, 3)), call(torch.ones(2, 3, requires_grad=True))),
        "image didn't require gradients, now it does",
    ),
    "grad mode": (
        lambda call: (call(torch.ones(2, 3)), torch.no_grad()(call)(torch.ones(2, 3))),
        "grad mode (torch.no_grad) isn't as it was",
    ),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_a_recompile_is_told_with_dynamos_guard(cause: str, cache: guardcache.Cache) -> None:
    provoke, said = CAUSES[cause]
    provoke(torch.compile(shifted))
    line = shifted.__code__.co_firstlineno + 1
    said = said.format(line=line)
    assert said in " ".join(guardcache.torch.explain(last=1).split())
    # The command tells the same: it reads what lookups left behind.
    assert any(said in " ".join(cache.explain_past(i).split()) for i in (1, 2))


def test_training_and_evaluation_are_told(cache: guardcache.Cache) -> None:
    module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout())
    call = torch.compile(module)
    for training in (True, False):
        module.train(training)
        call(torch.ones(2, 3))
    told = " ".join(guardcache.torch.explain(last=1).split())
    assert "was compiled in training, now it is in evaluation" in told
    assert "call train() or eval() on the module alike in both" in told


def test_nothing_of_an_earlier_compile_is_told(cache: guardcache.Cache) -> None:
    call = torch.compile(shifted)
    call(torch.ones(8, 3)), call(torch.ones(9, 3))
    assert "Dynamo compiled it again" in guardcache.torch.explain(last=1)
    torch._dynamo.reset()
    torch.compile(shifted)(torch.ones(2, 3, 4))
    assert "Dynamo" not in guardcache.torch.explain(last=1)
    assert "became dynamic" not in guardcache.torch.explain(last=1)


def test_frames_that_wait_or_are_left_out(cache: guardcache.Cache) -> None:
    """One of a training step is kept after its backward, and one that AOT's cache leaves out never: both are told."""
    guardcache.torch.install(cache, precompile=True)
    w = torch.ones(4, 4, requires_grad=True)
    loss = run(lambda x: torch.mm(x, w).sum(), torch.ones(4, 4))
    assert guardcache.torch.statistics().frames_waiting == 1
    assert "kept once its backward is compiled: " in guardcache.torch.explain()
    loss.backward()
    assert (guardcache.torch.statistics().frames_waiting, guardcache.torch.statistics().frames_stored) == (0, 1)

    def half(x: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return torch.mm(x, x)

    with torch.no_grad():
        run(half, torch.ones(4, 4))
    told = guardcache.torch.statistics()
    if told.frames_stored == 2:
        return  # this PyTorch's AOT cache takes what has autocast inside, as 2.15 does
    assert (told.frames_waiting, told.frames_stored) == (0, 1)
    (reason,) = told.frames_refused
    assert reason == (
        "PyTorch doesn't cache what is compiled for it: Unsupported call_function target <function _enter_autocast>"
    )
    assert f"traced, can't be kept: {reason}" in guardcache.torch.explain()


def test_a_frame_that_misses_tells_its_own_difference(cache: guardcache.Cache) -> None:
    """Not that its first key was unknown when another process missed it."""
    guardcache.torch.install(cache, precompile=True)

    class Scaled(torch.nn.Module):
        def __init__(self, factor: int) -> None:
            super().__init__()
            self.factor = factor

        def forward(self, x: Any) -> Any:
            return torch.mm(x, x) * self.factor

    with torch.no_grad():
        run(Scaled(2), torch.ones(4, 4))
        run(Scaled(3), torch.ones(4, 4))
    (told,) = [part for part in guardcache.torch.explain(last=1).split("\n\nmiss: ") if "(dynamo)" in part]
    assert "factor" in told
    assert "first compile of this graph" not in told
