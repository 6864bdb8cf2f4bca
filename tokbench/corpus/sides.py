"""The two sides of a split corpus: which documents are held out, decided by their bytes alone."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b, sha256

from tokbench.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a split: a document is held out whose keyed hash is below the threshold."""

    key: bytes
    threshold: int
    held_out: bool

    def has(self, text: str) -> bool:
        """Whether a document is on this side."""
        digest = blake2b(text.encode(), digest_size=8, key=self.key).digest()
        return (int.from_bytes(digest, "big") < self.threshold) == self.held_out


def sides_of(held_out: float, *, key: str) -> tuple[Side, Side]:
    """What is trained on and what is held out.

    Args:
        held_out: about which share of the documents is held out.
        key: another one cuts elsewhere.

    Raises:
        ConfigError: that is not a share.

    >>> training, held_out = sides_of(0.5, key="0:0")
    >>> training.has("a text"), held_out.has("a text")
    (True, False)
    """
    if not 0 < held_out < 1:
        raise ConfigError(
            f"held_out={held_out} is not a share", hint="choose one between 0 and 1, such as 0.1"
        )
    digest, threshold = sha256(key.encode()).digest(), int(held_out * (1 << 64))
    return Side(digest, threshold, held_out=False), Side(digest, threshold, held_out=True)
