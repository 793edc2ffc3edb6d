"""Symbols of an object file renamed, before anybody links or loads it.

An object has the names of what it defines, and of what it refers to, in its symbol table; everything else in it refers
to the table's rows by number. So a new name is a new text behind the old string table, and its offset in the symbol's
row.

The format is System V's ELF, 64 bits, little-endian: header, sections, rows of SHT_SYMTAB (24 bytes: name, info, other,
section, value, size).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

_MAGIC = b"\x7fELF\x02\x01"
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_NAME = struct.Struct("<I")
_EXTENT = struct.Struct("<QQ")

# Of a section's row: where it is in the file, and how long, which stand side by side.
_EXTENT_AT = 24

_SYMTAB = 2
_UNDEFINED = 0
_LOCAL = 0
_WEAK = 2


class NotAnObjectError(ValueError):
    """The bytes aren't an object file of this kind, or are damaged."""


class Symbol(NamedTuple):
    name: str
    row: int
    """Where its row is in the file."""
    defined: bool
    """Here; else it is somebody else's."""
    local: bool
    """Nobody outside sees it."""
    weak: bool
    """Others may define it, too."""


class Object:
    """An object file's symbols, read once."""

    def __init__(self, content: bytes) -> None:
        """`NotAnObjectError` if it isn't one."""
        self._content = content
        try:
            self._table, self._strings_row, self._strings = _tables(content)
            self.symbols = tuple(self._rows())
        except (struct.error, IndexError, UnicodeDecodeError, StopIteration, ValueError) as error:
            raise NotAnObjectError(f"not an ELF object file: {error}") from None

    def _rows(self) -> Iterator[Symbol]:
        begin, size = self._table
        strings = self._strings
        for number, (name, info, _, section, _, _) in enumerate(
            _SYMBOL.iter_unpack(self._content[begin : begin + size])
        ):
            if name:
                text = strings[name : strings.index(b"\0", name)].decode()
                yield Symbol(
                    text, begin + number * _SYMBOL.size, section != _UNDEFINED, info >> 4 == _LOCAL, info >> 4 == _WEAK
                )

    def defined(self) -> list[str]:
        """The names that others can refer to."""
        return [symbol.name for symbol in self.symbols if symbol.defined and not symbol.local]

    def strong(self) -> list[str]:
        """Those of which nobody else may have one."""
        return [symbol.name for symbol in self.symbols if symbol.defined and not (symbol.local or symbol.weak)]

    def undefined(self) -> list[str]:
        """The names it refers to that are somebody else's."""
        return [symbol.name for symbol in self.symbols if not symbol.defined]

    def renamed(self, rename: Callable[[str], str]) -> bytes:
        """The object with other names, as `rename` says; the same bytes if nothing changes. What nobody outside sees
        keeps its name.
        """
        changed = [
            (symbol.row, new)
            for symbol in self.symbols
            if not symbol.local and (new := rename(symbol.name)) != symbol.name
        ]
        if not changed:
            return self._content
        made = bytearray(self._content)
        strings = bytearray(self._strings)
        for row, name in changed:
            _NAME.pack_into(made, row, len(strings))
            strings += name.encode() + b"\0"
        _EXTENT.pack_into(made, self._strings_row + _EXTENT_AT, len(made), len(strings))
        return bytes(made + strings)


def _tables(content: bytes) -> tuple[tuple[int, int], int, bytes]:
    """Where the symbol table is, the row of its string table's section, and that table."""
    if content[: len(_MAGIC)] != _MAGIC:
        raise NotAnObjectError("not an ELF object file of 64 bits, little-endian")
    header = _HEADER.unpack_from(content)
    rows_at, row_size, row_count = header[6], header[11], header[12]
    rows = [_SECTION.unpack_from(content, rows_at + number * row_size) for number in range(row_count)]
    table = next(row for row in rows if row[1] == _SYMTAB)
    strings = rows[table[6]]
    return (table[4], table[5]), rows_at + table[6] * row_size, content[strings[4] : strings[4] + strings[5]]
