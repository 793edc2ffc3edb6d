"""Descriptions: what a compiler is given, built call by call or read from a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from guardcache import _native
from guardcache._classes import NamedTuple
from guardcache._rules import Rules
from guardcache._values import Node, Value


class Change(NamedTuple):
    """A step of the normalisation: what was left out or rewritten, and by which rule."""

    path: str
    """``options.graph_id``, ``graph.nodes[3].meta``."""
    rule: str | None
    """The rule's path; None: the description format's own."""
    why: str
    before: str
    """As JSON, cut when long."""
    after: str | None
    """None: left out."""


class Line(NamedTuple):
    """A part of a description: a component, or an element of one that is a list or a map."""

    name: str
    """``inputs[3]``, ``options[cpp_wrapper]``, ``module``."""
    hash: str
    text: str
    """For people, cut when long."""


def native_of(graph: Graph) -> _native.Graph:
    if not isinstance(graph, Graph):
        raise TypeError(f"a guardcache.Graph is needed, not {graph!r}")
    return graph._native


class Graph:
    """A description of a graph and everything else that decides what a compiler makes of it.

    >>> graph = Graph("mycompiler/1")
    >>> x = graph.input("x", Tensor("float32", ["s0", 16]))
    >>> w = graph.input("w", Tensor("float32", [16, 4]))
    >>> graph.output(graph.call("matmul", x, w, allow_tf32=False))
    >>> graph.component("options", {"fast_math": True})
    >>> graph.key
    'f3a0...'

    What is described wrongly is reported by the first use of the key. With the key the description is finished:
    nothing can be added any more, and any number of threads may use it.
    """

    __slots__ = ("_native",)

    def __init__(self, kind: str = "generic", *, rules: Rules | None = None) -> None:
        """`kind` selects the default rules: ``fx``, ``aot``, ``stablehlo``, ``llvm-ir``, ``triton``, ``generic``;
        `rules` take their place.
        """
        self._native = _native.Graph(kind, None)
        if rules is not None:
            self.use_rules(rules)

    @classmethod
    def keyed(cls, kind: str, key: str, lines: Iterable[tuple[str, str, str]] = ()) -> Graph:
        """A description known only by a key that somebody else computed.

        `lines` say what that was made of: a component's name, its hash in hex, and a text for people.
        """
        native = _native.Graph(kind, key)
        for name, hash, text in lines:
            native.line(name, hash, text)
        return cls._wrap(native)

    @classmethod
    def read(cls, text: str | bytes, name: str = "") -> Graph:
        """Reads the text of a description file; `name` is used in messages."""
        return cls._wrap(_native.Graph.read(text, name))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Graph:
        """Reads a description file."""
        with open(path, "rb") as file:
            return cls.read(file.read(), os.fspath(path))

    @classmethod
    def _wrap(cls, native: _native.Graph) -> Graph:
        graph = cls.__new__(cls)
        graph._native = native
        return graph

    # ---- building ----

    def use_rules(self, rules: Rules) -> None:
        """Uses a rule set in place of those of the kind."""
        self._native.use_rules(rules._native)

    def input(self, name: str, value: Value) -> Node:
        """The next input in call order: a `Tensor`, a `Symbolic`, or a constant. The name doesn't count."""
        return self._native.input(name, value)

    def call(self, target: str, *args: Value, **kwargs: Value) -> Node:
        """A call of a function."""
        return self._native.node("call_function", target, args, kwargs)

    def node(self, op: str, target: str, args: Sequence[Value] = (), kwargs: Mapping[str, Value] | None = None) -> Node:
        """A node of any op: ``call_function``, ``call_method``, ``get_attr``, ..."""
        return self._native.node(op, target, tuple(args), dict(kwargs or {}))

    def output(self, value: Value) -> None:
        """What the graph returns."""
        self._native.output(value)

    @contextmanager
    def subgraph(self, name: str) -> Iterator[None]:
        """Nodes added inside belong to the subgraph `name`; they may refer to nodes of the graphs around it."""
        self._native.subgraph_begin(name)
        yield
        self._native.subgraph_end()

    def component(self, name: str, value: Value) -> None:
        """Sets a component: ``options``, ``config``, ``environment``, ``module``, or any other name."""
        self._native.component(name, value)

    # ---- what comes out ----

    @property
    def kind(self) -> str:
        return self._native.kind()

    @property
    def key(self) -> str:
        """64 hex digits. `BypassError` if a rule says the graph can't be keyed safely."""
        return self._native.key()

    @property
    def components(self) -> dict[str, str]:
        """The hash of each component."""
        return dict(self._native.components())

    @property
    def symbols(self) -> dict[str, str]:
        """Each symbol's name in the canonical form, in order of first use."""
        return dict(self._native.symbols())

    @property
    def canonical(self) -> bytes:
        """The bytes that are hashed (deterministic CBOR)."""
        return self._native.canonical()

    @property
    def text_names(self) -> dict[str, str]:
        """Whole names in texts that rules rewrote and that compiled code may export, and what they are in the canonical
        form: what candidates are compared in unless renames are accepted.
        """
        return dict(self._native.text_names())

    def text(self, component: str) -> str:
        """A component that is a text, as it counts after the rules. `NotFoundError`: there is no such component."""
        return self._native.text(component)

    def trace(self) -> list[Change]:
        """Every step of the normalisation, in the order they are taken."""
        return [Change(*found) for found in self._native.trace()]

    def lines(self) -> list[Line]:
        """A line for each part: what misses are explained with."""
        return [Line(*found) for found in self._native.lines()]

    def write(self) -> str:
        """The description as text that `read` reads: of equal keys, without its volatile parts."""
        return self._native.write()

    def __repr__(self) -> str:
        return f"<guardcache.Graph {self.kind}>"
