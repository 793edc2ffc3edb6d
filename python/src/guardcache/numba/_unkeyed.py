"""Why there is no safe key."""

from __future__ import annotations


class Unkeyed(Exception):  # noqa: N818 -- it's an answer, not a fault
    """What is read can't be described so that equal descriptions mean equal code. The text is for people."""
