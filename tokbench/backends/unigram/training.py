"""Learning of Unigram pieces from the segments of counted words, on the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.backends.sentencepiece.kernel import COMPILED
from tokbench.backends.sentencepiece.vocabulary import symbols_of
from tokbench.libraries.sentencepiece.training_progress import PruningRounds
from tokbench.native.kernel_choice import chosen_module

if TYPE_CHECKING:
    from tokbench.backends.sentencepiece.kernel import TrainingText
    from tokbench.backends.sentencepiece.options import Options
    from tokbench.core.progress import Progress
    from tokbench.libraries.sentencepiece.config import UnigramConfig

_SPARE = 1.1
"""The factor by which pruning leaves more pieces than requested; the best of them are kept."""


def learn(
    text: TrainingText,
    options: Options,
    *,
    vocab_size: int,
    config: UnigramConfig,
    threads: int,
    progress: Progress,
) -> list[tuple[str, float]]:
    """Learn pieces, the best first; see `tokbench.backends.sentencepiece.training.Learner`."""
    names = ("num_sub_iterations", "shrinking_factor")
    rounds = PruningRounds(vocab_size, {name: str(getattr(options, name)) for name in names})
    progress("training", *rounds.place, rounds.unit)

    def report(done: int, left: int) -> None:
        rounds.end_round((done - 1) % options.num_sub_iterations, size=left)
        progress("training", *rounds.place, rounds.unit)

    _, module = chosen_module(compiled=COMPILED, fallback="tokbench.backends.unigram.fallback")
    pieces, scores, _ = module.train_unigram(  # with the options of `reference.train`
        text,
        size=vocab_size - config.reserved,
        most_seeds=options.seed_sentencepiece_size,
        pruned_to=max(int(vocab_size * _SPARE), vocab_size),
        kept_share=options.shrinking_factor,
        rounds=options.num_sub_iterations,
        threads=threads,
        progress=report,
    )
    symbols = {*symbols_of(config)}
    return [
        (piece, float(score)) for piece, score in zip(pieces, scores, strict=True) if piece not in symbols
    ]
