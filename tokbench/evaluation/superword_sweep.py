"""Sweep where superwords begin: compression at one vocabulary size, against that of plain BPE."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress
from tokbench.errors import ConfigError
from tokbench.evaluation.comparison_json import figure_document
from tokbench.evaluation.costs import Model, cost_document
from tokbench.evaluation.sweep import PointEvaluator
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
        superwords: tokens after which merges cross spaces; the vocabulary size for plain BPE, where none does.
        found: what the held-out text becomes; differences are those to plain BPE.
    """

    superwords: int
    found: SweepPoint


@dataclass(frozen=True, slots=True, kw_only=True)
class SuperwordSweep(SweptText):
    """Compression by where superwords begin.

    Attributes, beside those of `SweptText`:
        vocab_size: the size that all were trained to.
        points: by rising beginning; plain BPE is the last one.
    """

    vocab_size: int
    points: tuple[SuperwordPoint, ...]


def usual_beginnings(vocab_size: int) -> tuple[int, ...]:
    """A quarter, a half, three quarters, nine tenths and all of a vocabulary; those below the bytes are left out.

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
        holdout: what is learned from, and what is evaluated on.
        beginnings: tokens after which merges cross spaces. Plain BPE, at `vocab_size`, is always among them.
        vocab_size: of each tokenizer.
        backend: the algorithm.
        options: its other options.
        model: what is known of the model that it is for.
        threads: for encoding; None takes every processor.
        seed: draws the resamples.
        progress: called with how much of the work is done.

    Raises:
        ConfigError: an algorithm without superwords, or a beginning outside the vocabulary.
        TrainingError: as the algorithm.
    """
    algorithm = get_backend(backend)
    if "superwords" not in {field.name for field in fields(algorithm.config_type)}:
        raise ConfigError(f"{algorithm.name} learns no superwords", hint="--backend bpe does")
    wanted = [vocab_size, *sorted(set(beginnings) - {vocab_size})]
    configs = [
        algorithm.config_type(
            **{
                **(options or {}),
                "vocab_size": vocab_size,
                "superwords": None if size == vocab_size else size,
            }
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
    """As `--json` prints it: schema tokbench.superword-sweep/1."""
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
