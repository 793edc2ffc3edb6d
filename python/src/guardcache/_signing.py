"""Keys that entries are signed with, and files that have them."""

from __future__ import annotations

import enum
import os
from collections.abc import Iterable, Mapping
from typing import TypeAlias, Union

from guardcache import _native
from guardcache._classes import Record, field


class SigningAlgorithm(enum.IntEnum):
    """How entries are signed."""

    HMAC = 0
    """HMAC-SHA-256 with a secret: whoever can verify entries can sign them, too."""
    ED25519 = 1
    """A private key signs, and whoever has only the public one verifies."""


class SigningKey(Record):
    """A key that entries are signed with, or only verified. Its secret isn't part of its `repr`."""

    id: str
    """At most 63 bytes; stored in clear in every entry, so that keys can be replaced one by one."""
    secret: bytes | None = field(default=None, repr=False)
    """Of Ed25519 the 32 bytes of the seed; None: the key verifies, and signs nothing."""
    algorithm: SigningAlgorithm = SigningAlgorithm.ED25519
    public_key: bytes | None = None
    """Of Ed25519 its 32 bytes; None: computed from the seed."""

    @classmethod
    def read(cls, file: str | os.PathLike[str]) -> SigningKey:
        """From a file that ``guardcache signing-key new`` or `new` made.

        `UntrustedError` if it is somebody else's, or others may write to it, or read a secret in it.
        """
        return make_key(_native.signing_key_read(os.fspath(file)))

    @classmethod
    def new(
        cls,
        file: str | os.PathLike[str],
        id: str | None = None,
        algorithm: SigningAlgorithm = SigningAlgorithm.ED25519,
    ) -> SigningKey:
        """A new key, in a new file that only its owner may read; its public key in another one, with ``.pub`` behind
        its name. Without an id one is made up.
        """
        _native.signing_key_make(os.fspath(file), id, algorithm)
        return cls.read(file)


Signing: TypeAlias = Union[Mapping[str, bytes], Iterable[SigningKey]]


def make_key(parts: _native._SigningKey) -> SigningKey:
    name, secret, algorithm, public_key = parts
    return SigningKey(name, secret, SigningAlgorithm(algorithm), public_key)


def key_parts(signing: Signing | None) -> tuple[_native._SigningKey, ...]:
    """As the library takes them; a mapping has secrets for HMAC by their ids."""
    if isinstance(signing, Mapping):
        return tuple((name, secret, int(SigningAlgorithm.HMAC), None) for name, secret in signing.items())
    return tuple((key.id, key.secret, int(key.algorithm), key.public_key) for key in signing or ())
