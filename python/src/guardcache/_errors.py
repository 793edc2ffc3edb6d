"""What can go wrong. A miss is not an error: see `Miss`."""

from __future__ import annotations


class Error(Exception):
    """Base of all errors of this package; `status` is the library's name for it (``ERROR_IO``)."""

    def __init__(self, message: str, *, status: str = "", line: int = 0, column: int = 0, path: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.line = line
        """1-based line in the text concerned, 0 where there is none."""
        self.column = column
        """1-based column in bytes, 0 where there is none."""
        self.path = path
        """Place in a description (``graph.nodes[3].kwargs.dim``), empty where there is none."""
        self.compiled: object = None
        """Of `Cache.get_or_compile` on a strict cache: what was compiled, where only storing it failed."""


class NotStoredWarning(UserWarning):
    """What was compiled couldn't be stored, and is used all the same."""


class ArgumentError(Error, ValueError):
    """An argument is not valid."""


class ParseError(Error, ValueError):
    """A guard, a description or a key could not be parsed."""


class DescriptionError(Error, ValueError):
    """A text is JSON, but no description."""


class BypassError(Error):
    """The graph can't be described safely, so it has no key."""


class LimitError(Error):
    """Something is larger than the library accepts."""


class StoreError(Error, OSError):
    """The operating system refused a file operation."""


class NoSpaceError(StoreError):
    """The file system or the quota is full."""


class ReadOnlyError(StoreError, PermissionError):
    """The cache is read-only."""


class UntrustedError(StoreError, PermissionError):
    """The directory belongs to somebody else, or everybody may write to it."""


class BusyError(StoreError, TimeoutError):
    """Somebody else holds a lock for too long."""


class FencedError(Error):
    """Raised by a `Tier`'s `publish` and `remove`: somebody else leads by now, with a larger token."""


class FormatError(Error):
    """Stored bytes are of a newer version, or in no format of guardcache's."""


class CorruptError(Error):
    """Stored bytes are damaged."""


class NotFoundError(Error, LookupError):
    """There is no such entry."""


class InternalError(Error):
    """A defect in guardcache."""


_CLASSES: dict[str, type[Error]] = {
    "REFUSED": BypassError,
    "ERROR_ARGUMENT": ArgumentError,
    "ERROR_IO": StoreError,
    "ERROR_SYNTAX": ParseError,
    "ERROR_DESCRIPTION": DescriptionError,
    "ERROR_LIMIT": LimitError,
    "ERROR_FORMAT": FormatError,
    "ERROR_CORRUPT": CorruptError,
    "ERROR_READ_ONLY": ReadOnlyError,
    "ERROR_NOT_FOUND": NotFoundError,
    "ERROR_NO_SPACE": NoSpaceError,
    "ERROR_BUSY": BusyError,
    "ERROR_UNTRUSTED": UntrustedError,
    "ERROR_INTERNAL": InternalError,
}


def make_error(status: str, message: str, line: int, column: int, path: str) -> Error:
    """Called by the compiled half to raise what the library reported."""
    kind = _CLASSES.get(status, InternalError)
    return kind(message, status=status, line=line, column=column, path=path)
