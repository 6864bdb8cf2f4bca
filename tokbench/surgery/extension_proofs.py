"""What must hold of texts after tokens were added: only new tokens change them, and only for the better.

Where new pieces are merged last, a text keeps its tokens, or some are joined. Of a Unigram and of a WordPiece a text
without a new piece keeps its tokens: what was the best sum, or the longest match, of fewer pieces is that of more, too,
as long as none of the others takes its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.wording import quoted
from tokbench.errors import SurgeryError
from tokbench.surgery.proofs import SegmentationProof, wrong
from tokbench.surgery.shared_tokens import tokens_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer

Rule = Callable[["list[int]", "list[int]"], "str | None"]
"""The ids of a text before and after → what of that must not be."""

_HALF_UNIT = 2.0**-24
"""By how much a sum in single precision is wrong at most, as a share of it."""


def check_texts(
    texts: Sequence[str], *, tokenizers: tuple[Tokenizer, Tokenizer], rule: Rule, threads: int | None
) -> SegmentationProof:
    """Compare the tokens of texts, and of each distinct word of theirs, with those before.

    Args:
        texts: some of a corpus.
        tokenizers: the old and the new one, as they run.
        rule: why other tokens than before are a fault, in words; None where they are not.
        threads: for encoding.

    Raises:
        SurgeryError: something is that must not be.
    """
    words = list(dict.fromkeys(word for text in texts for word in text.split()))
    _unchanged(texts, tokenizers, rule, threads)
    unchanged = _unchanged(words, tokenizers, rule, threads)
    return SegmentationProof(len(texts), unchanged=unchanged, changed=len(words) - unchanged)


def _unchanged(
    texts: Sequence[str], tokenizers: tuple[Tokenizer, Tokenizer], rule: Rule, threads: int | None
) -> int:
    old, new = (tokenizer.encode_batch(texts, threads=threads) for tokenizer in tokenizers)
    unchanged = 0
    for number, text in enumerate(texts):
        before, after = old[number].tolist(), new[number].tolist()
        if before == after:
            unchanged += 1
        elif reason := rule(before, after):
            raise wrong(f"{quoted(text)} {reason}")
    return unchanged


class Coarser:
    """A text has no token boundary that it had not before.

    Args:
        old: the tokenizer.
        new: it with more tokens.
        unknown: the id of what is not a token; text with it is not judged, as some of that may be known now.
    """

    def __init__(self, old: Tokenizer, new: Tokenizer, *, unknown: int | None = None) -> None:
        self._old, self._new = _sizes(old), _sizes(new)
        self._unknown = unknown

    def __call__(self, before: list[int], after: list[int]) -> str | None:
        """What must not be."""
        if self._unknown in before:
            return None
        old, new = np.cumsum(self._old[before]), np.cumsum(self._new[after])
        if old[-1:] != new[-1:] or not np.isin(new, old, assume_unique=False).all():
            return "would get token boundaries that it had not"
        return None


@dataclass(frozen=True, slots=True)
class OnlyByNewPieces:
    """A text has other tokens only where some of them are new, and none that is unknown where there was none.

    Attributes:
        old: the tokenizer.
        new: it with more tokens.
        first_id: of those.
        unknown: the id of what is not a token; None where there is none.
    """

    old: Tokenizer
    new: Tokenizer
    first_id: int
    unknown: int | None

    def __call__(self, before: list[int], after: list[int]) -> str | None:
        """What must not be."""
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
            return "would decode to another text than before"
        return None


@dataclass(frozen=True, slots=True)
class LikelierByNewPieces:
    """The same of a Unigram, whose sums of scores do not fall.

    Attributes:
        changes: what else must hold.
        scores: id → score of pieces; texts with other tokens are not added up.
    """

    changes: OnlyByNewPieces
    scores: Sequence[float | None]

    def __call__(self, before: list[int], after: list[int]) -> str | None:
        """What must not be."""
        if (reason := self.changes(before, after)) is not None:
            return reason
        old, new = ([self.scores[id] for id in ids] for ids in (before, after))
        if None in old or None in new:
            return None
        was, now = sum(filter(None, old)), sum(filter(None, new))
        # The library rounds each sum on the way.
        if now < was - (len(before) + len(after)) * abs(was) * _HALF_UNIT:
            return f"would have the sum of scores {now:.4f}, and had {was:.4f}"
        return None


def _sizes(tokenizer: Tokenizer) -> NDArray[np.int64]:
    found = np.zeros(tokenizer.info.vocab_size, np.int64)
    for id, data in tokens_of(tokenizer):
        found[id] = len(data)
    return found
