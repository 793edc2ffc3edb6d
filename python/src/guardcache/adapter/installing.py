"""An adapter under a framework: installed as far as the framework's seams are in their places, and taken out again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Generic, Protocol, TypeVar

from guardcache.adapter.seams import Part, Patches, check


class NotInstalledError(RuntimeError):
    """`install` wasn't called."""


class SeamsMovedError(RuntimeError):
    """The adapter doesn't find what it replaces, or too little of it."""


class Closable(Protocol):
    def close(self) -> None: ...


A = TypeVar("A", bound=Closable)


class Installation(Generic[A]):
    """The one adapter of a framework that is installed in this process. Any thread may ask."""

    def __init__(self, module: str) -> None:
        """`module` has the functions `install` and `uninstall`: ``guardcache.jax``."""
        self.lock = threading.RLock()
        """Held while something is installed or taken out; for an adapter that has more to do then."""
        self._module = module
        self._installed: tuple[A, Patches] | None = None

    def put(self, adapter: A, plan: Callable[[Patches], None]) -> None:
        """Replaces what was installed before, which may be this one with other parts. `plan` says what to replace; if
        it, or replacing, fails, all is as it was without an adapter, and this one is closed.
        """
        with self.lock:
            patches = Patches()
            try:
                before = self._take_out()
                if before is not None and before is not adapter:
                    before.close()
                plan(patches)
                patches.apply()
            except BaseException:
                adapter.close()
                raise
            self._installed = (adapter, patches)

    def remove(self) -> None:
        """Puts the framework's own functions back and closes the adapter. Nothing happens if there is none."""
        with self.lock:
            adapter = self._take_out()
            if adapter is not None:
                adapter.close()

    def _take_out(self) -> A | None:
        if self._installed is None:
            return None
        adapter, patches = self._installed
        patches.undo()
        self._installed = None
        return adapter

    def current(self) -> A:
        """The installed adapter; `NotInstalledError` if there is none."""
        with self.lock:
            if self._installed is None:
                raise NotInstalledError(f"{self._module}.install() wasn't called")
            return self._installed[0]

    def __bool__(self) -> bool:
        with self.lock:
            return self._installed is not None


def usable(
    wanted: Sequence[Part],
    *,
    project: str,
    log: logging.Logger,
    base: Part | None = None,
    one_of: Collection[Part] = (),
) -> list[Part]:
    """The parts whose seams are in their places, and which don't need one whose seams aren't.

    Of a part that is left out a warning says what moved. `SeamsMovedError` if something of `base` moved, or if of
    `one_of` (all, if none are named) nothing is left. `project` is for messages: ``PyTorch 2.13.0``.
    """
    gone = check(wanted)
    chosen = [part for part in wanted if not gone[part.name] and not any(gone.get(name) for name in part.needs)]
    decisive = [part for part in wanted if not one_of or part in one_of]
    reasons = base.moved() if base is not None else []
    if not reasons and not any(part in chosen for part in decisive):
        reasons = [reason for part in decisive for reason in gone[part.name]]
    if reasons:
        told = "; ".join(reasons)
        raise SeamsMovedError(f"guardcache doesn't know its way about {project}, which compiles as without it: {told}")
    for part in wanted:
        if gone[part.name]:
            told, rest = "; ".join(gone[part.name]), ", ".join(other.what for other in chosen)
            log.warning("%s: left out, since in %s %s. Still works: %s", part.what, project, told, rest)
    return chosen
