"""What comes before the algorithm: what normalisation changed, and the pre-tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokbench.core.tokens import Span


@dataclass(frozen=True, slots=True)
class Change:
    """Characters that normalisation changed.

    Attributes:
        span: where they stand in the original text, in UTF-8 bytes; empty for what was put in.
        before: the characters.
        after: what they became; empty for what was dropped.
    """

    span: Span
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Alternative:
    """The alternative of a split pattern that matched.

    Attributes:
        number: its position in the pattern, from 1.
        regex: its text.
        meaning: what it matches, in words; None where it is none of the usual ones.
    """

    number: int
    regex: str
    meaning: str | None = None


@dataclass(frozen=True, slots=True)
class PreToken:
    """A part of the text that the model sees by itself.

    Attributes:
        text: as the model sees it, normalised.
        span: where it stands in the original text, in UTF-8 bytes.
        alternative: what matched; None where no pattern made it, or it is not known which alternative did.
        added: whether an added token was found here, so that the model never saw it.
        continues: whether nothing splits the text before it: it is shown by itself, as no piece reaches across.
    """

    text: str
    span: Span
    alternative: Alternative | None = None
    added: bool = False
    continues: bool = False
