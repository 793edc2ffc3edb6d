"""The search in pickles, which stands in for bytes.find."""

from __future__ import annotations

import random

import pytest

from guardcache import _native


def places(content: bytes, text: bytes) -> list[int]:
    return [at for at in range(len(content)) if content.startswith(text, at)]


@pytest.mark.parametrize("text", [b"at", b" at", b"0xa\x94", b"aaaa"])
def test_every_place_is_found(text: bytes) -> None:
    letters = random.Random(7)
    for size in (*range(8), 63, 64, 65, 66, 67, 68, 127, 128, 129, 1000):
        content = bytes(letters.choices(b" at0x\x94", k=size)) + text
        for pair in range(len(text) - 1):
            for searched in (content, content[:-1]):
                assert _native.places(searched, text, pair) == places(searched, text)


@pytest.mark.parametrize(("text", "pair"), [(b"ab", 1), (b"ab", -1), (b"a", 0), (b"", 0), (b"ab", 2**63 - 1)])
def test_a_pair_lies_within_the_text(text: bytes, pair: int) -> None:
    with pytest.raises(ValueError, match="pair"):
        _native.places(b"ab" * 100, text, pair)
