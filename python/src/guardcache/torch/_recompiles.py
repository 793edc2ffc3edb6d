"""Why Dynamo compiles a function again, in the user's words: the guards that failed, and what became dynamic.

Dynamo knows it before anything is looked up; it is kept here for the lookups of that compile.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any

from torch._guards import CompileContext

from guardcache.torch import _labels as labels

# Each compiled version of a function has its reason: those of the newest say enough.
_REASONS_MAX = 3
_CHANGES_MAX = 8
_TEXT_MAX = 300

_TENSOR = r"tensor '(?P<name>.*)' "
_WAS_NOW = r"expected (?P<was>\S+), actual (?P<now>\S+)"

_EVALUATED = "{name} was compiled in training, now it is in evaluation"
_TRAINED = "{name} was compiled in evaluation, now it is in training"

# What Dynamo's guards say when they fail -> the same as a sentence. What isn't here is shown as it is.
_SENTENCES = [
    (re.compile(pattern), sentence)
    for pattern, sentence in (
        (_TENSOR + r"size mismatch at index (?P<i>\d+)\. " + _WAS_NOW, "{name}.size({i}) was {was}, now it is {now}"),
        (_TENSOR + r"stride mismatch at index (?P<i>\d+)\. " + _WAS_NOW, "{name}.stride({i}) was {was}, now {now}"),
        (_TENSOR + r"dtype mismatch\. " + _WAS_NOW, "the elements of {name} were {was}, now they are {now}"),
        (_TENSOR + r"rank mismatch\. " + _WAS_NOW, "{name} had {was} dimensions, now it has {now}"),
        (_TENSOR + r"requires_grad mismatch\. .*=0", "{name} didn't require gradients, now it does"),
        (_TENSOR + r"requires_grad mismatch\. .*=1", "{name} required gradients, now it doesn't"),
        (
            r"(?P<name>.*)\.training == True",
            _EVALUATED,
        ),
        (r"not (?P<name>.*)\.training", _TRAINED),
        (
            r"(?P<name>.*)\.training == False",
            _TRAINED,
        ),
    )
]

_GLOBAL_STATE = "GLOBAL_STATE changed: "
_STATES = {
    "grad_mode": "grad mode (torch.no_grad)",
    "allow_tf32": "float32 matmul precision",
    "deterministic_algorithms": "torch.use_deterministic_algorithms",
    "num_threads": "torch.set_num_threads",
    "default_dtype": "the default element type",
    "torch_function": "torch function modes",
}
_AUTOCAST = re.compile(r"autocast\((\w+)\)_\w+")

_COMPILE_ID = re.compile(r"^\S*\d+/\d+\S*: ")
_STACK = "\nUser stack trace:"
# Behind a guard's text: the line that it comes from, and where that is.
_COMMENT = re.compile(r"\s+# .*?(?:# (?P<place>\S+:\d+) in (?P<function>\S+))?$", re.DOTALL)


def sentence(reason: str) -> str:
    """Of one of Dynamo's reasons.

    >>> sentence("0/0: tensor 'x' size mismatch at index 0. expected 8, actual 9")
    'x.size(0) was 8, now it is 9'
    """
    text = _COMPILE_ID.sub("", reason).partition(_STACK)[0]
    comment = _COMMENT.search(text)
    text = (text if comment is None else text[: comment.start()]).strip()
    if text.startswith(_GLOBAL_STATE):
        return f"{_states(text.removeprefix(_GLOBAL_STATE))} isn't as it was"
    for pattern, said in _SENTENCES:
        if (found := pattern.fullmatch(text)) is not None:
            facts = found.groupdict()
            return said.format(**{**facts, "name": labels.readable_source(facts["name"])})
    place = comment["place"] if comment is not None else None
    of = f" ({os.path.basename(place)})" if place else ""
    return f"{labels.readable_source(text)[:_TEXT_MAX]} isn't so any more{of}"


def _states(names: str) -> str:
    found = (_AUTOCAST.sub(r"torch.autocast on \1", name) for name in names.split())
    return ", ".join(dict.fromkeys(_STATES.get(name, name) for name in found))


def changes(name: str, before: Any, after: Any, now: Any) -> Iterator[str]:
    """What of a source became dynamic, from Dynamo's states of it: before, after, and what it is now.

    What isn't a number in them (dynamic, unset, a stride that follows from sizes) is of classes of their own.
    """
    name = labels.readable_source(name)
    if _is_number(before.scalar) and not _is_number(after.scalar) and _is_number(now.scalar):
        yield _became(name, before.scalar, now.scalar)
    for what in ("size", "stride"):
        was, then, present = (getattr(state, what) for state in (before, after, now))
        if not isinstance(was, tuple) or not isinstance(present, tuple):
            continue
        if not isinstance(then, tuple):
            if what == "size":
                yield f"{name} had {len(was)} dimensions, then {len(present)}: all of it became dynamic"
            continue
        for i, (old, new, value) in enumerate(zip(was, then, present, strict=True)):
            if _is_number(old) and not _is_number(new) and _is_number(value):
                yield _became(f"{name}.{what}({i})", old, value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _became(what: str, old: Any, new: Any) -> str:
    return f"{what} was {old}, then {new}: became dynamic"


class Recompiles(threading.local):
    """Of the compile that this thread is at."""

    def __init__(self) -> None:
        self._compile: Any = None
        self._code: CodeType | None = None
        self._reasons: list[str] = []
        self._changes: list[str] = []

    def traced_again(self, code: CodeType, reasons: Sequence[str]) -> None:
        """Dynamo begins to trace a function of which it has versions; newest first, what each has against it."""
        self._begin(code)
        self._reasons = list(dict.fromkeys(sentence(reason) for reason in reasons))

    def became_dynamic(self, code: CodeType, said: Iterator[str]) -> None:
        for change in said:
            self._begin(code)
            if len(self._changes) < _CHANGES_MAX and change not in self._changes:
                self._changes.append(change)

    def why(self) -> str | None:
        """For `why_asked`; None where Dynamo said nothing of this compile."""
        if self._compile is None or not self._is_of(labels.traced_code()):
            return None
        return "\n".join([*self._because(), *self._changes])

    def _because(self) -> Iterator[str]:
        if self._reasons:
            shown, left = self._reasons[:_REASONS_MAX], len(self._reasons) - _REASONS_MAX
            more = f"; and {left} more" if left > 0 else ""
            yield f"Dynamo compiled it again: {'; '.join(shown)}{more}"

    def _is_of(self, code: CodeType | None) -> bool:
        return code is self._code and CompileContext.current_compile_id() == self._compile

    def _begin(self, code: CodeType) -> None:
        if not self._is_of(code):
            self._compile, self._code = CompileContext.current_compile_id(), code
            self._reasons, self._changes = [], []
