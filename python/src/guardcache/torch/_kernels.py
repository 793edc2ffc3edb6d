"""What PyTorch bundles with a graph of the kernels that Triton compiled, kept beside an entry instead of inside it.

Graphs often share kernels: what is attached is stored once, and can be looked at. An entry's pickled bytes are taken
apart where a kernel's bytes lie in them, and put together again byte for byte: nothing is pickled anew, and PyTorch
reads what it wrote. A launcher that has a kernel's bytes once more has them attached too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from guardcache import Attachment

# What is smaller stays where it is: a file of its own takes a block of a disk.
_PART_MIN = 4096


class Kernel(NamedTuple):
    """One file of a compiled kernel."""

    name: str
    content: bytes


class Cut(NamedTuple):
    """Where in what is left an attachment's bytes were."""

    at: int
    name: str


class Apart(NamedTuple):
    """An entry's bytes without those of kernels."""

    rest: bytes
    cuts: tuple[Cut, ...] = ()
    files: tuple[Attachment, ...] = ()


def take_apart(content: bytes, kernels: Iterable[Kernel]) -> Apart:
    """Kernels that don't lie in the bytes as they are stay out of it."""
    known: dict[str, bytes] = {}
    for kernel in kernels:
        if len(kernel.content) >= _PART_MIN:
            known.setdefault(kernel.name, kernel.content)
    places = sorted((at, name) for name, part in known.items() for at in _places(content, part))
    rest, cuts, end, left = [], [], 0, 0
    for at, name in places:
        if at < end:
            continue
        rest.append(content[end:at])
        left += at - end
        cuts.append(Cut(left, name))
        end = at + len(known[name])
    if not cuts:
        return Apart(content)
    files = tuple(Attachment(name, known[name]) for name in sorted({cut.name for cut in cuts}))
    return Apart(b"".join([*rest, content[end:]]), tuple(cuts), files)


def _places(content: bytes, part: bytes) -> Iterable[int]:
    at = content.find(part)
    while at >= 0:
        yield at
        at = content.find(part, at + len(part))


def put_together(rest: bytes | memoryview, cuts: Sequence[Cut], read: Callable[[str], bytes]) -> bytes:
    """What was taken apart; `read` gives the bytes of an attachment."""
    parts: dict[str, bytes] = {}
    whole: list[bytes | memoryview] = []
    end = 0
    for cut in cuts:
        if cut.name not in parts:
            parts[cut.name] = read(cut.name)
        whole += [rest[end : cut.at], parts[cut.name]]
        end = cut.at
    return b"".join([*whole, rest[end:]])
