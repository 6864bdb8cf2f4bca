"""Sweeps over vocabulary sizes: the compression of each size, from a single training if vocabularies are nested."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from tokbench.config import build_config
from tokbench.core.argument_types import plain_int
from tokbench.core.descriptions import ByteLevelBpe, DescribesItself, NestsVocabularies
from tokbench.core.progress import no_progress
from tokbench.core.tokens import ShownInNotebooks
from tokbench.errors import ConfigError
from tokbench.evaluation.comparison_json import figure_document, mix_document
from tokbench.evaluation.costs import Model, cost_document, cost_of
from tokbench.evaluation.counting_pass import evaluate
from tokbench.evaluation.evaluated_tokenizer import group_interval_gaps, interval_gap
from tokbench.evaluation.figures import Aggregate, counted_parts, figures_of, group_figures_of
from tokbench.evaluation.mix import Alternative, cheapest, mixed, mixed_beside
from tokbench.evaluation.sweep_point import METHOD, SweepPoint, SweptText, knee_of, recommend
from tokbench.evaluation.units import AlignedLines
from tokbench.metrics.catalogue import METRICS
from tokbench.metrics.metric import ratio
from tokbench.registry import get_backend

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.evaluation.holdout import Holdout
    from tokbench.evaluation.mix import Mix
    from tokbench.evaluation.sweep_point import Recommendation
    from tokbench.metrics.bootstrap import Resampled

_BASE = 256
SWEPT = ("bytes_per_token", "character_coverage", "unk_rate", "character_error_rate")
"""Names of the metrics that are computed for each size."""
_COMPRESSION = METRICS["bytes_per_token"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep(SweptText, ShownInNotebooks):
    """The result of a sweep: the curve, its knee and the recommended size.

    Attributes in addition to those of `SweptText`:
        points: the sizes with their figures, by ascending size.
        trainings: number of training runs.
        knee: the size where the curve bends, see `knee_of`; None if it does not bend between the sizes.
        recommendation: the smallest size whose doubling no longer pays, see `recommend`.
        missing: the requested sizes that the text could not fill.
        mix: the mix that sizes are chosen by; None if none was requested.
        mix_summary: which size is the cheapest for the mix, one sentence each.
        largest: the tokenizer of the largest size.
    """

    points: tuple[SweepPoint, ...]
    trainings: int
    knee: int | None
    recommendation: Recommendation
    missing: tuple[int, ...]
    mix: Mix | None
    mix_summary: tuple[str, ...]
    largest: Tokenizer

    def __repr__(self) -> str:
        """Return a short form with the backend and the sizes."""
        sizes = ", ".join(f"{point.vocab_size:,}" for point in self.points)
        return f"<sweep of {self.backend} over {sizes} tokens>"

    @property
    def recommended(self) -> int | None:
        """The recommended size; None if there is none."""
        return self.recommendation.vocab_size

    @property
    def reason(self) -> str:
        """The reason for the recommendation, in a sentence."""
        return self.recommendation.reason


def sweep_sizes(
    holdout: Holdout,
    sizes: Sequence[int],
    *,
    backend: str = "bpe",
    options: Mapping[str, Any] | None = None,
    model: Model | None = None,
    mix: Mix | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Sweep:
    """Evaluate an algorithm at several sizes on the held-out part of a corpus.

    BPE vocabularies are nested: one training at the largest size gives the exact vocabularies of all smaller sizes.

    Args:
        holdout: the training text and the held-out documents.
        sizes: vocabulary sizes; the result has each size once, in ascending order.
        backend: name of the algorithm.
        options: further options of the algorithm.
        model: the described properties of the model; the cost of a size for it decides the recommendation.
        mix: the share of each group in the text that matters to the user; sizes are then chosen by it.
        threads: number of threads for training and encoding; None uses every processor.
        seed: seed of the resampling.
        progress: called with the amount of work done.

    Raises:
        ConfigError: there is no size, `options` contains one, or an option is invalid.
        TrainingError: a size cannot be trained, such as one below the base vocabulary.
    """
    wanted = _whole_sizes(sizes)
    if not wanted:
        raise ConfigError("there are no sizes to sweep", hint="--sizes 1k:64k, or a list such as 1k,8k,32k")
    if "vocab_size" in (options or {}):
        raise ConfigError("vocab_size is not an option of a sweep", hint="give the sizes with --sizes")
    train = Trainer(holdout, backend, options or {}, threads, progress)
    if "vocab_size" not in train.options:
        raise ConfigError(f"{train.backend.name} has one size only", hint="choose another --backend")
    for size in wanted:  # report invalid sizes before the first training
        train.config(size)
    largest = train(wanted[-1])
    evaluator = PointEvaluator(holdout, model or Model(), mix, threads=threads, seed=seed, progress=progress)
    points = [evaluator(tokenizer, asked=asked) for asked, tokenizer in _tokenizers(train, wanted, largest)]
    return Sweep(
        **evaluator.text_fields(backend),
        points=tuple(points),
        trainings=train.runs,
        knee=knee_of(points),
        recommendation=recommend(points, model=model or Model()),
        missing=tuple(size for size in wanted if size > largest.info.vocab_size),
        mix=mix,
        mix_summary=() if mix is None else tuple(_mix_summary(mix, points, price=(model or Model()).price)),
        largest=largest,
    )


def _whole_sizes(sizes: Iterable[int]) -> list[int]:
    """Return the sizes once each, ascending. Raises `ConfigError` for what is not a list of whole numbers."""
    given = set(map(plain_int, sizes)) if isinstance(sizes, Iterable) else {None}
    if not all(isinstance(size, int) for size in given):
        raise ConfigError(f"sizes is {sizes!r:.40}, where a list of whole numbers is needed")
    return sorted(given)


def _tokenizers(train: Trainer, sizes: Sequence[int], largest: Tokenizer) -> Iterator[tuple[int, Tokenizer]]:
    """Yield each requested size with its tokenizer, by ascending size and without duplicates.

    Only the first size that the largest training did not exceed yields the largest tokenizer; larger ones are skipped.
    """
    reached, found = largest.info.vocab_size, 0
    for size in sizes:
        is_last = size >= reached
        tokenizer = largest if is_last else train.smaller(largest, size)
        if tokenizer.info.vocab_size > found:
            found = tokenizer.info.vocab_size
            yield size, tokenizer
        if is_last:
            return


@dataclass(eq=False, slots=True)
class PointEvaluator:
    """Evaluates one tokenizer after another, each compared with the previous one.

    With `against_first`, each is compared with the first one instead. Only that one's counts are kept.
    """

    holdout: Holdout
    model: Model
    mix: Mix | None
    _: KW_ONLY
    against_first: bool = False
    threads: int | None
    seed: int
    progress: Progress
    _before: Aggregate | None = field(default=None, init=False)
    _mixed_before: tuple[float | None, Resampled | None] | None = field(default=None, init=False)
    _fields: dict[str, Any] = field(default_factory=dict, init=False)

    def text_fields(self, backend: str) -> dict[str, Any]:
        """Return the fields of `SweptText`; at least one tokenizer must have been evaluated."""
        return {
            **self._fields,
            "backend": backend,
            "training_bytes": self.holdout.training_bytes,
            "shares": self.holdout.shares,
            "model": self.model,
        }

    def __call__(self, tokenizer: Tokenizer, *, asked: int) -> SweepPoint:
        """Evaluate a tokenizer that was trained for the vocabulary size `asked`."""
        vocab_size, alignment = tokenizer.info.vocab_size, self.holdout.alignment

        def report(phase: str, done: int, total: int | None, unit: str) -> None:
            self.progress(f"{vocab_size:,} tokens: {phase}", done, total, unit)

        evaluation = evaluate(tokenizer, self.holdout.held_out, threads=self.threads, progress=report)
        lines = None
        if not isinstance(alignment, str):
            aligned = AlignedLines(self.holdout.held_out, alignment)
            lines = evaluate(
                tokenizer,
                aligned,
                threads=self.threads,
                whole_groups=alignment.languages,
                progress=report,
            )
        aggregate = Aggregate(evaluation, lines=lines, seed=self.seed)
        total = evaluation.total
        self._fields = {
            "num_bytes": evaluation.num_bytes,
            "documents": total["documents"],
            "parts": counted_parts(total["documents"], self.holdout.unit),
            "units": (lines or evaluation).units,
            "interval_gap": interval_gap(aggregate.num_units),
            "group_interval_gaps": group_interval_gaps(aggregate, evaluation.groups),
        }
        before = self._before
        if before is None or not self.against_first:
            self._before = aggregate
        beside = None
        if self.mix is not None:
            own = mixed(self.mix, evaluation, lines, seed=self.seed)
            beside, self._mixed_before = mixed_beside(own, self._mixed_before), own
        return SweepPoint(
            vocab_size=vocab_size,
            tokens=total["tokens"],
            bytes_per_token=ratio(total["bytes"], total["tokens"]),
            groups={
                group: group_figures_of(aggregate, before, group=group, metrics=[_COMPRESSION])[
                    _COMPRESSION.name
                ]
                for group in evaluation.groups
            },
            is_filled=vocab_size >= asked,
            keeps_text=total["roundtrips"] == total["documents"],
            figures=figures_of(aggregate, before, metrics=[METRICS[name] for name in SWEPT]),
            cost=cost_of(vocab_size, evaluation.groups, self.model),
            mixed=beside,
        )


def _mix_summary(mix: Mix, points: Sequence[SweepPoint], *, price: float | None) -> Iterator[str]:
    """Say which of the sizes that the text fills is the cheapest."""
    alternatives = [
        Alternative(f"{point.vocab_size:,} tokens", keeps_text=point.keeps_text, mixed=point.mixed)
        for point in points
        if point.mixed is not None and point.is_filled
    ]
    return cheapest(mix, alternatives, price=price) if alternatives else iter(())


class Trainer:
    """Trains an algorithm at any size, and counts the training runs."""

    def __init__(
        self,
        holdout: Holdout,
        backend: str,
        options: Mapping[str, Any],
        threads: int | None,
        progress: Progress,
    ) -> None:
        self.backend = get_backend(backend)
        self.options = {field.name for field in fields(self.backend.config_type)}
        self.runs = 0
        self._holdout = holdout
        has_threads = "threads" in self.options
        self._given = {**({"threads": threads} if has_threads else {}), **options}
        self._progress = progress

    def config(self, size: int, **others: Any) -> Any:
        """Return the backend's configuration for a size and other options. Raises `ConfigError`."""
        options = {**self._given, "vocab_size": size, **others}
        return build_config(self.backend.config_type, options, where=f"the backend {self.backend.name!r}")

    def __call__(self, size: int, *, name: str | None = None, **others: Any) -> Tokenizer:
        """Train; `name` is what progress calls it, by default its size."""
        config = self.config(size, **others)
        self.runs += 1

        def report(phase: str, done: int, total: int | None, unit: str) -> None:
            self._progress(f"{name or f'{size:,} tokens'}: {phase}", done, total, unit)

        return self.backend.train(self._holdout.training, config, progress=report)

    def smaller(self, largest: Tokenizer, size: int) -> Tokenizer:
        """Return the tokenizer of a smaller size: a prefix of the largest one's merges, or a newly trained one."""
        nested = None
        if isinstance(self.backend, NestsVocabularies):
            nested = self.backend.smaller(largest, size)
            if nested is None:
                smallest = largest.info.vocab_size - len(nested_merges(largest) or ())
                raise ConfigError(
                    f"a vocabulary of {size} is too small: {smallest} tokens are there before the first merge",
                    hint=f"begin with {smallest} or more",
                )
        return nested or self(size)


