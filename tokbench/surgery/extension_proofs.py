"""Rules for texts after tokens were added: only new tokens change a segmentation, and only for the better.

If new pieces are merged last, a text keeps its tokens, or some of them are joined. Under a Unigram or WordPiece, a
text whose segmentation has no new piece keeps its tokens: a best sum or longest match among all pieces that uses old
pieces only was also the best among the old ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.wording import quoted
from tokbench.errors import SurgeryError
from tokbench.surgery.shared_tokens import tokens_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer

_HALF_UNIT = 2.0**-24
"""Maximum relative rounding error of a single-precision addition."""


class Coarser:
    """The rule that a text has no new token boundaries.

    Args:
        old: the old tokenizer.
        new: the new tokenizer.
        unknown: id of the unknown token; texts with it are exempt, since parts of them may be known now.
    """

    def __init__(self, old: Tokenizer, new: Tokenizer, *, unknown: int | None = None) -> None:
        self._old, self._new = _sizes(old), _sizes(new)
        self._unknown = unknown

    def __call__(self, before: list[int], after: list[int]) -> str | None:
        """Return a description of the fault; None if there is none."""
        if self._unknown in before:
            return None
        old, new = np.cumsum(self._old[before]), np.cumsum(self._new[after])
        if old[-1:] != new[-1:] or not np.isin(new, old, assume_unique=False).all():
            return "would get token boundaries that it had not"
        return None


@dataclass(frozen=True, slots=True)
class OnlyByNewPieces:
    """The rule that changed texts contain a new token, decode to the same text, and have no new unknown token.

    Attributes:
        old: the old tokenizer.
        new: the new tokenizer.
        first_id: id of the first new token.
        unknown: id of the unknown token; None if there is none.
    """

    old: Tokenizer
    new: Tokenizer
    first_id: int
    unknown: int | None

    def __call__(self, before: list[int], after: list[int]) -> str | None:
        """Return a description of the fault; None if there is none."""
        if max(after, default=0) < self.first_id:
            return "would have other tokens, though none of them is new"
        if self.unknown in before:
            return None
        if self.unknown in after:
            raise SurgeryError(
                f"{quoted(self.old.decode(before))} would become unknown: what is left after a new piece "
                f"is not a piece",
                hint="leave that word out, or name one that ends where others begin",
            )
        if self.old.decode_bytes(before) != self.new.decode_bytes(after):
            return "would decode to a different text"
        return None


@dataclass(frozen=True, slots=True)
class LikelierByNewPieces:
    """The rule for a Unigram: `OnlyByNewPieces`, and the sum of scores does not fall.

    Attributes:
        changes: the first part of the rule.
        scores: score of each id, None for other tokens; sums of texts with such tokens are not compared.
    """

    changes: OnlyByNewPieces
    scores: Sequence[float | None]

    def __call__(self, before: list[int], after: list[int]) -> str | None:
        """Return a description of the fault; None if there is none."""
        if (reason := self.changes(before, after)) is not None:
            return reason
        old, new = ([self.scores[id] for id in ids] for ids in (before, after))
        if None in old or None in new:
            return None
        was, now = sum(filter(None, old)), sum(filter(None, new))
        # The library rounds every intermediate sum.
        if now < was - (len(before) + len(after)) * abs(was) * _HALF_UNIT:
            return f"would have the sum of scores {now:.4f}, and had {was:.4f}"
        return None


def _sizes(tokenizer: Tokenizer) -> NDArray[np.int64]:
    found = np.zeros(tokenizer.info.vocab_size, np.int64)
    for id, data in tokens_of(tokenizer):
        found[id] = len(data)
    return found
