"""What adapters have in common: a compiler of one's own on guardcache, or somebody else's.

A compiler that one can call needs an `Adapter` alone: what is compiled is described as a `Task`, and `Adapter.compile`
looks it up, or has it compiled once among all threads and processes, and remembers why.

>>> from guardcache.adapter import Adapter, Compiled, Task
>>> adapter = Adapter("mycompiler")
>>> def build():
...     program = mycompiler.compile(source)
...     return program, Compiled(program.to_bytes())
>>> task = Task(describe=lambda: describe(source), label="train.py:12 step(x)")
>>> program = adapter.compile(task, build, load=lambda hit: mycompiler.Program(hit.payload))
>>> print(adapter.explain())

Under a framework that doesn't ask, private functions have to be replaced: `Seam`s say what they must look like, and an
`Installation` replaces them, all or none, and puts them back. docs/adapters.md tells both from the beginning.
"""

from guardcache import Compiled
from guardcache.adapter.compiles import Adapter, Task, open_cache
from guardcache.adapter.installing import Installation, NotInstalledError, SeamsMovedError, usable
from guardcache.adapter.machine import host_cpu
from guardcache.adapter.records import Lookup, Statistics
from guardcache.adapter.seams import Part, Patches, Seam, check, find

__all__ = [
    "Adapter",
    "Compiled",
    "Installation",
    "Lookup",
    "NotInstalledError",
    "Part",
    "Patches",
    "Seam",
    "SeamsMovedError",
    "Statistics",
    "Task",
    "check",
    "find",
    "host_cpu",
    "open_cache",
    "usable",
]
