"""Learning of BPE pieces from the segments of counted words, on the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.backends.sentencepiece.kernel import current_kernel
from tokbench.backends.sentencepiece.vocabulary import symbols_of

if TYPE_CHECKING:
    from tokbench.backends.sentencepiece.kernel import TrainingText
    from tokbench.backends.sentencepiece.options import Options
    from tokbench.core.progress import Progress
    from tokbench.libraries.sentencepiece.config import SentencePieceConfig


def learn(
    text: TrainingText,
    options: Options,
    *,
    vocab_size: int,
    config: SentencePieceConfig,
    threads: int,
    progress: Progress,
) -> list[tuple[str, float]]:
    """Learn merges, followed by the characters by frequency; see `tokbench.backends.sentencepiece.training.Learner`."""
    del options
    wanted = vocab_size - config.reserved - text.alphabet
    progress("training", 0, wanted, "pieces")
    merged = current_kernel().train_bpe(
        text,
        num_pieces=wanted,
        threads=threads,
        progress=lambda done: progress("training", done, wanted, "pieces"),
    )
    characters = sorted(text.characters, key=lambda item: (-item[1], item[0]))
    pieces = [*merged, *(character for character, _ in characters)]
    symbols = {*symbols_of(config)}
    return [(piece, -float(rank)) for rank, piece in enumerate(pieces) if piece not in symbols]
