from collections.abc import Callable, Mapping, Sequence
from typing import Any

from guardcache._tier import Tier
from guardcache._values import Hint, Node, Value

_Request = tuple[
    str | None,  # variant
    str | None,  # expect_variant
    Mapping[str, str] | None,  # provides
    bool,  # accept_renames
    str | None,  # label
    Mapping[str, str] | None,  # sources
    Callable[[tuple[str, ...]], object] | None,  # guard_test
    str | None,  # bypass
    str | None,  # why_asked
]
_Hit = tuple[
    str,  # key
    str,  # entry
    Payload,
    bytes,  # metadata
    tuple[str, ...],  # guards
    list[tuple[str, str]],  # renames
    bool,  # renamed
    str,  # variant
    int,  # priority
    int,  # compile_ns
    str,  # note
    tuple[str, ...],  # attachments
    str,  # tier
    dict[str, int],  # deltas
]
_CompileOptions = tuple[
    bool,  # refresh
    int,  # min_compile_ns
    bool,  # reader
    bool,  # follow
    Callable[[_Hit], object] | None,  # post_load
    tuple[str, int] | None,  # group
    int,  # lease_timeout_ns
]
_Product = tuple[str, str, str, str, int, Exception | None]  # key, reason, note, status, compile_ns, trouble
_Miss = tuple[str, str, str, str]  # key, reason, note, local_reason
_Verdict = tuple[int, int, str, str]  # truth, guard, exception, message
_Entry = tuple[
    Sequence[str],  # guards
    bytes | bytearray | memoryview,  # payload
    bytes,  # metadata
    str | None,  # variant
    int,  # priority
    Mapping[str, str] | None,  # requirements
    int,  # compile_ns
    str | None,  # label
    bytes | None,  # identity
    tuple[tuple[str, bytes | bytearray | memoryview, bool], ...],  # attachments: name, bytes, executable
    Mapping[str, int] | None,  # deltas
]
_Inserted = tuple[bool, str, str, str, bool, _Verdict, str]  # stored, reason, key, entry, existed, verdict, shadows

_SigningKey = tuple[str, bytes | None, int, bytes | None]  # id, secret, algorithm, public key

def version() -> str: ...
def reasons() -> list[tuple[str, str]]: ...
def settings(directory: str, namespace: str | None, /) -> tuple[dict[str, Any], list[str]]: ...
def kinds_load(path: str | None, /) -> list[str]: ...
def signing_key_read(file: str, /) -> _SigningKey: ...
def signing_key_make(file: str, id: str | None, algorithm: int, /) -> None: ...
def places(content: bytes, text: bytes, pair: int, /) -> list[int]: ...
def digest_outside(content: bytes, parts: list[tuple[int, int]], more: bytes, /) -> bytes: ...
def callbacks_end(seconds: float, /) -> bool: ...
def callbacks_forked() -> None: ...

class Payload:
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Compile:
    def end(self, entry: _Entry | Exception | None, do_not_store: str | None, /) -> _Hit | _Product | None: ...

class Graph:
    def __init__(self, kind: str, key: str | None, /) -> None: ...
    @classmethod
    def read(cls, text: str | bytes, name: str, /) -> Graph: ...
    def input(self, name: str, value: Value, /) -> Node: ...
    def node(self, op: str, target: str, args: tuple[Value, ...], kwargs: dict[str, Value], /) -> Node: ...
    def output(self, value: Value, /) -> None: ...
    def component(self, name: str, value: Value, /) -> None: ...
    def subgraph_begin(self, name: str, /) -> None: ...
    def subgraph_end(self) -> None: ...
    def line(self, name: str, hash: str, text: str, /) -> None: ...
    def kind(self) -> str: ...
    def key(self) -> str: ...
    def components(self) -> list[tuple[str, str]]: ...
    def symbols(self) -> list[tuple[str, str]]: ...
    def canonical(self) -> bytes: ...

