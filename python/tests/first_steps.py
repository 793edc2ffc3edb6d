"""What a new installation must do, without PyTorch: a miss, an insert, a hit, in a directory that is given."""

from __future__ import annotations

import sys

import guardcache


def main() -> None:
    graph = guardcache.Graph("fx")
    graph.output(graph.node("call_function", "add", (graph.input("x", 1), 2), {}))
    with guardcache.Cache(sys.argv[1]) as cache:
        assert not cache.lookup(graph, hints={"s0": 8})
        assert cache.insert(graph, b"machine code", guards=["s0 % 8 == 0"])
        found = cache.lookup(graph, hints={"s0": 16})
        assert isinstance(found, guardcache.Hit)
        assert bytes(found.payload) == b"machine code"
        assert "s0 % 8 == 0" in cache.explain(graph, hints={"s0": 9})
    print("a miss, an insert, a hit, and a miss explained")


if __name__ == "__main__":
    main()
