"""Plot compression against vocabulary size."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokbench.config import whole_number
from tokbench.core.progress import no_progress
from tokbench.core.truncation import check_number
from tokbench.corpus.opening import corpus_of
from tokbench.errors import ConfigError
from tokbench.evaluation.candidates import Candidate
from tokbench.evaluation.comparison import compare_candidates, training_setup_of
from tokbench.evaluation.corpus_scan import CorpusScan
from tokbench.evaluation.holdout import hold_out
from tokbench.evaluation.superword_sweep import sweep_superwords as sweep_beginnings
from tokbench.evaluation.superword_sweep import usual_beginnings
from tokbench.evaluation.sweep import sweep_sizes
from tokbench.workbench.compare import mix_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.costs import Model
    from tokbench.evaluation.superword_sweep import SuperwordSweep
    from tokbench.evaluation.sweep import Sweep


_LARGEST_SIZE = 1 << 24


def sweep(
    corpus: Corpus | str | Path,
    *,
    sizes: Sequence[int],
    backend: str = "bpe",
    options: Mapping[str, Any] | None = None,
    model: Model | None = None,
    mix: Mapping[str, float] | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Sweep:
    """Evaluate an algorithm at several vocabulary sizes on a held-out tenth of a corpus.

    Args:
        corpus: the text or its path; nine tenths of it are learned from.
        sizes: vocabulary sizes.
        backend: the algorithm; BPE is trained once, any other once per size.
        options: its other options.
        model: facts about the model that the tokenizer is for; its costs decide which size is recommended.
        mix: group, or folder of groups → its share of the bytes of the target text; the mix then decides between sizes.
        threads: threads for training and encoding; None uses every processor.
        seed: selects the held-out tenth, and draws the resamples.
        progress: called with how much of the work is done.

    Raises:
        ConfigError, TrainingError: as `sweep_sizes`.
        CorpusError: a text cannot be read, or there is too little of it to hold some out.
    """
    check_number("seed", seed, smallest=0, optional=False)
    corpus = corpus_of(corpus)
    with corpus.in_memory():
        holdout = hold_out(corpus, seed=seed, progress=progress)
        return sweep_sizes(
            holdout,
            sizes,
            backend=backend,
            options=options,
            model=model,
            mix=mix_of(mix, corpus, CorpusScan(holdout.held_out), progress=progress),
            threads=threads,
            seed=seed,
            progress=progress,
        )


def sweep_superwords(
    corpus: Corpus | str | Path,
    *,
    vocab_size: int,
    superwords: Sequence[int] | None = None,
    backend: str = "bpe",
    options: Mapping[str, Any] | None = None,
    model: Model | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
) -> SuperwordSweep:
    """Evaluate several starting points of superwords at one vocabulary size, on the text that `sweep` holds out.

    Args:
        corpus: the text or its path; nine tenths of it are learned from.
        vocab_size: vocabulary size of each tokenizer.
        superwords: numbers of tokens after which merges may cross spaces; by default fractions of the vocabulary.
        backend: the algorithm, trained once for each.
        options: its other options.
        model: facts about the model that the tokenizers are for.
        threads: threads for training and encoding; None uses every processor.
        seed: selects the held-out tenth, and draws the resamples.
        progress: called with how much of the work is done.

    Raises:
        ConfigError, TrainingError: as `tokbench.evaluation.superword_sweep.sweep_superwords`.
        CorpusError: a text cannot be read, or there is too little of it to hold some out.
    """
    check_number("seed", seed, smallest=0, optional=False)
    corpus = corpus_of(corpus)
    with corpus.in_memory():
        return sweep_beginnings(
            hold_out(corpus, seed=seed, progress=progress),
            usual_beginnings(vocab_size) if superwords is None else superwords,
            vocab_size=vocab_size,
            backend=backend,
            options=options,
            model=model,
            threads=threads,
            seed=seed,
            progress=progress,
        )


def compare_largest(found: Sweep, corpus: Corpus, *, seed: int = 0) -> Comparison:
    """Evaluate the largest tokenizer of a sweep on the same held-out text.

    Args:
        found: the sweep.
        corpus: the corpus of the sweep.
        seed: the seed of the sweep.

    Raises:
        CorpusError: a text can no longer be read.
    """
    holdout = hold_out(corpus, seed=seed)
    comparison = compare_candidates(
        [Candidate(found.largest)],
        holdout.held_out,
        alignment=holdout.alignment,
        times=False,
        seed=seed,
    )
    return replace(
        comparison, training_setup=training_setup_of(holdout, found.largest.info.vocab_size, left_out={})
    )


def parse_sizes(text: str, *, option: str = "--sizes") -> tuple[int, ...]:
    """Parse vocabulary sizes: "1k:64k" doubles from the first to the last, "1k,5k,20k" is a list.

    Raises:
        ConfigError: the text has neither form.

    >>> parse_sizes("1k:5k"), parse_sizes("500, 1_000")
    ((1000, 2000, 4000, 5000), (500, 1000))
    """
    first, colon, last = text.partition(":")
    if not colon:
        return tuple(_size(part) for part in text.split(","))
    low, high = _size(first), _size(last)
    if low > high:
        raise ConfigError(f"{option} {text!r} runs backwards", hint="write the smaller one first, as 1k:64k")
    sizes = [low]
    while sizes[-1] * 2 < high:
        sizes.append(sizes[-1] * 2)
    return (*sizes, *([high] if high > low else []))


def _size(text: str) -> int:
    try:
        size = whole_number(text)
    except ValueError:
        size = 0
    if not 0 < size <= _LARGEST_SIZE:
        raise ConfigError(f"{text!r} is not a vocabulary size", hint="write 32000 or 32k")
    return size