class Guards:
    def __init__(self, texts: Sequence[str], /) -> None: ...
    def evaluate(self, hints: Mapping[str, Hint], /) -> _Verdict: ...
    def show(self, form: int, /) -> str: ...

class UserTier:
    def __init__(
        self,
        tier: Tier,
        name: str,
        touch: bool,
        share: bool,
        leases: bool,
        walk: bool,
        read_only: bool,
        ttl_ns: int,
        timeout_ns: int,
        /,
    ) -> None: ...

class Cache:
    def __init__(
        self,
        directory: str,
        read_only: bool,
        strict: bool,
        disabled: bool,
        unsafe_skip_guards: bool,
        refresh: bool,
        bypass: str | None,
        durability: int,
        trust: int,
        namespace: str | None,
        max_candidates: int,
        max_size: int,
        memory_bytes: int,
        compression_level: int,
        record: str | None,
        log: Callable[[str], object] | None,
        signing: tuple[_SigningKey, ...],
        require_signature: bool,
        columns: int,
        color: bool,
        tiers: str | None,
        user_tiers: tuple[UserTier, ...],
        flush_ns: int,
        /,
    ) -> None: ...
    def close(self) -> None: ...
    def closed(self) -> bool: ...
    def idle(self) -> bool: ...
    def save(self) -> str: ...
    @classmethod
    def restore(
        cls, text: str, tiers: str | None, user_tiers: tuple[UserTier, ...], log: Callable[[str], object] | None, /
    ) -> Cache: ...
    def tiers(self) -> list[tuple[Any, ...]]: ...
    def ping(self) -> list[tuple[Any, ...]]: ...
    def flush(self, timeout_ns: int, /) -> None: ...
    def sync(
        self, url: str | None, push: bool, pull: bool, progress: Callable[[int, int], object] | None, /
    ) -> tuple[int, int, int, int, int]: ...
    def lookup(self, graph: Graph, hints: Mapping[str, Hint] | None, request: _Request, /) -> _Hit | _Miss: ...
    def explain(self, graph: Graph, hints: Mapping[str, Hint] | None, request: _Request, form: int, /) -> str: ...
    def explain_past(self, last: int, label: str | None, key: str | None, form: int, /) -> str: ...
    def place(self, payload: Payload, directory: str, name: str | None, /) -> None: ...
    def attachment(self, payload: Payload, name: str, /) -> bytes: ...
    def insert(self, graph: Graph, hints: Mapping[str, Hint] | None, entry: _Entry, /) -> _Inserted: ...
    def entries(self, key: str | None, /) -> list[tuple[Any, ...]]: ...
    def remove(self, key: str, entry: str, /) -> None: ...
    def begin(
        self,
        graph: Graph,
        hints: Mapping[str, Hint] | None,
        request: _Request,
        options: _CompileOptions,
        /,
    ) -> tuple[_Hit, None] | tuple[_Miss, Compile]: ...
    def get_or_compile(
        self,
        graph: Graph,
        hints: Mapping[str, Hint] | None,
        request: _Request,
        options: _CompileOptions,
        compile: Callable[[], tuple[_Entry | Exception, str | None]],
        /,
    ) -> _Hit | _Product: ...
    def timings(
        self,
        site: tuple[str, str, str, str | None, str],  # system, op, inputs, hint, precision
        choices: Sequence[str],
        benchmark: Callable[[], Sequence[float]] | None,
        /,
    ) -> tuple[bool, tuple[float, ...], str]: ...
    def verify(self) -> tuple[int, int, int, list[tuple[str, str]]]: ...
    def export(
        self,
        file: str,
        key: str | None,
        label: str | None,
        namespace: str | None,
        since_ns: int,
        until_ns: int,
        entries_only: bool,
        /,
    ) -> tuple[Any, ...]: ...
    def import_file(self, file: str, provides: Mapping[str, str] | None, /) -> tuple[Any, ...]: ...
