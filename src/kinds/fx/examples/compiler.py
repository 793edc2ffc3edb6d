"""How examples of this kind run: guardcache under torch.compile."""

from __future__ import annotations

import torch

import guardcache.torch

KEYS = ("pytorch", "canonical")


def prepare() -> None:
    """Once, before processes are made for the examples: what all of them need."""
    torch.set_num_threads(1)


def start(directory: str, key: str) -> None:
    guardcache.torch.install(directory, key=key)


def lookups() -> list[tuple[str, str]]:
    """Outcome and reason of each, of graphs alone: what is compiled."""
    return [(found.outcome, str(found.reason)) for found in guardcache.torch.lookups() if found.kind == "fx"]


def explain() -> str:
    return guardcache.torch.explain(last=3)
