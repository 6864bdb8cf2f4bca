"""Whether two libraries add up the scores of a Unigram to the same sums, and what to report if they may not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tokbench.errors import ConfigError, ConversionError
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.formats.sentencepiece.unigram_scores import (
    caused_by_rounding,
    exact_sums,
    normal_scores,
    why_inexact,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.convert.conversion import Source
    from tokbench.convert.proof import Peer
    from tokbench.formats.sentencepiece.pieces import ModelPiece

_DIFFERENT = "SentencePiece adds up scores in single precision, tokenizers in double"
_HINT = (
    "--accept-rounding writes it anyway: where segmentations are nearly equally probable, the two may "
    "then choose different ones; a Unigram trained here has scores without rounding (round_scores, the default)"
)


@dataclass(frozen=True, slots=True)
class Rounding:
    """The effect of summing the scores of a Unigram model in two precisions.

    Attributes:
        limit: what is proved by arithmetic; None if sums may be rounded.
        accepted: a sentence about the rounding that the user accepted; None if there is nothing to accept.
        pieces: the pieces of the model, by id.
    """

    limit: str | None = None
    accepted: str | None = None
    pieces: Sequence[ModelPiece] = ()

    @property
    def limits(self) -> tuple[str, ...]:
        """Sentences about this for a proof."""
        return (self.limit,) if self.limit else ()

    def tolerant(self, peer: Peer) -> Peer:
        """Return a peer that may segment differently where only rounding decides, if that is accepted."""
        if self.accepted is None:
            return peer
        pieces = self.pieces
        return replace(peer, tolerated=lambda expected, found: caused_by_rounding(expected, found, pieces))


def rounding_of(pieces: Sequence[ModelPiece], source: Source) -> Rounding:
    """Determine the effect of rounding if another library adds up the scores of a Unigram model.

    Args:
        pieces: the pieces of the model, by id.
        source: the source of the conversion, which says whether rounding is accepted.

    Raises:
        ConversionError: sums may be rounded, and that is not accepted.
    """
    scores = normal_scores(pieces)
    symbol = next((piece.text for piece in pieces if piece.type is PieceType.USER_DEFINED), None)
    if symbol is None and (sums := exact_sums(scores)) is not None:
        return Rounding(limit=sums.sentence)
    inexact = (
        why_inexact(scores)
        if symbol is None
        else f"the score of the user-defined symbol {symbol!r} has no exact form"
    )
    why = f"{_DIFFERENT}, and {inexact}"
    if not source.accept_rounding:
        raise ConversionError(
            f"{why}, so equal ids on the tested texts do not prove that they are equal on others", hint=_HINT
        )
    return Rounding(
        accepted=f"accepted: {why}; ids differ where segmentations are equally probable but for rounding",
        pieces=pieces,
    )


def no_rounding(source: Source) -> Rounding:
    """Return the result where no library adds up scores otherwise: without scores, or in the same library.

    Raises:
        ConfigError: the user asked to accept rounding.
    """
    if source.accept_rounding:
        info = source.tokenizer.info
        why = (
            "keeps its library, which adds up its scores as before"
            if info.backend == "unigram"
            else "is not a Unigram model: no scores are rounded"
        )
        raise ConfigError(f"{info.name!r} {why}", hint="leave out --accept-rounding")
    return Rounding()
