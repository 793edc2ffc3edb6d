"""Which of numba's types say by their text all that counts about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from numba.core import types

from guardcache.numba._unkeyed import Unkeyed

# Each class whose text is complete but for what is inside, and what is inside: types, or values by "=".
_INSIDE: dict[type, tuple[str, ...]] = {
    types.Integer: (),
    types.Float: (),
    types.Complex: (),
    types.Boolean: (),
    types.NoneType: (),
    types.EllipsisType: (),
    types.UnicodeType: (),
    types.UnicodeCharSeq: (),
    types.CharSeq: (),
    types.Bytes: ("dtype",),
    types.ByteArray: ("dtype",),
    types.Array: ("dtype",),
    types.Record: (),
    types.NPDatetime: (),
    types.NPTimedelta: (),
    types.SliceType: (),
    types.SliceLiteral: (),
    types.RangeType: ("dtype",),
    types.UniTuple: ("dtype",),
    types.Tuple: ("types",),
    types.StarArgTuple: ("types",),
    types.StarArgUniTuple: ("dtype",),
    types.Optional: ("type",),
    types.List: ("dtype",),
    types.Set: ("dtype",),
    types.ListType: ("item_type",),
    types.DictType: ("key_type", "value_type"),
    types.IntegerLiteral: (),
    types.BooleanLiteral: (),
    types.StringLiteral: (),
    types.Omitted: ("=value",),
    types.PyObject: (),
    types.DType: ("dtype",),
    types.NumberClass: ("instance_type",),
    types.CPointer: ("dtype",),
    types.NamedTuple: ("=instance_class", "types"),
    types.NamedUniTuple: ("=instance_class", "dtype"),
    types.EnumMember: ("=instance_class", "dtype"),
    types.IntEnumMember: ("=instance_class", "dtype"),
}


def told(type_: Any, value: Callable[[Any], Any]) -> Any:
    """The type's text, and what of it a text can't tell, by `value`; `Unkeyed` for a type that isn't known."""
    found = [value(inner) for inner in _values(type_)]
    return [str(type_), *found] if found else str(type_)


def _values(type_: Any) -> Iterator[Any]:
    inside = _INSIDE.get(type(type_))
    if inside is None:
        raise Unkeyed(f"the type {type(type_).__name__} isn't known by its name alone")
    for name in inside:
        inner = getattr(type_, name.lstrip("="))
        if name.startswith("="):
            yield inner
            continue
        for one in inner if isinstance(inner, tuple) else (inner,):
            yield from _values(one)
