"""`guardcache.adapter.Installation`: an adapter under a framework that is made up."""

from __future__ import annotations

import logging
import sys
from types import ModuleType

import pytest

from guardcache.adapter import Installation, NotInstalledError, Part, Patches, Seam, SeamsMovedError, usable

log = logging.getLogger("test")


class Adapter:
    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def theirs(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("theirs")
    module.__dict__.update(compile=len, trace=sorted)
    monkeypatch.setitem(sys.modules, "theirs", module)
    return module


def test_installed_and_taken_out(theirs: ModuleType) -> None:
    here: Installation[Adapter] = Installation("guardcache.theirs")
    assert not here
    with pytest.raises(NotInstalledError, match=r"guardcache\.theirs\.install\(\) wasn't called"):
        here.current()
    here.remove()
    first, second = Adapter(), Adapter()
    here.put(first, lambda patches: patches.set(theirs, "compile", max))
    assert here
    assert here.current() is first
    assert theirs.compile is max
    here.put(second, lambda patches: patches.set(theirs, "compile", min))
    assert theirs.compile is min
    assert (first.closed, second.closed) == (True, False)
    here.remove()
    assert theirs.compile is len
    assert second.closed
    assert not here


def test_the_same_adapter_stays_open(theirs: ModuleType) -> None:
    here: Installation[Adapter] = Installation("guardcache.theirs")
    adapter = Adapter()
    here.put(adapter, lambda patches: patches.set(theirs, "compile", max))
    here.put(adapter, lambda patches: patches.set(theirs, "trace", min))
    assert (here.current(), adapter.closed) == (adapter, False)
    assert (theirs.compile, theirs.trace) == (len, min)
    here.remove()
    assert adapter.closed


def test_what_fails_leaves_all_as_it_was(theirs: ModuleType) -> None:
    def plan(patches: Patches) -> None:
        patches.set(theirs, "compile", max)
        raise KeyError("trace")

    here: Installation[Adapter] = Installation("guardcache.theirs")
    adapter = Adapter()
    with pytest.raises(KeyError):
        here.put(adapter, plan)
    assert theirs.compile is len
    assert adapter.closed
    assert not here


COMPILE = Part("compile", "the compiler", (Seam("theirs:compile"),))
TRACE = Part("trace", "the tracer", (Seam("theirs:trace"),))
NAMES = Part("names", "names", (Seam("theirs:compile"),), needs=("trace",))


def test_what_moved_is_left_out_and_told(theirs: ModuleType, caplog: pytest.LogCaptureFixture) -> None:
    wanted = (COMPILE, TRACE, NAMES)
    assert usable(wanted, project="Theirs 1.0", log=log) == list(wanted)
    assert caplog.records == []
    del theirs.trace
    assert usable(wanted, project="Theirs 1.0", log=log) == [COMPILE]
    (told,) = [record.getMessage() for record in caplog.records]
    assert told == "the tracer: left out, since in Theirs 1.0 theirs:trace isn't there. Still works: the compiler"


def test_nothing_left_is_an_error(theirs: ModuleType) -> None:
    del theirs.trace
    told = "doesn't know its way about Theirs 1.0, which compiles as without it: theirs:trace isn't there"
    with pytest.raises(SeamsMovedError, match=told):
        usable((TRACE, NAMES), project="Theirs 1.0", log=log)
    with pytest.raises(SeamsMovedError, match=told):
        usable((COMPILE, TRACE), project="Theirs 1.0", log=log, one_of=(TRACE,))
    with pytest.raises(SeamsMovedError, match=told):
        usable((COMPILE,), project="Theirs 1.0", log=log, base=TRACE)
