"""One tokenizer of a comparison, with all of its figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.evaluation.aggregation import Aggregate
    from tokbench.evaluation.candidates import Candidate
    from tokbench.evaluation.costs import Cost
    from tokbench.evaluation.counting_pass import Evaluation
    from tokbench.evaluation.fairness import Fairness
    from tokbench.evaluation.figures import Figure
    from tokbench.evaluation.mix import Mixed
    from tokbench.evaluation.throughput import Throughput


@dataclass(frozen=True, slots=True)
class EvaluatedTokenizer:
    """One tokenizer of a comparison, with all of its figures.

    Attributes:
        name: unique among those compared.
        candidate: the tokenizer, and how it came about.
        evaluation: what was counted.
        aggregate: its metrics in every resample.
        figures: metric → figure on all text.
        groups: group → metric → figure on its text.
        fairness: on aligned lines; None where there are none.
        throughput: of encoding; None where it was not measured.
        loading_seconds: that opening it took; None where nobody knows.
        relative: its tokens over those of the baseline on the same text.
        cost: for the model that was described.
        mixed: the mix that was asked for; None where none was.
    """

    name: str
    candidate: Candidate
    evaluation: Evaluation
    aggregate: Aggregate
    figures: Mapping[str, Figure]
    groups: Mapping[str, Mapping[str, Figure]]
    fairness: Fairness | None
    throughput: Throughput | None
    loading_seconds: float | None
    relative: Figure
    cost: Cost
    mixed: Mixed | None = None

    @property
    def relative_tokens(self) -> float | None:
        """Its tokens over those of the baseline on the same text; None where that has none."""
        return self.relative.value

    @property
    def keeps_text(self) -> bool:
        """Whether every document decodes to itself, however documents become one figure."""
        total = self.evaluation.total
        return total["roundtrips"] == total["documents"]
