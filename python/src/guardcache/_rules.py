"""Rule sets: what of a description counts, and what helps after a miss (docs/formats/rules.md)."""

from __future__ import annotations

import os

from guardcache import _native
from guardcache._classes import NamedTuple


class Rule(NamedTuple):
    """One rule of a set, as it is written; None where absent."""

    kind: str
    """``path`` (a value left out), ``drop``, ``const``, ``ordinal``, ``sort``, ``bypass``, ``private``."""
    path: str | None
    """What it is bound to."""
    pattern: str | None
    """PCRE2, of text rules."""
    replacement: str | None
    """What takes a match's place."""
    why: str | None
    examples: int


class RuleProblem(NamedTuple):
    """An example that doesn't hold."""

    rule: int
    """Its number in the set."""
    problem: str


class Tested(NamedTuple):
    """What `Rules.test` found."""

    examples: int
    problems: tuple[RuleProblem, ...]


class Rules:
    """A rule set, for descriptions in place of those of their kind: ``Graph("mycompiler/1", rules=rules)``.

    >>> rules = Rules.load("rules.json")
    >>> rules.test()
    Tested(examples=2, problems=())
    """

    __slots__ = ("_native",)

    def __init__(self, text: str | bytes, name: str = "") -> None:
        """Reads a set; `name` is used in messages."""
        self._native = _native.Rules(text, name)

    @classmethod
    def load(cls, path: str | os.PathLike[str], advice: str | os.PathLike[str] | None = None) -> Rules:
        """Reads a file with a set, and one with advice for it."""
        with open(path, "rb") as file:
            rules = cls(file.read(), os.fspath(path))
        if advice is not None:
            with open(advice, "rb") as file:
                rules.advise(file.read(), os.fspath(advice))
        return rules

    @classmethod
    def of_kind(cls, kind: str) -> Rules:
        """The set that descriptions of a kind use on their own, made for many of them: patterns are compiled once."""
        return cls._wrap(_native.Rules.of_kind(kind))

    @classmethod
    def read_kind(cls, folder: str | os.PathLike[str]) -> Rules:
        """Rules and advice of one kind's folder, without loading it for the process as `load_kinds` does."""
        return cls._wrap(_native.Rules.read_kind(os.fspath(folder)))

    @classmethod
    def _wrap(cls, native: _native.Rules) -> Rules:
        rules = cls.__new__(cls)
        rules._native = native
        return rules

    @staticmethod
    def shipped(kind: str) -> str | None:
        """The text of a set that is compiled in, or was loaded."""
        return _native.shipped_rules(kind)

    @staticmethod
    def kinds() -> list[str]:
        """Those with rules of their own: shipped ones, then those that were loaded."""
        return _native.rule_kinds()

    @staticmethod
    def folder(kind: str) -> str | None:
        """Where a kind was loaded from; None: it is compiled in, or wasn't loaded."""
        return _native.kind_folder(kind)

    def advise(self, text: str | bytes, name: str = "") -> None:
        """Adds what helps after a miss, in place of what the set had: the text of an advice.json. Before a graph uses
        it.
        """
        self._native.advise(text, name)

    @property
    def name(self) -> str:
        return self._native.name()

    @property
    def hash(self) -> str:
        """What enters keys: over what has an effect."""
        return self._native.hash()

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(Rule(*found) for found in self._native.all())

    def test(self) -> Tested:
        """Runs the examples: each `same` pair must get one key, each `different` pair two, and each pattern must change
        nothing when it is applied to its own result.
        """
        examples, problems = self._native.test()
        return Tested(examples, tuple(RuleProblem(*found) for found in problems))

    def __repr__(self) -> str:
        return f"<guardcache.Rules {self.name}>"
