"""The use cases that judge tokenizers: each takes plain arguments and returns a result."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.config import whole_number
from tokbench.core.interfaces import no_progress
from tokbench.corpus.arguments import corpus_of
from tokbench.corpus.groups import folder_groups
from tokbench.corpus.read_progress import watched
from tokbench.errors import ConfigError
from tokbench.evaluation.aggregation import AGGREGATIONS
from tokbench.evaluation.alignment import align, lines_of
from tokbench.evaluation.baseline import Holding, other_text_error
from tokbench.evaluation.candidates import BACKENDS, Contestant, train_contestants
from tokbench.evaluation.comparison import Setting, compare_contestants, unique_names
from tokbench.evaluation.corpus_scan import Reading
from tokbench.evaluation.holdout import Documents, split_corpus
from tokbench.evaluation.mix import mix_among
from tokbench.evaluation.report import report_on
from tokbench.evaluation.sentences import listed
from tokbench.evaluation.sweep import sweep_sizes
from tokbench.evaluation.thresholds import Checked, check_gates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.core.interfaces import Progress, Tokenizer
    from tokbench.corpus import Corpus
    from tokbench.evaluation.aggregation import Aggregation
    from tokbench.evaluation.alignment import Alignment
    from tokbench.evaluation.baseline import SavedComparison
    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.mix import Mix
    from tokbench.evaluation.report import Report
    from tokbench.evaluation.sweep import Sweep
    from tokbench.evaluation.thresholds import Gate
    from tokbench.metrics.cost import Model

_LARGEST_SIZE = 1 << 24


def compare(
    corpus: Corpus | str | Path,
    *,
    tokenizers: Sequence[Tokenizer | str | Path] = (),
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
    progress: Progress = no_progress,
) -> Comparison:
    """Judge tokenizers on a corpus; where there are none, train some on nine tenths of it first.

    Args:
        corpus: what they are judged on, all of it, or the tenth that is held out of training; or its path.
        tokenizers: those to judge, or their paths and names.
        backends: the algorithms to train where no tokenizer is given.
        vocab_size: their size; by default one that all of them can fill.
        baseline: the name of the one that differences are taken to; by default the first.
        reference_group: the language that premiums are taken over; by default English, else the cheapest.
        aggregation: how documents become one figure: as a ratio of sums, or as a mean over groups ("macro")
            or documents ("per_document").
        model: what is known of the model that they are for; without it there are no costs.
        mix: group, or folder of groups → its share of the bytes of the text that matters; the cheapest for that is
            told.
        times: whether to tell how fast they encode, how long opening them took, and how much memory training
            takes, for which each is trained in a process of its own.
        threads: for training and encoding; None takes every processor.
        seed: chooses what is held out, and draws the resamples.
        arguments: what was asked for that is not so by default, to be kept with the result.
        progress: told how far it is.

    Raises:
        ConfigError: an option that cannot be used, such as a size where nothing is trained.
        CorpusError: a text that cannot be read, or too little of it to hold some out.
        TrainingError: no algorithm could be trained.
        TextError: a document that cannot be encoded.
    """
    corpus = corpus_of(corpus)
    if aggregation not in AGGREGATIONS:
        raise ConfigError(
            f"unknown aggregation {aggregation!r:.40}", hint=f"choose {', '.join(AGGREGATIONS)}"
        )
    judge = partial(
        compare_contestants,
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
    if tokenizers:
        if backends or vocab_size is not None:
            raise ConfigError(
                "nothing is trained where tokenizers are given", hint="leave out --backend and --vocab-size"
            )
        given = [Contestant(tokenizer) for tokenizer in _opened(tokenizers)]
        reading = Reading(Documents(corpus))
        chosen = _mix_of(mix, corpus, reading)
        return judge(given, reading, alignment=_alignment_of(corpus, reading, progress=progress), mix=chosen)
    split = split_corpus(corpus, seed=seed, progress=progress)
    held_out = Reading(split.held_out)
    chosen = _mix_of(mix, corpus, held_out)  # a group that is not there is told before the training
    contest = train_contestants(
        split,
        backends=backends or BACKENDS,
        vocab_size=vocab_size,
        threads=threads,
        seed=seed,
        memory=times,
        progress=progress,
    )
    found = judge(contest.contestants, held_out, alignment=split.alignment, mix=chosen)
    setting = Setting(
        unit=split.unit,
        num_training=split.num_training,
        training_bytes=split.training_bytes,
        vocab_size=contest.vocab_size,
        left_out=contest.left_out,
        shares=split.shares,
    )
    return replace(found, setting=setting)


def report(
    corpus: Corpus | str | Path,
    *,
    tokenizer: Tokenizer | str | Path,
    model: Model | None = None,
    reference_group: str | None = None,
    times: bool = True,
    threads: int | None = None,
    seed: int = 0,
    arguments: Mapping[str, Any] | None = None,
    progress: Progress = no_progress,
) -> Report:
    """Report on one tokenizer in depth.

    Args:
        corpus: what it is judged on, all of it, or its path.
        tokenizer: any, or its path or name.
        model: what is known of the model that it is for; without it there are no costs.
        reference_group: the language that premiums are taken over; by default English, else the cheapest.
        times: whether to measure how fast it encodes.
        threads: for encoding; None takes every processor.
        seed: draws the resamples and the typos.
        arguments: what was asked for that is not so by default, to be kept with the result.
        progress: told how far it is.

    Raises:
        ConfigError, CorpusError, TextError: as `compare`.
    """
    corpus = corpus_of(corpus)
    reading = Reading(Documents(corpus))
    comparison = compare_contestants(
        [Contestant(one) for one in _opened([tokenizer])],
        reading,
        alignment=_alignment_of(corpus, reading, progress=progress),
        reference_group=reference_group,
        model=model,
        times=times,
        threads=threads,
        seed=seed,
        arguments=arguments,
        progress=progress,
    )
    return report_on(comparison, reading, seed=seed, progress=progress)


def _mix_of(weights: Mapping[str, float] | None, corpus: Corpus, reading: Reading) -> Mix | None:
    """The mix of some weights. Raises `ConfigError` for a group that is not there."""
    if weights is None:
        return None
    return mix_among(weights, reading.groups, folder_groups(corpus.files, corpus.options.group_by))


def _opened(tokenizers: Sequence[Tokenizer | str | Path]) -> list[Tokenizer]:
    """Tokenizers as they are, and those of paths and names. Raises as `tokbench.load`, `ConfigError`."""
    from tokbench.workbench import load

    if isinstance(tokenizers, str | Path):
        raise ConfigError(
            f"tokenizers is {str(tokenizers)!r:.40}, where a list is needed", hint="put it into one"
        )
    return [load(one) if isinstance(one, str | Path) else one for one in tokenizers]


def _alignment_of(corpus: Corpus, reading: Reading, *, progress: Progress) -> Alignment | str:
    """The groups of a corpus that say the same, line by line, or why there are none."""
    parallel = corpus.parallel_groups()
    read = watched(reading, reading, phase="counting lines", progress=progress)
    return align(lines_of(read, parallel) if parallel else {})


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
    """Judge an algorithm at several vocabulary sizes on a held-out tenth of a corpus.

    Args:
        corpus: nine tenths of it are learned from; or its path.
        sizes: vocabulary sizes.
        backend: the algorithm; BPE is trained once, any other once for each size.
        options: its other options.
        model: what is known of the model that it is for: what a size costs there decides which one is recommended.
        mix: group, or folder of groups → its share of the bytes of the text that matters; sizes are then chosen by it.
        threads: for encoding; None takes every processor.
        seed: chooses what is held out, and draws the resamples.
        progress: told how far it is.

    Raises:
        ConfigError, TrainingError: as `sweep_sizes`.
        CorpusError: a text that cannot be read, or too little of it to hold some out.
    """
    corpus = corpus_of(corpus)
    split = split_corpus(corpus, seed=seed, progress=progress)
    return sweep_sizes(
        split,
        sizes,
        backend=backend,
        options=options,
        model=model,
        mix=_mix_of(mix, corpus, Reading(split.held_out)),
        threads=threads,
        seed=seed,
        progress=progress,
    )


def compare_largest(found: Sweep, corpus: Corpus, *, seed: int = 0) -> Comparison:
    """Judge the largest tokenizer of a sweep like any other, on the same held-out text.

    Args:
        found: the sweep.
        corpus: the one that it was made on.
        seed: the one that it was made with.

    Raises:
        CorpusError: a text that can no longer be read.
    """
    split = split_corpus(corpus, seed=seed)
    comparison = compare_contestants(
        [Contestant(found.largest)],
        split.held_out,
        alignment=split.alignment,
        times=False,
        seed=seed,
    )
    setting = Setting(
        unit=split.unit,
        num_training=split.num_training,
        training_bytes=split.training_bytes,
        vocab_size=found.largest.info.vocab_size,
        left_out={},
        shares=split.shares,
    )
    return replace(comparison, setting=setting)


def check(
    corpus: Corpus | str | Path,
    *,
    tokenizers: Sequence[Tokenizer],
    gates: Sequence[Gate] = (),
    saved: SavedComparison | None = None,
    holding: Holding | None = None,
    other_text: bool = False,
    reference_group: str | None = None,
    threads: int | None = None,
    progress: Progress = no_progress,
) -> Checked:
    """Hold tokenizers to bounds on a corpus.

    Args:
        corpus: what they are judged on, or its path.
        tokenizers: at least one.
        gates: the bounds.
        saved: an older comparison; documents become one figure as there, premiums are over the same language.
        holding: which of its figures may not have become worse, and by how much they may; by default all, and not
            at all.
        other_text: whether the corpus may be another than that of the older comparison; groups that it does not
            have are left out then.
        reference_group: the language that premiums are taken over.
        threads: for encoding; None takes every processor.
        progress: told how far it is.

    Raises:
        ConfigError: a gate that cannot be checked, or another text.
        CorpusError, TextError: a text that cannot be read, or encoded.
    """
    corpus = corpus_of(corpus)
    names = unique_names([tokenizer.info.name for tokenizer in tokenizers])
    older = [] if saved is None else list(saved.gates(names, holding or Holding()))
    if not gates and not older:
        raise ConfigError(
            "there is nothing to check: the baseline has no figure that is held and can become worse",
            hint="write it with `tokbench compare --json`, and --metrics all or those to be held",
        )
    comparison = compare(
        corpus,
        tokenizers=tokenizers,
        reference_group=reference_group or _same_reference(saved, corpus),
        aggregation="pooled" if saved is None else saved.aggregation,
        times=False,
        threads=threads,
        progress=progress,
    )
    notes = comparison.provenance.warnings
    if saved is not None and saved.fingerprint != comparison.provenance.corpus:
        if not other_text:
            raise other_text_error(saved, comparison)
        there = comparison.tokenizers[0].groups
        left_out = sorted(
            {gate.group for gate in older if gate.group is not None and gate.group not in there}
        )
        older = [gate for gate in older if gate.group not in left_out]
        notes = (*notes, "the text is another than the baseline's", *_left_out(left_out))
    return Checked(check_gates(comparison, [*gates, *older]), comparison.aggregation, notes)


def _same_reference(saved: SavedComparison | None, corpus: Corpus) -> str | None:
    """The language that an older comparison took its premiums over, where the corpus may have it."""
    return saved.reference if saved is not None and saved.reference in corpus.parallel_groups() else None


def _left_out(groups: Sequence[str]) -> tuple[str, ...]:
    return (f"left out are its groups {listed(groups)}, which this text does not have",) if groups else ()


def parse_sizes(text: str) -> tuple[int, ...]:
    """Sizes as they are written: "1k:64k" doubles from the first to the last, "1k,5k,20k" is a list.

    Raises:
        ConfigError: something else.

    >>> parse_sizes("1k:5k"), parse_sizes("500, 1_000")
    ((1000, 2000, 4000, 5000), (500, 1000))
    """
    first, colon, last = text.partition(":")
    if not colon:
        return tuple(_size(part) for part in text.split(","))
    low, high = _size(first), _size(last)
    if low > high:
        raise ConfigError(f"--sizes {text!r} runs backwards", hint="write the smaller one first, as 1k:64k")
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
        raise ConfigError(f"{text!r} is no vocabulary size", hint="write 32000 or 32k")
    return size
