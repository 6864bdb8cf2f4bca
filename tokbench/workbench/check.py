"""Check the metrics of tokenizers against thresholds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.progress import no_progress
from tokbench.core.wording import unique_names
from tokbench.corpus.opening import corpus_of
from tokbench.errors import ConfigError
from tokbench.evaluation.baseline import RegressionPolicy, other_text_error
from tokbench.evaluation.figures import listed
from tokbench.evaluation.thresholds import Checked, check_comparison
from tokbench.workbench.compare import compare

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.evaluation.baseline import SavedComparison
    from tokbench.evaluation.thresholds import Threshold
    from tokbench.workbench.evaluation_parts import EvaluationWork


def check_thresholds(
    corpus: Corpus | str | Path,
    *,
    tokenizers: Sequence[Tokenizer],
    thresholds: Sequence[Threshold] = (),
    saved: SavedComparison | None = None,
    policy: RegressionPolicy | None = None,
    other_text: bool = False,
    reference_group: str | None = None,
    threads: int | None = None,
    work: EvaluationWork | None = None,
    progress: Progress = no_progress,
) -> Checked:
    """Check metrics of tokenizers on a corpus against thresholds.

    Args:
        corpus: the text to evaluate them on, or its path.
        tokenizers: at least one tokenizer.
        thresholds: the bounds.
        saved: an older comparison, whose aggregation and reference language are used again.
        policy: which of its figures may not become worse, and by how much they may; by default all figures, and no
            tolerance.
        other_text: whether the corpus may differ from that of the older comparison; groups that the corpus lacks
            are then skipped.
        reference_group: the language that premiums are relative to.
        threads: threads for encoding; None uses every processor.
        work: how to evaluate in parts, with the same result.
        progress: called with how much of the work is done.

    Raises:
        ConfigError: a threshold cannot be checked, or the corpus is not the one of the older comparison.
        CorpusError, TextError: a text cannot be read or encoded.
    """
    corpus = corpus_of(corpus)
    names = unique_names([tokenizer.info.name for tokenizer in tokenizers])
    older = [] if saved is None else list(saved.thresholds(names, policy or RegressionPolicy()))
    if not thresholds and not older:
        if policy is not None and policy.only and policy.excepted:
            raise ConfigError(
                "there is nothing to check: --only and --except leave no figure of the baseline",
                hint="leave out one of them",
            )
        raise ConfigError(
            "there is nothing to check: the baseline has no checked figure that can become worse",
            hint="write it with `tokbench compare --json`, and --metrics all or those to check",
        )
    comparison = compare(
        corpus,
        tokenizers=tokenizers,
        reference_group=reference_group or _same_reference(saved, corpus),
        aggregation="pooled" if saved is None else saved.aggregation,
        times=False,
        threads=threads,
        work=work,
        progress=progress,
    )
    notes = comparison.provenance.warnings
    if saved is not None and saved.fingerprint != comparison.provenance.corpus:
        if not other_text:
            raise other_text_error(saved, comparison)
        known_groups = comparison.tokenizers[0].groups
        left_out = sorted(
            {
                threshold.group
                for threshold in older
                if threshold.group is not None and threshold.group not in known_groups
            }
        )
        older = [threshold for threshold in older if threshold.group not in left_out]
        notes = (*notes, "the text is not the baseline's", *_left_out(left_out))
    return Checked(check_comparison(comparison, [*thresholds, *older]), comparison.aggregation, notes)


def _same_reference(saved: SavedComparison | None, corpus: Corpus) -> str | None:
    """Return the reference language of an older comparison if the corpus may have it."""
    return saved.reference if saved is not None and saved.reference in corpus.parallel_groups() else None


def _left_out(groups: Sequence[str]) -> tuple[str, ...]:
    return (f"its groups {listed(groups)} are left out, which this text does not have",) if groups else ()
