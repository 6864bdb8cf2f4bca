"""The two sides of a split corpus: a document's bytes alone decide whether it is held out."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b, sha256

from tokbench.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a split: documents whose keyed hash is below the threshold are held out."""

    key: bytes
    threshold: int
    held_out: bool

    def has(self, text: str) -> bool:
        """Whether a document is on this side."""
        digest = blake2b(text.encode(), digest_size=8, key=self.key).digest()
        return (int.from_bytes(digest, "big") < self.threshold) == self.held_out


def sides_of(held_out: float, *, key: str) -> tuple[Side, Side]:
    """Return the training side and the held-out side.

    Args:
        held_out: the approximate share of documents to hold out.
        key: determines the split; another key gives another split.

    Raises:
        ConfigError: `held_out` is not between 0 and 1.

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
