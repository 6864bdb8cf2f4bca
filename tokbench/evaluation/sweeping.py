"""Compression against vocabulary size: from one training where vocabularies are nested, else from one for each size."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.errors import ConfigError
from tokbench.evaluation.measuring import evaluate
from tokbench.interfaces import no_progress
from tokbench.metrics.nested import tokens_by_merges
from tokbench.metrics.ratios import ratio
from tokbench.models import ByteLevelBpe, DescribesItself
from tokbench.registry import get_backend

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.evaluation.measuring import Evaluation
    from tokbench.evaluation.splitting import Split
    from tokbench.interfaces import Progress, Tokenizer

_BASE = 256
_WORTH = 0.02
"""What a doubling must add to the compression to be worth its parameters."""


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One vocabulary size on the held-out text.

    Attributes:
        vocab_size: entries, special tokens included.
        tokens: what the text becomes.
        bytes_per_token: its UTF-8 bytes over them.
        groups: group → the same of its text.
    """

    vocab_size: int
    tokens: int
    bytes_per_token: float | None
    groups: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Sweep:
    """A curve, and what it says.

    Attributes:
        backend: the algorithm.
        points: by rising size.
        num_bytes: UTF-8 bytes of the held-out text.
        documents: how many there are.
        trainings: how many runs it took.
        knee: the size where the curve bends most; None for fewer than three sizes, and where it does not bend.
        recommended: the smallest size whose doubling no longer pays.
        reason: why, in a sentence.
        missing: the sizes that the text could not fill.
        training_bytes: UTF-8 bytes that were learned from.
        largest: the tokenizer of the largest size.
    """

    backend: str
    points: tuple[SweepPoint, ...]
    num_bytes: int
    documents: int
    trainings: int
    knee: int | None
    recommended: int
    reason: str
    missing: tuple[int, ...]
    training_bytes: int
    largest: Tokenizer


def sweep_sizes(
    split: Split,
    sizes: Sequence[int],
    *,
    backend: str = "bpe",
    options: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: Progress = no_progress,
) -> Sweep:
    """Judge an algorithm at several sizes on the held-out part of a corpus.

    BPE vocabularies are nested: one training at the largest size answers for all of them, exactly.

    Args:
        split: what it learns from, and what it is judged on.
        sizes: vocabulary sizes; each once, by rising size in the result.
        backend: the algorithm.
        options: its other options.
        threads: for encoding; None takes every processor.
        progress: told how far it is.

    Raises:
        ConfigError: no size, or an option that cannot be used.
        TrainingError: a size that cannot be trained, such as one below the base vocabulary.
    """
    wanted = sorted(set(sizes))
    if not wanted:
        raise ConfigError("there is no size to try", hint="--sizes 1k:64k, or a list as 1k,8k,32k")
    train = _Trainer(split, backend, dict(options or {}), progress)
    for size in wanted:  # what cannot be trained is said before the first training
        train.config(size)
    largest = train(wanted[-1])
    merges = nested_merges(largest)
    if merges is not None:
        smallest = largest.info.vocab_size - len(merges)
        if wanted[0] < smallest:
            raise ConfigError(
                f"a vocabulary of {wanted[0]} is too small: {smallest} entries are there before the first merge",
                hint=f"begin with {smallest} or more",
            )
        evaluation = evaluate(largest, split.held_out, threads=threads, progress=progress)
        points = _nested_points(evaluation, merges, wanted)
    else:
        evaluation = evaluate(largest, split.held_out, threads=threads, progress=progress)
        points = [_point(evaluation)]
        for size in wanted[:-1]:
            points.append(_point(evaluate(train(size), split.held_out, threads=threads, progress=progress)))
    reached = largest.info.vocab_size
    points = sorted(
        {point.vocab_size: point for point in points}.values(), key=lambda point: point.vocab_size
    )
    recommended, reason = recommend(points)
    return Sweep(
        backend=backend,
        points=tuple(points),
        num_bytes=evaluation.num_bytes,
        documents=evaluation.total["documents"],
        trainings=train.runs,
        knee=knee_of(points),
        recommended=recommended,
        reason=reason,
        missing=tuple(size for size in wanted if size > reached),
        training_bytes=split.training_bytes,
        largest=largest,
    )


class _Trainer:
    """Trains the algorithm at any size."""

    def __init__(self, split: Split, backend: str, options: dict[str, Any], progress: Progress) -> None:
        self._split = split
        self._backend = get_backend(backend)
        self._options = options
        self._progress = progress
        self.runs = 0

    def config(self, size: int) -> Any:
        """The options for a size. Raises `ConfigError`."""
        if "vocab_size" not in {field.name for field in fields(self._backend.config_type)}:
            raise ConfigError(f"{self._backend.name} has one size only", hint="choose another --backend")
        return self._backend.config_type(**self._options, vocab_size=size)

    def __call__(self, size: int) -> Tokenizer:
        config = self.config(size)
        self.runs += 1

        def told(phase: str, done: int, total: int | None, unit: str) -> None:
            self._progress(f"{size:,} entries: {phase}", done, total, unit)

        return self._backend.train(self._split.training, config, progress=told)


