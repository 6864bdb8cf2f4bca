"""Candidates of a comparison with what was counted of them, of documents and of aligned lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tokbench.evaluation.alignment import AlignedLines
from tokbench.evaluation.counting_pass import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.core.progress import Progress
    from tokbench.evaluation.alignment import Alignment
    from tokbench.evaluation.candidates import Candidate
    from tokbench.evaluation.corpus_scan import CorpusScan
    from tokbench.evaluation.counting_pass import Evaluation


@dataclass(frozen=True, slots=True)
class CountedCandidate:
    """A candidate with what was counted of it, of documents and, where lines are aligned, of each line."""

    name: str
    candidate: Candidate
    evaluation: Evaluation
    by_line: Evaluation | None


class Counts(Protocol):
    """Counts candidates, wherever the documents are."""

    def __call__(
        self, names: Sequence[str], candidates: Sequence[Candidate], *, means: bool, progress: Progress
    ) -> list[CountedCandidate]:
        """What was counted of each.

        Args:
            names: of the candidates, each once.
            candidates: at least one.
            means: whether means over documents are asked for.
            progress: told how far it is.
        """


def count_candidates(
    names: Sequence[str],
    candidates: Sequence[Candidate],
    scan: CorpusScan,
    alignment: Alignment | str,
    *,
    means: bool,
    threads: int | None,
    progress: Progress,
) -> list[CountedCandidate]:
    """Count candidates here, one after another.

    Args:
        names: as of `Counts`, like the candidates.
        candidates: at least one.
        scan: the documents.
        alignment: the groups that say the same, line by line, or why there are none.
        means: whether means over documents are asked for.
        threads: for encoding.
        progress: told how far it is.
    """
    evaluations = [
        evaluate(
            one.tokenizer, scan, threads=threads, means=means, phase=f"evaluating {name}", progress=progress
        )
        for name, one in zip(names, candidates, strict=True)
    ]
    # Once more where lines are aligned: premiums and resamples are of lines without their ends.
    by_line = [
        None
        if isinstance(alignment, str)
        else evaluate(
            one.tokenizer,
            AlignedLines(scan, alignment),
            threads=threads,
            means=means,
            whole_groups=alignment.languages,
            phase=f"evaluating {name} by line",
            progress=progress,
        )
        for name, one in zip(names, candidates, strict=True)
    ]
    return list(map(CountedCandidate, names, candidates, evaluations, by_line))
