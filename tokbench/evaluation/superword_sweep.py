"""Sweeps over the number of tokens after which superwords begin, compared with plain BPE of the same size."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from tokbench.config import build_config
from tokbench.core.progress import no_progress
from tokbench.errors import ConfigError
from tokbench.evaluation.comparison_json import figure_document
from tokbench.evaluation.costs import Model, cost_document
from tokbench.evaluation.sweep import PointEvaluator, training_options
from tokbench.evaluation.sweep_point import SweptText
from tokbench.registry import get_backend

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.core.progress import Progress
    from tokbench.evaluation.holdout import Holdout
    from tokbench.evaluation.sweep_point import SweepPoint

_NUM_BYTES = 256
_SHARES = (0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True, slots=True)
class SuperwordPoint:
    """One beginning of superwords.

    Attributes:
        superwords: number of tokens after which merges cross spaces; for plain BPE, the vocabulary size.
        found: the figures on the held-out text, compared with plain BPE.
    """

    superwords: int
    found: SweepPoint


@dataclass(frozen=True, slots=True, kw_only=True)
class SuperwordSweep(SweptText):
    """Compression as a function of the number of tokens after which superwords begin.

    Attributes in addition to those of `SweptText`:
        vocab_size: the vocabulary size of all tokenizers.
        points: the beginnings with their figures, in ascending order; plain BPE is the last one.
    """

    vocab_size: int
    points: tuple[SuperwordPoint, ...]


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
    algorithm = get_backend(backend)
    if "superwords" not in {field.name for field in fields(algorithm.config_type)}:
        raise ConfigError(f"{algorithm.name} learns no superwords", hint="--backend bpe does")
    wanted = [vocab_size, *sorted(set(beginnings) - {vocab_size})]
    configs = [
        build_config(
            algorithm.config_type,
            {
                **training_options(algorithm, options or {}, threads=threads),
                "vocab_size": vocab_size,
                "superwords": None if size == vocab_size else size,
            },
            where=f"the backend {algorithm.name!r}",
        )
        for size in wanted
    ]
    evaluator = PointEvaluator(
        holdout, model or Model(), None, against_first=True, threads=threads, seed=seed, progress=progress
    )
    found = []
    for size, config in zip(wanted, configs, strict=True):

        def report(phase: str, done: int, total: int | None, unit: str, *, name: str = f"{size:,}") -> None:
            progress(f"superwords after {name}: {phase}", done, total, unit)

        tokenizer = algorithm.train(holdout.training, config, progress=report)
        found.append(SuperwordPoint(size, evaluator(tokenizer, asked=vocab_size)))
    plain, *across = found
    return SuperwordSweep(**evaluator.text_fields(backend), vocab_size=vocab_size, points=(*across, plain))


def superword_sweep_document(sweep: SuperwordSweep) -> dict[str, Any]:
    """Return the JSON that `--json` prints, schema tokbench.superword-sweep/1."""
    return {
        "schema": "tokbench.superword-sweep/1",
        "backend": sweep.backend,
        "vocab_size": sweep.vocab_size,
        "corpus": sweep.corpus_document(),
        "points": [_point_document(point) for point in sweep.points],
        "interval_gap": sweep.interval_gap,
        "group_interval_gaps": dict(sweep.group_interval_gaps),
    }


def _point_document(point: SuperwordPoint) -> dict[str, Any]:
    found = point.found
    return {
        "superwords": point.superwords,
        "vocab_size": found.vocab_size,
        "tokens": found.tokens,
        "bytes_per_token": found.bytes_per_token,
        "filled": found.is_filled,
        "keeps_text": found.keeps_text,
        "metrics": {name: figure_document(figure) for name, figure in found.figures.items()},
        "cost": None if found.cost is None or not found.cost.is_known else cost_document(found.cost),
        "groups": {group: figure_document(figure) for group, figure in found.groups.items()},
    }
