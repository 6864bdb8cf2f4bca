"""Training of a WordPiece: documents or counted words → pieces → a tokenizer."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tokbench.backends.wordpiece import reference
from tokbench.backends.wordpiece.agreement import library_words, settled_characters
from tokbench.backends.wordpiece.config import MAX_CHARACTERS, WordPieceConfig
from tokbench.backends.wordpiece.kernel import current_kernel
from tokbench.backends.wordpiece.tokenizer import WordPieceTokenizer, dump_document
from tokbench.core.documents import ByteDocuments
from tokbench.core.interfaces import TrainingRecord
from tokbench.core.training import (
    batches,
    count_sources,
    count_texts,
    early_end,
    fitted_size,
    identity_of,
    limits_reported,
    no_text,
    refuse_one_text,
    threads_of,
)
from tokbench.core.word_input import add_words, check_counted, merger_room, with_words
from tokbench.core.wording import counted
from tokbench.errors import TrainingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tokbench.backends.wordpiece.kernel import WordCounter
    from tokbench.core.counted_words import CountedWords
    from tokbench.core.documents import TextIdentity
    from tokbench.core.progress import Progress


_MOST_LEARNED = 1 << 15  # pieces, if no vocabulary size is given
_FEWER_WORDS = "`tokbench count-words` with "
"""The text before the --min-count that the hint of an error proposes."""


def train(documents: Iterable[str], config: WordPieceConfig, *, progress: Progress) -> WordPieceTokenizer:
    """Learn a tokenizer from documents.

    Raises:
        CorpusError: a document cannot be read.
        TrainingError: there is no text, there are too many words for the kernel, or the vocabulary is too small for
            the characters.
    """
    counting = NormalWordCounting(config)
    started = time.perf_counter()
    counter = counting.new_counter(threads=threads_of(config), seed=config.seed)
    counting.count(counter, documents, progress=progress)
    check_counted(counter, hint=_FEWER_WORDS)
    return _learn_pieces(
        counter,
        config,
        identify_text=identity_of(documents),
        counting_seconds=time.perf_counter() - started,
        progress=progress,
    )


def train_on_words(words: CountedWords, config: WordPieceConfig, *, progress: Progress) -> WordPieceTokenizer:
    """Learn a tokenizer from counted words; the result equals that of `train` on their text.

    Raises:
        TrainingError: there are no words, too many for the kernel, or the vocabulary is too small for the characters.
    """
    started = time.perf_counter()
    counter = NormalWordCounting(config).new_counter(threads=1, seed=config.seed)
    add_words(counter, words, progress=progress, rooms=(merger_room(),))
    counter.finish()
    tokenizer = _learn_pieces(
        counter,
        config,
        too_long_before=words.totals.too_long,
        identify_text=None,
        counting_seconds=time.perf_counter() - started,
        progress=progress,
    )
    with_words(tokenizer, words)
    return tokenizer


def _learn_pieces(
    counter: WordCounter,
    config: WordPieceConfig,
    *,
    too_long_before: int = 0,
    identify_text: Callable[[], TextIdentity] | None,
    counting_seconds: float,
    progress: Progress,
) -> WordPieceTokenizer:
    """Learn pieces from the words of a counter, and build a tokenizer from them."""
    kernel, threads = current_kernel(), threads_of(config)
    started = time.perf_counter()
    too_long = counter.too_long + too_long_before
    if not counter.distinct_words:
        raise _no_words(too_long, config, num_bytes=counter.num_bytes)

    letters, inside = _alphabet(counter, config)
    first = [*config.all_special_tokens, *letters, *inside]
    num_pieces = _vocab_size(config, num_first=len(first), num_letters=len(letters), counter=counter)
    progress("joining", len(first), num_pieces, "pieces")
    with limits_reported():
        pieces = kernel.train(
            counter,
            pieces=first,
            letters=letters,
            num_pieces=num_pieces,
            objective=config.objective,
            min_frequency=config.min_frequency,
            prefix=config.continuing_prefix,
            seed=config.seed,
            progress=lambda done: progress("joining", done, num_pieces, "pieces"),
        )
    progress("joining", len(pieces), num_pieces, "pieces")
    tokenizer = WordPieceTokenizer(
        dump_document(pieces, config),
        name=f"wordpiece-{len(pieces)}",
        config=_config_as_saved(config),
        identify_text=identify_text,
    )
    tokenizer.training = TrainingRecord(
        documents=counter.documents,
        num_bytes=counter.num_bytes,
        pretokens=counter.words + too_long,
        distinct_pretokens=counter.distinct_words,
        tokens=tokenizer.count_tokens(counter, threads=threads) + too_long,
        learned_ids=range(len(first), len(pieces)),
        learned_unit="pieces",
        seconds={"counting": counting_seconds, "joining": time.perf_counter() - started},
        threads=threads,
        kernel=kernel.name,
        requested_vocab_size=config.vocab_size,
        stopped_early=early_end(
            f"no pair is left that occurs {counted(config.min_frequency, 'time')} or more",
            learned=len(pieces),
            wanted=num_pieces,
        ),
        notes=tuple(_notes(too_long, config)),
    )
    return tokenizer


def _no_words(too_long: int, config: WordPieceConfig, *, num_bytes: int) -> TrainingError:
    """Return the error for a text without a word to train on."""
    longest = config.max_characters_per_word
    if too_long == 0:
        return no_text(only="white space, control characters or special tokens" if num_bytes else "")
    words = "the only word of the text has" if too_long == 1 else f"all {too_long:,} words of the text have"
    hint = "words end at white space and punctuation: text without either needs another backend"
    if longest < MAX_CHARACTERS:
        hint += f"; --option max_characters_per_word={MAX_CHARACTERS} trains on longer words"
    return TrainingError(f"{words} more than {counted(longest, 'character')}", hint=hint)


def _alphabet(counter: WordCounter, config: WordPieceConfig) -> tuple[list[str], list[str]]:
    """Return the alphabet, and the prefixed pieces of its characters that occur inside words, both by code point."""
    characters = counter.characters()
    letters = reference.most_frequent(
        {character: count for character, count, _ in characters},
        limit=config.limit_alphabet,
        initial=config.initial_alphabet,
    )
    inside = {character for character, _, is_inside in characters if is_inside}
    return letters, [config.continuing_prefix + letter for letter in letters if letter in inside]


def _vocab_size(config: WordPieceConfig, *, num_first: int, num_letters: int, counter: WordCounter) -> int:
    if config.vocab_size is None:
        return num_first + fitted_size(counter.distinct_words, largest=_MOST_LEARNED)
    if config.vocab_size < num_first:
        raise TrainingError(
            f"a vocabulary of {config.vocab_size} is too small: the {num_letters} characters of the text, "
            f"alone and inside words, and the special tokens are {num_first} tokens",
            hint=f"make vocab_size at least {num_first}, or limit_alphabet smaller",
        )
    return config.vocab_size


def _notes(too_long: int, config: WordPieceConfig) -> Iterator[str]:
    longest = f"more than {config.max_characters_per_word} characters"
    if too_long == 1:
        yield f"one word has {longest}: it is unknown, and was not trained on"
    elif too_long:
        yield f"{too_long:,} words have {longest}: they are unknown, and were not trained on"


def _config_as_saved(config: WordPieceConfig) -> dict[str, object]:
    """Return the options that affect the trained tokenizer, as plain data."""
    options = dataclasses.asdict(config) | {"special_tokens": list(config.all_special_tokens)}
    del options["threads"]
    return options


@dataclass(frozen=True, slots=True)
class NormalWordCounting:
    """The counting of normalized words under a configuration; see `tokbench.core.counted_words.WordCounting`.

    Parts of a text with a character that the kernel and the installed library normalize differently are normalized
    by the library, each distinct part once, so that training and encoding see the same words.
    """

    config: WordPieceConfig

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything besides the text that the counts depend on."""
        import tokenizers

        return {
            "backend": "wordpiece",
            **asdict(self.config.rules),
            "max_characters_per_word": self.config.max_characters_per_word,
            "special_tokens": sorted(self.config.all_special_tokens),
            "unicode": f"tokenizers {tokenizers.__version__}",
        }

    @property
    def cuts_at_lines(self) -> bool:
        """Whether lines can be counted apart: no word spans two lines, and no special token does."""
        return not any("\n" in text[:-1] for text in self.config.all_special_tokens)

    def new_counter(self, *, threads: int, seed: int) -> WordCounter:
        """Create a counter of the kernel."""
        kernel = current_kernel()
        return kernel.new_counter(
            special_tokens=list(self.config.all_special_tokens),
            settled=settled_characters(kernel, self.config.rules),
            max_characters_per_word=self.config.max_characters_per_word,
            threads=threads,
            seed=seed,
            **asdict(self.config.rules),
        )

    def count(self, counter: WordCounter, documents: Iterable[str], *, progress: Progress) -> None:
        """Pass documents to a counter and finish it; they are streamed, split at special tokens and never joined.

        Raises:
            CorpusError: a document cannot be read.
            TrainingError: `documents` is a single text, or there are too many words for the kernel.
            TextError: a text contains a lone surrogate.
        """
        refuse_one_text(documents)
        if isinstance(documents, ByteDocuments):
            count_sources(counter, documents, progress=progress)
        else:
            for batch in batches(documents, progress=progress):
                with limits_reported():
                    count_texts(counter, batch)
        with limits_reported():
            counter.finish()
        self.drain(counter)

    def drain(self, counter: WordCounter) -> None:
        """Wait until everything received is in the counts, including the parts that the library normalizes."""
        with limits_reported():
            counter.drain()
        for part, count in counter.take_unsettled():
            for word in library_words(part, **asdict(self.config.rules)):
                counter.add_counted(word, count)
