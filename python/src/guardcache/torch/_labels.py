"""Whose lookup it is, in the user's words: the compiled function, and what the hints are in it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import torch
from torch._dynamo.eval_frame import dynamo_tls

import guardcache

_INDEXED = re.compile(r"L\['(\w+)'\]")
_MEMBER = re.compile(r"\._(?:parameters|buffers|modules)\['(\w+)'\]")
_SIZE = re.compile(r"\.(size|stride)\(\)\[(\d+)\]")


# Frames of these are no one's program.
_NOT_THE_PROGRAM = tuple(os.path.dirname(file) + os.sep for file in (torch.__file__, guardcache.__file__, os.__file__))


def frame_label(suffix: str = "") -> str:
    """``train.py:88 forward`` for what Dynamo compiles now; empty outside of Dynamo.

    That is the compiled function, or, where that is PyTorch's own (a module of `torch.nn`), the line that called it.
    """
    if not dynamo_tls.traced_frame_infos:
        return ""
    name, _, place = dynamo_tls.traced_frame_infos[-1].partition(" ")
    if place.startswith(_NOT_THE_PROGRAM):
        name, place = _calling_line()
    return f"{os.path.basename(place)} {name}{suffix}"


def _calling_line() -> tuple[str, str]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_THE_PROGRAM):
        frame = frame.f_back
    if frame is None:
        return "?", "?"
    return frame.f_code.co_name, f"{frame.f_code.co_filename}:{frame.f_lineno}"


def readable_source(name: str) -> str:
    """``x.size(0)`` for ``L['x'].size()[0]``."""
    name = _INDEXED.sub(r"\1", name)
    name = _MEMBER.sub(r".\1", name)
    return _SIZE.sub(r".\1(\2)", name)


def hint_sources(inputs: Sequence[Any]) -> dict[str, str]:
    """What each ``t<i>`` of the guards is in the user's program, as far as Dynamo knows."""
    sources = {}
    symints = [s for s in inputs if isinstance(s, torch.SymInt) and s.node.has_hint()]
    for i, symint in enumerate(symints):
        env = symint.node.shape_env
        found = env.var_to_sources.get(symint.node.expr) if env is not None else None
        if found:
            sources[f"t{i}"] = readable_source(found[0].name)
    return sources
