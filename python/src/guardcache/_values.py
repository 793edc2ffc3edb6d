"""The kinds of values a description has and Python lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, SupportsFloat, SupportsIndex, TypeAlias, Union

from guardcache._classes import NamedTuple

if TYPE_CHECKING:
    from guardcache._fingerprint import Fingerprint


class Node(int):
    """A node of the graph it was made with."""

    __slots__ = ()


class Symbolic(str):
    """An integer expression over symbols, such as ``Symbolic("4*s0 + 1")``; names in it are renamed canonically."""

    __slots__ = ()


class Enum(str):
    """A named constant, such as ``Enum("torch.float32")``."""

    __slots__ = ()


class Json(str):
    """A value as a description file has it: strict JSON, in which ``{"$sym": "s0"}`` and its like mean what they do
    there.
    """

    __slots__ = ()


Size: TypeAlias = Union[int, str]
"""An item of a shape: a number, or an expression over symbols."""


class Tensor(NamedTuple):
    """What counts about a tensor. `more` holds further members (see docs/formats/description.md)."""

    dtype: str
    shape: Sequence[Size]
    stride: Sequence[Size] | None = None
    device: str | None = None
    layout: str | None = None
    requires_grad: bool = False
    more: Mapping[str, Value] | None = None

    def members(self) -> dict[str, Value]:
        """The members as a description file has them; what isn't given isn't there."""
        members: dict[str, Value] = {"dtype": self.dtype, "shape": list(self.shape)}
        if self.stride is not None:
            members["stride"] = list(self.stride)
        if self.device is not None:
            members["device"] = self.device
        if self.layout is not None:
            members["layout"] = self.layout
        if self.requires_grad:
            members["requires_grad"] = True
        if self.more is not None:
            members.update(self.more)
        return members


Value: TypeAlias = Union[
    bool,
    int,
    float,
    str,
    bytes,
    Tensor,
    "Fingerprint",
    SupportsIndex,
    "Sequence[Value]",
    "Set[Value]",
    "Mapping[str, Value]",
    None,
]
"""What a description can hold. Lists, tuples and sets are told apart; so are 1, 1.0 and True. A sequence of another
type is a list, a mapping of another type a map, a number that has ``__index__`` an integer."""

Hint: TypeAlias = Union[int, float, bool, SupportsIndex, SupportsFloat, None]
"""The present value of a symbol: a number, or whatever has ``__index__`` or ``__float__``, as NumPy's scalars do."""

Hints: TypeAlias = Mapping[str, Hint]
"""Present values by the names the guards use: ``s0``, or ``t0`` for ``L['t0']``."""
