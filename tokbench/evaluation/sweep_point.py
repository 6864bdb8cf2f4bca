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
    """The algorithm, training text and held-out text of a sweep.

    Attributes:
        backend: name of the algorithm.
        num_bytes: UTF-8 bytes of the held-out text.
        documents: number of held-out documents; every block of a cut document counts.
        parts: the same in words: "12 documents", "280 blocks of lines".
        units: kind of unit that resamples draw → number of units.
        interval_gap: the reason why there are no intervals; None if there are intervals.
        group_interval_gaps: group → the reason why its figures have no intervals; groups with intervals are omitted.
        training_bytes: UTF-8 bytes of the training text.
        shares: group → the held-out share of its bytes.
        model: the described properties of the model that the tokenizer is for.
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
        """Return the JSON of the training text and the held-out text."""
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
        vocab_size: number of tokens, special tokens included.
        tokens: number of tokens of the held-out text.
        bytes_per_token: UTF-8 bytes of the held-out text per token.
        groups: group → bytes per token of its text, compared with the previous size.
        is_filled: whether the training text was enough for the requested number of tokens.
        keeps_text: whether every document decodes to itself.
        figures: metric → figure on all text, compared with the previous size.
        cost: cost for the described model.
        mixed: the figure for the requested mix, compared with the previous size; None if none was requested.
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
        """Bytes per token that sizes are chosen by: of the mix if there is one, otherwise of all text."""
        return self.bytes_per_token if self.mixed is None else ratio(1, self.mixed.tokens_per_byte.value or 0)

    @property
    def gain(self) -> Figure | None:
        """The figure of `compression`, with its interval and its difference to the previous size."""
        if self.mixed is None:
            return self.figures.get("bytes_per_token")
        return inverted(self.mixed.tokens_per_byte)
