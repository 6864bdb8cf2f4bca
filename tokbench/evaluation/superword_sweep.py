"""Sweeps over the number of tokens after which superwords begin, compared with plain BPE of the same size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress
from tokbench.errors import ConfigError
from tokbench.evaluation.costs import Model
from tokbench.evaluation.sweep import PointEvaluator, Trainer, point_document
from tokbench.evaluation.sweep_point import SweptText

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.core.progress import Progress
    from tokbench.evaluation.holdout import Holdout
    from tokbench.evaluation.sweep_point import SweepPoint

_NUM_BYTES = 256
_SHARES = (0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuperwordSweep(SweptText):
    """Compression as a function of the number of tokens after which superwords begin.

    Attributes in addition to those of `SweptText`:
        vocab_size: the vocabulary size of all tokenizers.
        points: number of tokens after which merges cross spaces, ascending → its figures, compared with plain BPE;
            that is the last one, at the vocabulary size.
    """

    vocab_size: int
    points: Mapping[int, SweepPoint]


def usual_beginnings(vocab_size: int) -> tuple[int, ...]:
    """Return a quarter, a half, three quarters, nine tenths and all of a vocabulary size; omit shares below 256.

    >>> usual_beginnings(8000), usual_beginnings(400)
    ((2000, 4000, 6000, 7200, 8000), (300, 360, 400))
    """
    sizes = (int(vocab_size * share) for share in _SHARES)
    return (*(size for size in sizes if size >= _NUM_BYTES), vocab_size)


def sweep_superwords(
    holdout: Holdout,
    beginnings: Sequence[int],
    *,
    vocab_size: int,
    backend: str = "bpe",
    options: Mapping[str, Any] | None = None,
    model: Model | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
) -> SuperwordSweep:
    """Evaluate several beginnings of superwords on the held-out part of a corpus, each trained once.

    Args:
        holdout: the training text and the held-out documents.
        beginnings: numbers of tokens after which merges cross spaces. Plain BPE, at `vocab_size`, is always added.
        vocab_size: the vocabulary size of each tokenizer.
        backend: name of the algorithm.
        options: further options of the algorithm.
        model: the described properties of the model that the tokenizer is for.
        threads: number of threads for training and encoding; None uses every processor.
        seed: seed of the resampling.
        progress: called with the amount of work done.

    Raises:
        ConfigError: the algorithm has no superwords, or a beginning is outside the vocabulary.
        TrainingError: the algorithm cannot be trained.
    """
    train = Trainer(holdout, backend, options or {}, threads, progress)
    if "superwords" not in train.options:
        raise ConfigError(f"{train.backend.name} learns no superwords", hint="--backend bpe does")
    across = sorted(set(beginnings) - {vocab_size})
    chosen = {vocab_size: None} | {size: size for size in across}
    for superwords in chosen.values():  # report invalid beginnings before the first training
        train.config(vocab_size, superwords=superwords)
    evaluator = PointEvaluator(
        holdout, model or Model(), None, against_first=True, threads=threads, seed=seed, progress=progress
    )
    found = {}
    for size, superwords in chosen.items():
        tokenizer = train(vocab_size, name=f"superwords after {size:,}", superwords=superwords)
        found[size] = evaluator(tokenizer, asked=vocab_size)
    points = {size: found[size] for size in (*across, vocab_size)}
    return SuperwordSweep(**evaluator.text_fields(backend), vocab_size=vocab_size, points=points)


def superword_sweep_document(sweep: SuperwordSweep) -> dict[str, Any]:
    """Return the JSON that `--json` prints, schema tokbench.superword-sweep/1."""
    return {
        "schema": "tokbench.superword-sweep/1",
        "backend": sweep.backend,
        "vocab_size": sweep.vocab_size,
        "corpus": sweep.corpus_document(),
        "points": [_point_document(size, point, sweep.model) for size, point in sweep.points.items()],
        "interval_gap": sweep.interval_gap,
        "group_interval_gaps": dict(sweep.group_interval_gaps),
    }


def _point_document(superwords: int, point: SweepPoint, model: Model) -> dict[str, Any]:
    document = {"superwords": superwords, **point_document(point, model)}
    for name in ("embedding_parameters", "mix"):  # the same for all, and none
        del document[name]
    return document
