"""Training a WordPiece: words are counted, their pieces joined."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, cast

from tokbench.backends.wordpiece import reference
from tokbench.backends.wordpiece.tokenizer import WordPieceTokenizer, dump_document
from tokbench.backends.wordpiece.trainer import train as join_pieces
from tokbench.backends.wordpiece.words import count_words
from tokbench.core.default_sizes import fitted_size
from tokbench.core.interfaces import TrainingRecord
from tokbench.core.training import early_end, identity_of
from tokbench.errors import TrainingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tokbench.backends.wordpiece.config import WordPieceConfig
    from tokbench.backends.wordpiece.words import WordCounts
    from tokbench.core.progress import Progress

_MOST_LEARNED = 1 << 15  # pieces, where no size is given
_ENCODED_AT_ONCE = 1 << 14


def train(documents: Iterable[str], config: WordPieceConfig, *, progress: Progress) -> WordPieceTokenizer:
    """Learn a tokenizer from documents.

    Raises:
        CorpusError: a document that cannot be read.
        TrainingError: no text at all, or a vocabulary that its characters alone would fill.
    """
    started = time.perf_counter()
    counted = count_words(documents, config, progress=progress)
    if not counted.words:
        raise TrainingError("there is no text to train on", hint="name files with text")
    counting_seconds = time.perf_counter() - started

    letters = reference.alphabet(counted.words, limit=config.limit_alphabet)
    first = [
        *config.all_special_tokens,
        *reference.first_pieces(counted.words, letters=letters, prefix=config.continuing_prefix),
    ]
    num_pieces = _vocab_size(config, num_first=len(first), num_letters=len(letters), counted=counted)
    progress("joining", len(first), num_pieces, "pieces")
    pieces = join_pieces(
        counted.words,
        pieces=first,
        letters=letters,
        num_pieces=num_pieces,
        objective=cast("reference.Objective", config.objective),
        min_frequency=config.min_frequency,
        prefix=config.continuing_prefix,
        progress=lambda done: progress("joining", done, num_pieces, "pieces"),
    )
    progress("joining", len(pieces), num_pieces, "pieces")
    tokenizer = WordPieceTokenizer(
        dump_document(pieces, config),
        name=f"wordpiece-{len(pieces)}",
        config=_config_as_saved(config),
        identify_text=identity_of(documents),
    )
    tokenizer.training = TrainingRecord(
        documents=counted.documents,
        num_bytes=counted.num_bytes,
        pretokens=counted.words.total() + counted.too_long,
        distinct_pretokens=len(counted.words),
        tokens=_count_tokens(tokenizer, counted.words) + counted.too_long,
        learned_ids=range(len(first), len(pieces)),
        learned_unit="pieces",
        seconds={"counting": counting_seconds, "joining": time.perf_counter() - started - counting_seconds},
        threads=1,
        kernel="python",
        requested_vocab_size=config.vocab_size,
        stopped_early=early_end(
            f"no pair is left that occurs {config.min_frequency} times or more",
            learned=len(pieces),
            wanted=num_pieces,
        ),
        notes=tuple(_notes(counted, config)),
    )
    return tokenizer


def _vocab_size(config: WordPieceConfig, *, num_first: int, num_letters: int, counted: WordCounts) -> int:
    if config.vocab_size is None:
        return num_first + fitted_size(len(counted.words), largest=_MOST_LEARNED)
    if config.vocab_size < num_first:
        raise TrainingError(
            f"a vocabulary of {config.vocab_size} is too small: the {num_letters} characters of the text, "
            f"alone and inside words, and the special tokens are {num_first} tokens",
            hint=f"make vocab_size at least {num_first}, or limit_alphabet smaller",
        )
    return config.vocab_size


def _notes(counted: WordCounts, config: WordPieceConfig) -> Iterator[str]:
    longest = f"more than {config.max_characters_per_word} characters"
    if counted.too_long == 1:
        yield f"one word has {longest}: it is unknown, and was not trained on"
    elif counted.too_long:
        yield f"{counted.too_long:,} words have {longest}: they are unknown, and were not trained on"


def _count_tokens(tokenizer: WordPieceTokenizer, words: Mapping[str, int]) -> int:
    """How many tokens the words become."""
    import numpy as np

    total, names, weights = 0, list(words), list(words.values())
    for start in range(0, len(names), _ENCODED_AT_ONCE):
        part = slice(start, start + _ENCODED_AT_ONCE)
        encoded = tokenizer.encode_batch(names[part])
        total += int(np.diff(encoded.offsets) @ np.array(weights[part], dtype=np.int64))
    return total


def _config_as_saved(config: WordPieceConfig) -> dict[str, object]:
    return dataclasses.asdict(config) | {"special_tokens": list(config.all_special_tokens)}
