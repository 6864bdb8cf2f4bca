"""Random segmentations of a text into tokens with spans, from any tokenizer that can sample ids."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from tokbench.core.capabilities import SupportsSampling
from tokbench.core.tokens import Segmentation, Span, SpecialPolicy, Token, TokenKind
from tokbench.core.truncation import check_number
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.core.interfaces import Tokenizer


@dataclass(frozen=True, slots=True)
class Sampling:
    """The parameters of a random segmentation.

    Attributes:
        dropout: how far to depart from `encode`: the `alpha` of `SupportsSampling.sample`.
        seed: selects the segmentation.
    """

    dropout: float
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise `ConfigError` for a seed that is not a whole number from 0: `random` drops the sign."""
        check_number("seed", self.seed, smallest=0, optional=False)


def sample_ids(tokenizer: Tokenizer, text: str, sampling: Sampling, *, special: SpecialPolicy) -> list[int]:
    """Return the ids of a random segmentation.

    Raises:
        ConfigError: the tokenizer cannot sample, or special tokens are requested as well.
    """
    if special is not SpecialPolicy.TEXT:
        raise ConfigError(
            "with dropout every text is ordinary text",
            hint=f"leave out --special-policy {special.value}, or --dropout",
        )
    if not isinstance(tokenizer, SupportsSampling):
        info = tokenizer.info
        on_library = info.kernel not in ("native", "python") and info.backend in ("bpe", "unigram")
        raise ConfigError(
            f"{info.name!r} ({info.backend}) cannot sample segmentations, which --dropout needs",
            hint=f"it runs on {info.kernel}, which does not; --engine native says whether it can run without it"
            if on_library
            else "leave out --dropout, or name a BPE or Unigram tokenizer",
        )
    return tokenizer.sample(text, seed=sampling.seed, alpha=sampling.dropout)


def sample_segmentation(
    tokenizer: Tokenizer, text: str, sampling: Sampling, *, special: SpecialPolicy
) -> Segmentation:
    """Return the tokens of a random segmentation; their ids equal those of `sample_ids`.

    Their spans follow from the tokenizer's own segmentation, whose pieces are the same bytes cut elsewhere: an offset
    inside one of its tokens is exact where the token's bytes are those of the text, and otherwise the token's start or
    stop (a normalizer, a prefix space).

    Raises:
        ConfigError: as `sample_ids`.
    """
    ids = sample_ids(tokenizer, text, sampling, special=special)
    usual = tokenizer.segment(text).tokens
    kinds = {token.id: token.kind for token in usual}
    pieces = [tokenizer.token_bytes(id) for id in ids]
    offsets = _TextOffsets(usual, len(text.encode()))
    ends = accumulate(map(len, pieces), initial=0)
    edges = accumulate(map(offsets.of, ends), max)  # tokens of one character may share an offset
    return Segmentation(
        text=text,
        tokens=tuple(
            Token(id, piece, Span(start, stop), kinds.get(id, TokenKind.NORMAL))
            for id, piece, (start, stop) in zip(ids, pieces, pairwise(edges), strict=True)
        ),
    )


class _TextOffsets:
    """Maps offsets in the joined pieces of a segmentation to offsets in its text."""

    def __init__(self, tokens: Sequence[Token], size: int) -> None:
        self._tokens = tokens
        self._size = size
        self._starts = list(accumulate((len(token.piece) for token in tokens), initial=0))

    def of(self, offset: int) -> int:
        """Return the offset in the text."""
        if offset >= self._starts[-1] or not self._tokens:
            return self._tokens[-1].span.stop if self._tokens else self._size
        number = bisect_right(self._starts, offset) - 1
        token, inside = self._tokens[number], offset - self._starts[number]
        surplus = len(token.piece) - token.span.length  # a prefix space that the text does not have
        return min(token.span.start + max(inside - max(surplus, 0), 0), token.span.stop)
