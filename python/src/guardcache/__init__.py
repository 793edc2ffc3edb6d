"""A cache for what graph compilers produce: candidates chosen by guards, every miss explained.

>>> import guardcache
>>> with guardcache.open() as cache:
...     found = cache.lookup(graph, hints={"s0": 48})
...     if found:
...         run(found.payload)
...     else:
...         print(found.reason)
...         print(cache.explain(graph, hints={"s0": 48}))

`guardcache.torch.install()` puts it under ``torch.compile``.
"""

from guardcache._cache import Cache, Durability, Trust, default_directory, open, settings
from guardcache._compile import Compile, Compiled, Fresh
from guardcache._errors import (
    ArgumentError,
    BusyError,
    BypassError,
    CorruptError,
    DescriptionError,
    Error,
    FencedError,
    FormatError,
    InternalError,
    LimitError,
    NoSpaceError,
    NotFoundError,
    NotStoredWarning,
    ParseError,
    ReadOnlyError,
    StoreError,
    UntrustedError,
)
from guardcache._graph import Graph
from guardcache._guards import Guards, Verdict
from guardcache._kinds import load_kinds
from guardcache._native import version as _version
from guardcache._options import Asked, CompileAsked, Variant
from guardcache._results import (
    Attachment,
    Entry,
    Hit,
    Inserted,
    Miss,
    Problem,
    Reason,
    Site,
    Synced,
    TierAnswer,
    TierState,
    Transfer,
    Verified,
)
from guardcache._signing import SigningAlgorithm, SigningKey
from guardcache._tier import Tier, TierCall, TierLease, TierObject
from guardcache._values import Enum, Hint, Hints, Node, Size, Symbolic, Tensor, Value

__version__ = _version()

__all__ = [
    "ArgumentError",
    "Asked",
    "Attachment",
    "BusyError",
    "BypassError",
    "Cache",
    "Compile",
    "CompileAsked",
    "Compiled",
    "CorruptError",
    "DescriptionError",
    "Durability",
    "Entry",
    "Enum",
    "Error",
    "FencedError",
    "FormatError",
    "Fresh",
    "Graph",
    "Guards",
    "Hint",
    "Hints",
    "Hit",
    "Inserted",
    "InternalError",
    "LimitError",
    "Miss",
    "NoSpaceError",
    "Node",
    "NotFoundError",
    "NotStoredWarning",
    "ParseError",
    "Problem",
    "ReadOnlyError",
    "Reason",
    "SigningAlgorithm",
    "SigningKey",
    "Site",
    "Size",
    "StoreError",
    "Symbolic",
    "Synced",
    "Tensor",
    "Tier",
    "TierAnswer",
    "TierCall",
    "TierLease",
    "TierObject",
    "TierState",
    "Transfer",
    "Trust",
    "UntrustedError",
    "Value",
    "Variant",
    "Verdict",
    "Verified",
    "default_directory",
    "load_kinds",
    "open",
    "settings",
]
