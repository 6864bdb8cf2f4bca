"""Report on one tokenizer in depth: figures, token frequencies, vocabulary usage, numbers, robustness, costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.notebook import ShownInNotebooks
from tokbench.core.plurals import counted
from tokbench.core.progress import no_progress
from tokbench.evaluation.robustness import Robustness, robustness_of
from tokbench.evaluation.sweep import nested_merges
from tokbench.evaluation.vocabulary_usage import VocabularyPart, vocabulary_usage_of
from tokbench.metrics.counts import LONGEST_NUMBER
from tokbench.metrics.distribution import frequency_deciles, length_histogram
from tokbench.metrics.intermediate_tokens import intermediate_tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.corpus_scan import CorpusFacts
    from tokbench.evaluation.costs import Cost
    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
    from tokbench.metrics.tally import Tally

_USED_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Use:
    """A token of the vocabulary and its number of occurrences."""

    id: int
    piece: bytes
    count: int


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers of one length, and the tokens that touch them.

    Attributes:
        digits: their length.
        numbers: how many.
        tokens: that touch them.
        or_more: whether longer ones are counted with them, as those of the last length are.
    """

    digits: int
    numbers: int
    tokens: int
    or_more: bool = False

    @property
    def label(self) -> str:
        """Their length, as a row calls it.

        >>> Numbers(3, 1, 1).label, Numbers(16, 1, 1, or_more=True).label
        ('3', '16+')
        """
        return f"{self.digits}+" if self.or_more else f"{self.digits}"


@dataclass(frozen=True, slots=True)
class Report(ShownInNotebooks):
    """The report on one tokenizer.

    Attributes:
        comparison: its figures and groups, as of a comparison with nothing else.
        most_used: the tokens that occurred most.
        least_used: of those that occurred at all, the rarest.
        unused: reachable tokens that did not occur.
        deciles: of the frequencies of those that did.
        lengths: tokens by their length in bytes; the last position holds all longer ones.
        vocabulary_usage: what the vocabulary is spent on.
        intermediate_tokens: tokens that only feed other merges on this text; None where merges are not known.
        numbers: numbers by their length.
        robustness: how the ids change with the writing.
        cost: for the model that was described.
    """

    comparison: Comparison
    most_used: tuple[Use, ...]
    least_used: tuple[Use, ...]
    unused: int
    deciles: tuple[int, ...] | None
    lengths: tuple[int, ...]
    vocabulary_usage: tuple[VocabularyPart, ...]
    intermediate_tokens: int | None
    numbers: tuple[Numbers, ...]
    robustness: tuple[Robustness, ...]
    cost: Cost

    def __repr__(self) -> str:
        """A short form: the tokenizer, and the amount of text."""
        text = (
            f"{counted(self.comparison.documents, 'document')}, {counted(self.comparison.num_bytes, 'byte')}"
        )
        return f"<report on {self.evaluated.name}: {text}>"

    @property
    def evaluated(self) -> EvaluatedTokenizer:
        """The tokenizer."""
        return self.comparison.tokenizers[0]


def report_on(
    comparison: Comparison,
    scan: CorpusFacts,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Report:
    """Compute a report from a comparison of one tokenizer.

    Args:
        comparison: of that tokenizer alone.
        scan: what is known of the documents that it was evaluated on.
        seed: chooses the words that get a typo.
        progress: told how far it is.
    """
    evaluated = comparison.tokenizers[0]
    evaluation, tokenizer = evaluated.evaluation, evaluated.candidate.tokenizer
    frequencies, vocabulary = evaluation.frequencies, evaluation.vocabulary
    progress("rewriting", 0, None, "lines")
    used = np.flatnonzero(frequencies)
    by_count = used[np.lexsort((used, -frequencies[used]))]
    return Report(
        comparison=comparison,
        most_used=_uses(tokenizer, by_count[:_USED_SHOWN], frequencies),
        least_used=_uses(tokenizer, by_count[_USED_SHOWN:][-_USED_SHOWN:], frequencies),
        unused=int(np.count_nonzero(~vocabulary.special & (frequencies == 0))),
        deciles=frequency_deciles(frequencies),
        lengths=length_histogram(frequencies, vocabulary.lengths),
        vocabulary_usage=vocabulary_usage_of(vocabulary, frequencies),
        intermediate_tokens=_intermediate_tokens(tokenizer, frequencies),
        numbers=_numbers(evaluation.total),
        robustness=robustness_of(tokenizer, scan.lines, seed=seed),
        cost=evaluated.cost,
    )


def _uses(tokenizer: Tokenizer, ids: NDArray[np.int64], frequencies: NDArray[np.int64]) -> tuple[Use, ...]:
    return tuple(Use(id, tokenizer.token_bytes(id), int(frequencies[id])) for id in ids.tolist())


def _intermediate_tokens(tokenizer: Tokenizer, frequencies: NDArray[np.int64]) -> int | None:
    merges = nested_merges(tokenizer)
    if merges is None:
        return None
    return int(np.count_nonzero(intermediate_tokens(frequencies[: 256 + len(merges)], merges)))


def _numbers(total: Tally) -> tuple[Numbers, ...]:
    return tuple(
        Numbers(digits, int(numbers), int(tokens), or_more=digits == LONGEST_NUMBER)
        for digits, (numbers, tokens) in enumerate(total.numbers.tolist())
        if numbers
    )
