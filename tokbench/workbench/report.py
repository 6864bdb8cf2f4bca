"""Report on one tokenizer in depth."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tokbench.core.argument_types import opened
from tokbench.core.progress import no_progress
from tokbench.core.truncation import check_number
from tokbench.corpus.opening import corpus_of
from tokbench.evaluation.candidates import Candidate
from tokbench.evaluation.comparison import compare_candidates
from tokbench.evaluation.corpus_scan import CorpusScan
from tokbench.evaluation.holdout import Documents
from tokbench.evaluation.report import report_on
from tokbench.workbench.compare import alignment_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tokbench.core.argument_types import GivenTokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.evaluation.costs import Model
    from tokbench.evaluation.report import Report
    from tokbench.workbench.evaluation_parts import EvaluationWork


def report(
    corpus: Corpus | str | Path,
    *,
    tokenizer: GivenTokenizer,
    model: Model | None = None,
    reference_group: str | None = None,
    times: bool = True,
    threads: int | None = None,
    seed: int = 0,
    arguments: Mapping[str, Any] | None = None,
    work: EvaluationWork | None = None,
    progress: Progress = no_progress,
) -> Report:
    """Report on one tokenizer in depth.

    Args:
        corpus: the text to evaluate on, or its path.
        tokenizer: a tokenizer, or its path or name.
        model: facts about the model that the tokenizer is for; without it no costs are computed.
        reference_group: the language that premiums are relative to; by default English, else the cheapest.
        times: whether to measure encoding speed.
        threads: threads for encoding; None uses every processor.
        seed: seed of the resamples and the typos.
        arguments: the options that differ from their defaults, to be kept with the result.
        work: how to evaluate in parts, with the same result.
        progress: called with how much of the work is done.

    Raises:
        ConfigError, CorpusError, TextError: as `compare`.
    """
    check_number("seed", seed, smallest=0, optional=False)
    corpus = corpus_of(corpus)
    candidates = [Candidate(opened(tokenizer))]
    run = partial(
        compare_candidates,
        candidates,
        reference_group=reference_group,
        model=model,
        times=times,
        threads=threads,
        seed=seed,
        arguments=arguments,
        progress=progress,
    )
    if work is not None:
        from tokbench.workbench.evaluation_parts import evaluating

        with evaluating(
            corpus, [candidate.tokenizer for candidate in candidates], work, progress=progress
        ) as parted:
            comparison = run(parted, alignment=parted.alignment, count=parted.count)
            return report_on(comparison, parted, seed=seed, progress=progress)
    with corpus.in_memory():
        scan = CorpusScan(Documents(corpus))
        comparison = run(scan, alignment=alignment_of(corpus, scan, progress=progress))
        return report_on(comparison, scan, seed=seed, progress=progress)
