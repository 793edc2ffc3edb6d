"""Replacing attributes of somebody else's classes and modules, all of them or none, and putting them back."""

from __future__ import annotations

from typing import Any

_ABSENT = object()


class Patches:
    """Replacements to make together. Not thread-safe by itself: the adapter holds its lock around it."""

    def __init__(self) -> None:
        self._wanted: list[tuple[Any, str, Any]] = []
        self._replaced: list[tuple[Any, str, Any]] = []

    def replace(self, owner: Any, name: str, replacement: Any) -> Any:
        """Plans a replacement of an attribute that `owner` itself has; returns what stands there now."""
        original = vars(owner)[name]
        self._wanted.append((owner, name, replacement))
        return original

    def add(self, owner: Any, name: str, value: Any) -> None:
        """Plans an attribute that `owner` itself doesn't have."""
        self._wanted.append((owner, name, value))

    def apply(self) -> None:
        try:
            for owner, name, replacement in self._wanted:
                original = vars(owner).get(name, _ABSENT)
                setattr(owner, name, replacement)
                self._replaced.append((owner, name, original))
        except BaseException:
            self.undo()
            raise

    def undo(self) -> None:
        while self._replaced:
            owner, name, original = self._replaced.pop()
            if original is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
