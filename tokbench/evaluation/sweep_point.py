"""One vocabulary size of a sweep."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokbench.evaluation.mix import inverted
from tokbench.metrics.metric import ratio

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.evaluation.costs import Cost, Model
    from tokbench.evaluation.figures import Figure
    from tokbench.evaluation.mix import Mixed


@dataclass(frozen=True, slots=True, kw_only=True)
class SweptText:
    """What a sweep is of: an algorithm, the text that it learned from, and the text that was held out.

    Attributes:
        backend: the algorithm.
        num_bytes: UTF-8 bytes of the held-out text.
        documents: how many there are; of those that were cut, each block of lines.
        parts: the same in words: "12 documents", "280 blocks of lines".
        units: what resamples drew, and how many of each kind.
        interval_gap: why there are no intervals; None where there are.
        group_interval_gaps: group → the same of its figures; those that have intervals are left out.
        training_bytes: UTF-8 bytes that were learned from.
        shares: group → the share of its bytes that was held out.
        model: what is known of the model that it is for.
    """

    backend: str
    num_bytes: int
    documents: int
    parts: str
    units: Mapping[str, int]
    interval_gap: str | None
    group_interval_gaps: Mapping[str, str]
    training_bytes: int
    shares: Mapping[str, float]
    model: Model

    def corpus_document(self) -> dict[str, Any]:
        """The two texts as a part of `--json`."""
        return {
            "documents": self.documents,
            "bytes": self.num_bytes,
            "training_bytes": self.training_bytes,
            "units": dict(self.units),
            "held_out_shares": dict(self.shares),
        }


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One vocabulary size on the held-out text.

    Attributes:
        vocab_size: tokens, special tokens included.
        tokens: what the text becomes.
        bytes_per_token: its UTF-8 bytes over them.
        groups: group → the same of its text, its difference the one to the size before.
        is_filled: whether the text was enough for as many tokens as were asked for.
        keeps_text: whether every document decodes to itself.
        figures: metric → figure on all text, its difference the one to the size before.
        cost: for the model that was described.
        mixed: the mix that was asked for, its difference the one to the size before; None where none was.
    """

    vocab_size: int
    tokens: int
    bytes_per_token: float | None
    groups: Mapping[str, Figure]
    is_filled: bool = True
    keeps_text: bool = True
    figures: Mapping[str, Figure] = field(default_factory=dict)
    cost: Cost | None = None
    mixed: Mixed | None = None

    @property
    def compression(self) -> float | None:
        """Bytes per token that sizes are chosen by: of the mix where there is one, else of all text."""
        return self.bytes_per_token if self.mixed is None else ratio(1, self.mixed.tokens_per_byte.value or 0)

    @property
    def gain(self) -> Figure | None:
        """The same with its interval, and its difference to the size before."""
        if self.mixed is None:
            return self.figures.get("bytes_per_token")
        return inverted(self.mixed.tokens_per_byte)