def nested_merges(tokenizer: Tokenizer) -> list[tuple[int, int]] | None:
    """The merges of a tokenizer whose beginnings are tokenizers too; None for one of another kind.

    Such a tokenizer has the base entries first, then an entry for each merge, then special tokens.
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


def _nested_points(
    evaluation: Evaluation, merges: Sequence[tuple[int, int]], sizes: Sequence[int]
) -> list[SweepPoint]:
    reached = evaluation.info.vocab_size
    tried = sorted({min(size, reached) for size in sizes})
    total = _tokens_at(evaluation.frequencies, merges, tried, vocab_size=reached)
    groups = {
        group: _tokens_at(tally.frequencies, merges, tried, vocab_size=reached)
        for group, tally in evaluation.groups.items()
        if tally.frequencies is not None
    }
    num_bytes = evaluation.total["bytes"]
    return [
        SweepPoint(
            vocab_size=size,
            tokens=total[place],
            bytes_per_token=ratio(num_bytes, total[place]),
            groups={
                group: ratio(evaluation.groups[group]["bytes"], tokens[place])
                for group, tokens in groups.items()
            },
        )
        for place, size in enumerate(tried)
    ]


def _tokens_at(
    frequencies: NDArray[np.int64],
    merges: Sequence[tuple[int, int]],
    sizes: Sequence[int],
    *,
    vocab_size: int,
) -> list[int]:
    """The tokens at each size; special tokens, behind the learned entries, count in all of them."""
    tokens = tokens_by_merges(frequencies[: _BASE + len(merges)], merges)
    num_fixed = vocab_size - len(merges)
    return [int(tokens[size - num_fixed]) for size in sizes]


def _point(evaluation: Evaluation) -> SweepPoint:
    total = evaluation.total
    return SweepPoint(
        vocab_size=evaluation.info.vocab_size,
        tokens=total["tokens"],
        bytes_per_token=ratio(total["bytes"], total["tokens"]),
        groups={group: ratio(tally["bytes"], tally["tokens"]) for group, tally in evaluation.groups.items()},
    )


# --- what the curve says --------------------------------------------------------------------------


def knee_of(points: Sequence[SweepPoint]) -> int | None:
    """The size at which the curve is farthest above the line between its ends, over log2 of the size.

    None where it is nowhere above: every doubling then adds as much as the one before.

    Source: Satopaa et al. 2011, "Finding a Kneedle in a Haystack", without smoothing.

    >>> flat = [SweepPoint(2**n, 1, y, {}) for n, y in ((10, 1.0), (11, 1.9), (12, 2.0), (13, 2.1))]
    >>> knee_of(flat)
    2048
    """
    known = [(math.log2(one.vocab_size), one.bytes_per_token or 0.0, one.vocab_size) for one in points]
    if len(known) < 3 or known[-1][1] <= known[0][1]:
        return None
    (x0, y0, _), (x1, y1, _) = known[0], known[-1]
    heights = [(y - y0) / (y1 - y0) - (x - x0) / (x1 - x0) for x, y, _ in known]
    highest = int(np.argmax(heights))
    return known[highest][2] if heights[highest] > 0 else None


def recommend(points: Sequence[SweepPoint]) -> tuple[int, str]:
    """The smallest size whose doubling adds less than two percent, and why.

    Args:
        points: at least one, by rising size.
    """
    for one, following in pairwise(points):
        if _gain_of_doubling(one, following) < _WORTH:
            more = (following.bytes_per_token or 0) / (one.bytes_per_token or 1) - 1
            return one.vocab_size, (
                f"from {one.vocab_size:,} to {following.vocab_size:,} entries a token holds only {more * 100:.1f} % "
                "more bytes"
            )
    last = points[-1]
    if len(points) < 2:
        return last.vocab_size, "it is the only size that was tried"
    return last.vocab_size, (
        f"every doubling still adds {_WORTH * 100:.0f} % or more, at the end "
        f"{_gain_of_doubling(points[-2], last) * 100:.1f} %: a larger vocabulary may pay as well"
    )


def _gain_of_doubling(one: SweepPoint, following: SweepPoint) -> float:
    """By what share the compression grows with each doubling from one size to the next."""
    growth = (following.bytes_per_token or 0) / (one.bytes_per_token or 1)
    return math.pow(growth, 1 / math.log2(following.vocab_size / one.vocab_size)) - 1
