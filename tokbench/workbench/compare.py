"""Compare tokenizers on a corpus."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tokbench.core.argument_types import all_opened
from tokbench.core.progress import no_progress, watched
from tokbench.core.truncation import check_number
from tokbench.corpus.groups import folder_groups
from tokbench.corpus.opening import corpus_of
from tokbench.errors import ConfigError
from tokbench.evaluation.candidates import BACKENDS, Candidate, train_candidates
from tokbench.evaluation.comparison import compare_candidates, training_setup_of
from tokbench.evaluation.corpus_scan import CorpusScan
from tokbench.evaluation.figures import AGGREGATIONS
from tokbench.evaluation.holdout import Documents, hold_out
from tokbench.evaluation.mix import mix_among
from tokbench.evaluation.units import align, lines_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tokbench.core.argument_types import GivenTokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.costs import Model
    from tokbench.evaluation.mix import Mix
    from tokbench.evaluation.units import Alignment
    from tokbench.metrics.metric import Aggregation
    from tokbench.workbench.evaluation_parts import EvaluationWork


def compare(
    corpus: Corpus | str | Path,
    *,
    tokenizers: Sequence[GivenTokenizer] = (),
    backends: Sequence[str] | None = None,
    vocab_size: int | None = None,
    baseline: str | None = None,
    reference_group: str | None = None,
    aggregation: Aggregation = "pooled",
    model: Model | None = None,
    mix: Mapping[str, float] | None = None,
    times: bool = True,
    threads: int | None = None,
    seed: int = 0,
    arguments: Mapping[str, Any] | None = None,
    work: EvaluationWork | None = None,
    progress: Progress = no_progress,
) -> Comparison:
    """Compare tokenizers on a corpus; without tokenizers, train several on nine tenths of it first.

    Args:
        corpus: the text or its path. All of it is evaluated, or the tenth that is held out from training.
        tokenizers: the tokenizers to compare, or their paths and names.
        backends: the algorithms to train when no tokenizer is given.
        vocab_size: vocabulary size of the trained tokenizers; by default one that all of them can reach.
        baseline: name of the tokenizer that differences are relative to; by default the first.
        reference_group: the language that premiums are relative to; by default English, else the cheapest.
        aggregation: how documents become one figure: as a ratio of sums ("pooled"), or as a mean over groups ("macro")
            or documents ("per_document").
        model: facts about the model that the tokenizers are for; without it no costs are computed.
        mix: group, or folder of groups → its share of the bytes of the target text; the cheapest tokenizer for that
            mix is reported.
        times: whether to measure encoding speed, loading time, and the memory of training, for which each tokenizer
            is trained in a process of its own.
        threads: threads for training and encoding; None uses every processor.
        seed: selects the held-out tenth, and draws the resamples.
        arguments: the options that differ from their defaults, to be kept with the result.
        work: how to evaluate in parts, with the same result; `tokenizers` must be opened then.
        progress: called with how much of the work is done.

    Raises:
        ConfigError: an option cannot be used, such as a size when nothing is trained.
        CorpusError: a text cannot be read, or there is too little of it to hold some out.
        TrainingError: no algorithm could be trained.
        TextError: a document cannot be encoded.
    """
    check_number("seed", seed, smallest=0, optional=False)
    corpus = corpus_of(corpus)
    if aggregation not in AGGREGATIONS:
        raise ConfigError(
            f"unknown aggregation {aggregation!r:.40}", hint=f"choose {', '.join(AGGREGATIONS)}"
        )
    run = partial(
        compare_candidates,
        reference_group=reference_group,
        baseline=baseline,
        aggregation=aggregation,
        model=model,
        times=times,
        threads=threads,
        seed=seed,
        arguments=arguments,
        progress=progress,
    )
    if tokenizers and (backends or vocab_size is not None):
        raise ConfigError(
            "tokenizers are given with -t, so none is trained", hint="leave out --backend and --vocab-size"
        )
    if work is not None:
        from tokbench.workbench.evaluation_parts import evaluating

        if not tokenizers:
            raise ConfigError(
                "training in parts is not supported", hint="name the tokenizers to compare with -t"
            )
        given = all_opened(tokenizers)
        means = aggregation == "per_document"
        with evaluating(
            corpus, given, work, means=means, groups_first=mix is not None, progress=progress
        ) as parted:
            return run(
                list(map(Candidate, given)),
                parted,
                alignment=parted.alignment,
                mix=None if mix is None else _mix_among(mix, corpus, parted.groups),
                count=parted.count,
            )
    with corpus.in_memory():
        if tokenizers:
            candidates = [Candidate(tokenizer) for tokenizer in all_opened(tokenizers)]
            scan = CorpusScan(Documents(corpus))
            chosen = mix_of(mix, corpus, scan, progress=progress)
            alignment = alignment_of(corpus, scan, progress=progress)
            return run(candidates, scan, alignment=alignment, mix=chosen)
        holdout = hold_out(corpus, seed=seed, progress=progress)
        scan = CorpusScan(holdout.held_out)
        # A missing group is reported before the training.
        chosen = mix_of(mix, corpus, scan, progress=progress)
        trained = train_candidates(
            holdout,
            backends=backends or BACKENDS,
            vocab_size=vocab_size,
            threads=threads,
            seed=seed,
            memory=times,
            progress=progress,
        )
        comparison = run(trained.candidates, scan, alignment=holdout.alignment, mix=chosen)
    return replace(
        comparison, training_setup=training_setup_of(holdout, trained.vocab_size, trained.left_out)
    )


def mix_of(
    weights: Mapping[str, float] | None, corpus: Corpus, scan: CorpusScan, *, progress: Progress
) -> Mix | None:
    """Return the mix with these weights; reads the corpus for its groups. Raises `ConfigError` for an unknown group."""
    if weights is None:
        return None
    for _ in watched(scan, scan, phase="reading groups", progress=progress):
        pass
    return _mix_among(weights, corpus, scan.groups)


def _mix_among(weights: Mapping[str, float], corpus: Corpus, groups: Sequence[str]) -> Mix:
    return mix_among(weights, groups, folder_groups(corpus.files, corpus.options.group_by))


def alignment_of(corpus: Corpus, scan: CorpusScan, *, progress: Progress) -> Alignment | str:
    """Return the groups of a corpus that are translations of each other, line by line, or why there are none."""
    parallel = corpus.parallel_groups()
    read = watched(scan, scan, phase="counting lines", progress=progress)
    return align(lines_of(read, parallel) if parallel else {})