def nested_merges(tokenizer: Tokenizer) -> list[tuple[int, int]] | None:
    """Return the merges of a tokenizer whose merge prefixes are tokenizers as well; None for other tokenizers.

    Such a tokenizer has the base tokens first, then a token for each merge, then special tokens.
    """
    description = tokenizer.description() if isinstance(tokenizer, DescribesItself) else None
    if (
        not isinstance(description, ByteLevelBpe)
        or description.merges is None
        or description.whole_tokens_first
    ):
        return None
    in_order = all(merge[2] == _BASE + rank for rank, merge in enumerate(description.merges))
    return [(left, right) for left, right, _ in description.merges] if in_order else None


def sweep_document(sweep: Sweep) -> dict[str, Any]:
    """Return the JSON that `--json` prints, schema tokbench.sweep/1."""
    return {
        "schema": "tokbench.sweep/1",
        "backend": sweep.backend,
        "trainings": sweep.trainings,
        "corpus": sweep.corpus_document(),
        "points": [point_document(point, sweep.model) for point in sweep.points],
        "knee": sweep.knee,
        "method": METHOD,
        "recommended": sweep.recommended,
        "reason": sweep.reason,
        "missing": list(sweep.missing),
        "interval_gap": sweep.interval_gap,
        "group_interval_gaps": dict(sweep.group_interval_gaps),
        "mix": None if sweep.mix is None else mix_document(sweep.mix, sweep.mix_summary),
    }


def point_document(point: SweepPoint, model: Model) -> dict[str, Any]:
    """Return the JSON of one point."""
    return {
        "vocab_size": point.vocab_size,
        "tokens": point.tokens,
        "bytes_per_token": point.bytes_per_token,
        "filled": point.is_filled,
        "keeps_text": point.keeps_text,
        "metrics": {name: figure_document(figure) for name, figure in point.figures.items()},
        "embedding_parameters": None if model.dim is None else point.vocab_size * model.dim,
        "cost": None if point.cost is None or not point.cost.is_known else cost_document(point.cost),
        "mix": None if point.mixed is None else figure_document(point.mixed.tokens_per_byte),
        "groups": {group: figure_document(figure) for group, figure in point.groups.items()},
    }
