"""What the use cases return: frozen dataclasses that know their figures, and nothing of how they are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench import graphemes

if TYPE_CHECKING:
    from tokbench.graphemes import CutCluster
    from tokbench.interfaces import TokenizerInfo
    from tokbench.tokens import Segmentation


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


@dataclass(frozen=True, slots=True)
class VizResult:
    """One text as one or several tokenizers see it, in the order in which they were asked for."""

    text: str
    views: tuple[VizTokenizer, ...]
