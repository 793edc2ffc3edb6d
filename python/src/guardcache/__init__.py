"""A cache for what graph compilers produce: candidates chosen by guards, every miss explained.

>>> import guardcache
>>> with guardcache.open() as cache:
...     found = cache.lookup(graph, hints={"s0": 48})
...     if found:
...         run(found.payload)
...     else:
...         print(found.reason)
...         print(cache.explain(graph, hints={"s0": 48}))

`guardcache.torch.install()` puts it under ``torch.compile``, `guardcache.jax.install()` under `jax.jit`.
"""

from guardcache._cache import Cache
from guardcache._cache import open as open  # not in __all__, since there it would replace the builtin
from guardcache._cache.blobs import Blob, Subdirectory
from guardcache._cache.compiles import Compile, Compiled, Fresh
from guardcache._cache.events import Event, Listener, log_event
from guardcache._cache.fleet import Synced, TierAnswer, TierState
from guardcache._cache.maintain import Collected, Fact, Problem, Repaired, Verified, Victim
from guardcache._cache.many import Many, Module, SoFar, Summary
from guardcache._cache.memo import Memoized
from guardcache._cache.observe import JournalEntry
from guardcache._cache.options import (
    Asked,
    CacheOptions,
    Chosen,
    CompileAsked,
    Durability,
    EachAsked,
    Selected,
    Trust,
    Variant,
)
from guardcache._cache.results import Attachment, Entry, Hit, Inserted, Miss, Reason
from guardcache._cache.settings import Setting, default_directory, setting_list, settings, write_setting
from guardcache._cache.transfer import Artifacts, Transfer, show_export
from guardcache._cache.tuning import Best, BestFound, Bundle, Kernel, Site, Timing, source_hash
from guardcache._compare import Comparison, compare, compare_data, diff
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
from guardcache._fingerprint import Fingerprint, FingerprintChange, FingerprintLine
from guardcache._graph import Change, Graph, Line
from guardcache._guards import Guards, Prepared, Verdict
from guardcache._kinds import load_kinds
from guardcache._native import version as _version
from guardcache._rules import Rule, RuleProblem, Rules, Tested
from guardcache._signing import SigningAlgorithm, SigningKey
from guardcache._tier import Tier, TierCall, TierLease, TierObject
from guardcache._values import Enum, Hint, Hints, Json, Node, Size, Symbolic, Tensor, Value

__version__ = _version()

__all__ = [
    "ArgumentError",
    "Artifacts",
    "Asked",
    "Attachment",
    "Best",
    "BestFound",
    "Blob",
    "Bundle",
    "BusyError",
    "BypassError",
    "Cache",
    "CacheOptions",
    "Change",
    "Chosen",
    "Collected",
    "Comparison",
    "Compile",
    "CompileAsked",
    "Compiled",
    "CorruptError",
    "DescriptionError",
    "Durability",
    "EachAsked",
    "Entry",
    "Enum",
    "Error",
    "Event",
    "Fact",
    "FencedError",
    "Fingerprint",
    "FingerprintChange",
    "FingerprintLine",
    "FormatError",
    "Fresh",
    "Graph",
    "Guards",
    "Hint",
    "Hints",
    "Hit",
    "Inserted",
    "InternalError",
    "JournalEntry",
    "Json",
    "Kernel",
    "LimitError",
    "Line",
    "Listener",
    "Many",
    "Memoized",
    "Miss",
    "Module",
    "NoSpaceError",
    "Node",
    "NotFoundError",
    "NotStoredWarning",
    "ParseError",
    "Prepared",
    "Problem",
    "ReadOnlyError",
    "Reason",
    "Repaired",
    "Rule",
    "RuleProblem",
    "Rules",
    "Selected",
    "Setting",
    "SigningAlgorithm",
    "SigningKey",
    "Site",
    "Size",
    "SoFar",
    "StoreError",
    "Subdirectory",
    "Summary",
    "Symbolic",
    "Synced",
    "Tensor",
    "Tested",
    "Tier",
    "TierAnswer",
    "TierCall",
    "TierLease",
    "TierObject",
    "TierState",
    "Timing",
    "Transfer",
    "Trust",
    "UntrustedError",
    "Value",
    "Variant",
    "Verdict",
    "Verified",
    "Victim",
    "compare",
    "compare_data",
    "default_directory",
    "diff",
    "load_kinds",
    "log_event",
    "setting_list",
    "settings",
    "show_export",
    "source_hash",
    "write_setting",
]
