"""Show the tokens of a text as each of several tokenizers sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core import graphemes
from tokbench.core.result_json import token_fields, tokenizer_fields
from tokbench.core.tokens import SpecialPolicy
from tokbench.workbench.encode import segment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.core.graphemes import CutCluster
    from tokbench.core.interfaces import Tokenizer, TokenizerInfo
    from tokbench.core.sampling import Sampling
    from tokbench.core.tokens import Segmentation


@dataclass(frozen=True, slots=True)
class VizTokenizer:
    """One tokenizer and what it makes of the text."""

    info: TokenizerInfo
    segmentation: Segmentation

    @property
    def characters(self) -> int:
        """Code points of the text."""
        return len(self.segmentation.text)

    @property
    def num_bytes(self) -> int:
        """UTF-8 bytes of the text."""
        return len(self.segmentation.text.encode())

    @property
    def tokens(self) -> int:
        """Tokens, special ones included."""
        return len(self.segmentation.tokens)

    @property
    def bytes_per_token(self) -> float | None:
        """UTF-8 bytes of the text over its tokens, higher is shorter; None where there are no tokens."""
        return self.num_bytes / self.tokens if self.tokens else None

    def cut_clusters(self) -> tuple[CutCluster, ...]:
        """The grapheme clusters that token boundaries cut, in order; reads the whole text each time."""
        return graphemes.cut_clusters(self.segmentation)

    def to_json(self) -> dict[str, Any]:
        """As a part of `--json`."""
        return {
            **tokenizer_fields(self.info),
            "characters": self.characters,
            "bytes": self.num_bytes,
            "tokens": self.tokens,
            "bytes_per_token": self.bytes_per_token,
            "segments": [
                {
                    "id": token.id,
                    **token_fields(token.piece),
                    "span": list(token.span),
                    "kind": token.kind.value,
                }
                for token in self.segmentation.tokens
            ],
            "cut_characters": [
                {
                    "text": cut.text,
                    "span": list(cut.span),
                    "boundaries": list(cut.boundaries),
                    "code_points": [f"U+{ord(character):04X}" for character in cut.text],
                }
                for cut in self.cut_clusters()
            ],
        }


@dataclass(frozen=True, slots=True)
class VizResult:
    """One text as one or several tokenizers see it, in the order in which they were asked for."""

    text: str
    views: tuple[VizTokenizer, ...]

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it: schema tokbench.viz/1."""
        return {
            "schema": "tokbench.viz/1",
            "text": self.text,
            "tokenizers": [view.to_json() for view in self.views],
        }


def visualise(
    tokenizers: Iterable[Tokenizer],
    text: str,
    *,
    special: SpecialPolicy = SpecialPolicy.TEXT,
    sampling: Sampling | None = None,
) -> VizResult:
    """A text as each tokenizer sees it, at random where a `sampling` says how; raises as `encode_texts`."""
    views = (
        VizTokenizer(
            info=tokenizer.info,
            segmentation=segment(tokenizer, text, special=special, sampling=sampling),
        )
        for tokenizer in tokenizers
    )
    return VizResult(text=text, views=tuple(views))
