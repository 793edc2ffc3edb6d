"""Records, named tuples and dictionaries of options that are made in a twentieth of the time of Python's own.

`dataclass` and `NamedTuple` write source text for each class and compile it, `NamedTuple` and `TypedDict` compile each
annotation. A process that imports guardcache makes sixty such classes, and may exist only for a hit of a few
milliseconds. Type checkers take these for Python's own; what they share the methods of is written below.

>>> class Point(Record):
...     x: int
...     y: int = 0
>>> Point(1)
Point(x=1, y=0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, FrozenInstanceError, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

__all__ = ["NamedTuple", "Record", "TypedDict", "field"]

_set = object.__setattr__


def _own_fields(space: dict[str, Any]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The public names that a class annotates; and what it assigns to them, which are their defaults."""
    names = tuple(name for name in space.get("__annotations__", ()) if not name.startswith("_"))
    return names, {name: space.pop(name) for name in names if name in space}


# ---- records: frozen dataclasses with slots ----


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class _RecordType(type):
    def __new__(meta, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> _RecordType:
        own, defaults = _own_fields(space)
        inherited = [base for base in bases if isinstance(base, _RecordType)]
        for base in inherited:
            defaults = {**base._defaults, **defaults}
        fields = tuple(dict.fromkeys([*(field for base in inherited for field in base._fields), *own]))
        space |= {"__slots__": own, "_fields": fields, "_defaults": defaults, "__match_args__": fields}
        space.setdefault("__doc__", f"{name}({', '.join(fields)})")
        return super().__new__(meta, name, bases, space)

    _fields: tuple[str, ...]
    _defaults: dict[str, Any]


class Record(metaclass=_RecordType):
    """Equal if its class and all fields are; may be pickled and hashed. Fields of base classes come first."""

    _fields: ClassVar[tuple[str, ...]]
    _defaults: ClassVar[dict[str, Any]]

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = self._fields
        if len(values) > len(fields):
            raise TypeError(f"{type(self).__name__}() takes {len(fields)} values, {len(values)} were given")
        for name, value in zip(fields, values, strict=False):
            _set(self, name, value)
        for name in fields[len(values) :]:
            _set(self, name, named.pop(name) if name in named else self._default(name))
        if named:
            raise TypeError(f"{type(self).__name__}() got an unexpected or repeated argument {next(iter(named))!r}")

    def _default(self, name: str) -> Any:
        try:
            value = self._defaults[name]
        except KeyError:
            raise TypeError(f"{type(self).__name__}() lacks a value for {name!r}") from None
        if not isinstance(value, Field):
            return value
        return value.default if value.default_factory is MISSING else value.default_factory()

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self._fields)

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        hidden = {name for name, value in self._defaults.items() if isinstance(value, Field) and not value.repr}
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields if name not in hidden)
        return f"{type(self).__qualname__}({inside})"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self), self._values()


# ---- named tuples and dictionaries of options ----

if TYPE_CHECKING:
    from typing import NamedTuple, TypedDict
else:

    class _TupleType(type):
        def __new__(meta, name, bases, space):
            fields, defaults = _own_fields(space)
            space |= {field: property(itemgetter(place)) for place, field in enumerate(fields)}
            space |= {"__slots__": (), "_fields": fields, "_field_defaults": defaults, "__match_args__": fields}
            space.setdefault("__doc__", f"{name}({', '.join(fields)})")
            return super().__new__(meta, name, bases, space)

    class NamedTuple(tuple, metaclass=_TupleType):
        def __new__(cls, *values, **named):
            if named or len(values) != len(cls._fields):
                values = cls._complete(values, named)
            return tuple.__new__(cls, values)

        @classmethod
        def _complete(cls, values, named):
            rest = cls._fields[len(values) :]
            unknown = named.keys() - set(rest)
            if len(values) > len(cls._fields) or unknown:
                what = f"an unexpected or repeated argument {unknown.pop()!r}" if unknown else "too many values"
                raise TypeError(f"{cls.__name__}() got {what}")
            given = {**cls._field_defaults, **named}
            if missing := [name for name in rest if name not in given]:
                raise TypeError(f"{cls.__name__}() lacks a value for {missing[0]!r}")
            return (*values, *(given[name] for name in rest))

        @classmethod
        def _make(cls, values: Iterable[Any]):
            return cls(*values)

        def _replace(self, **changed):
            return type(self)(**{**self._asdict(), **changed})

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            inside = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{type(self).__qualname__}({inside})"

        def __getnewargs__(self):
            return tuple(self)

    class TypedDict(dict):
        def __init_subclass__(cls, total=True):
            inherited = (vars(base).get("__annotations__", {}) for base in reversed(cls.__mro__))
            cls.__annotations__ = {name: said for annotations in inherited for name, said in annotations.items()}
