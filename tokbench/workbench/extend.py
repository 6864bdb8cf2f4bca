"""Append tokens to a vocabulary: learned from text, given as words, or special tokens."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress
from tokbench.core.result_json import token_fields
from tokbench.core.special_tokens import check_special_tokens
from tokbench.core.truncation import check_number
from tokbench.core.wording import counted
from tokbench.corpus import bundled_corpus
from tokbench.errors import ConfigError, SurgeryError
from tokbench.lint.target import count_corpus
from tokbench.opening.request import OpenRequest
from tokbench.surgery.bpe_extension import BpeExtension
from tokbench.surgery.character_extension import CharacterExtension
from tokbench.surgery.contents import contents_of
from tokbench.surgery.model_files import check_place
from tokbench.surgery.unigram_extension import UnigramExtension
from tokbench.surgery.wordpiece_extension import WordPieceExtension
from tokbench.workbench.changed_vocabulary import MOST_PARTS, Clock, samples, write_changed
from tokbench.workbench.open import find_and_open

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.opening.request import Opened
    from tokbench.surgery.contents import Algorithm
    from tokbench.surgery.extended_tokenizer import ExtendedTokenizer, Extension, ExtensionProofs
    from tokbench.workbench.changed_vocabulary import ChangedVocabulary

_LEARNED_SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """The tokens to add to a vocabulary.

    Attributes:
        num_tokens: number of tokens to learn from text.
        size: the final vocabulary size, including words and special tokens; an alternative to `num_tokens`.
        words: texts that become one token each, spelled as they occur in text.
        special_tokens: texts of new special tokens.
        min_frequency: learning stops when the next token would be rarer than this.
        max_token_length: maximum bytes of a learned token; None for no limit.

    Raises:
        ConfigError: nothing is added, both sizes are given, or a special token is invalid.
    """

    num_tokens: int | None = None
    size: int | None = None
    words: tuple[str, ...] = ()
    special_tokens: tuple[str, ...] = ()
    min_frequency: int = 2
    max_token_length: int | None = None

    def __post_init__(self) -> None:
        check_special_tokens(self.special_tokens)
        for token in self.special_tokens:
            if token.isspace():
                raise ConfigError(
                    f"the special token {token!r} is white space, which libraries would find in every text",
                    hint="--words adds ordinary tokens; a special token has a text of its own, such as <tool>",
                )
        if self.num_tokens is not None and self.size is not None:
            raise ConfigError("--tokens and --size both say how many tokens are learned", hint="give one")
        if not (self.learns or self.words or self.special_tokens):
            raise ConfigError(
                "no tokens to add",
                hint="give --tokens N with text, --words or --special-token TEXT; one with an id is not added",
            )

    @property
    def learns(self) -> bool:
        """Whether tokens are learned from text."""
        return self.num_tokens is not None or self.size is not None


@dataclass(frozen=True, slots=True)
class ExtendResult:
    """An extended vocabulary that was proved and written.

    Attributes:
        change: the tokenizer before and after, and what was written.
        algorithm: the algorithm, as `surgery.contents` names it.
        words: number of tokens that the given words needed, parts of words included.
        learned: number of tokens learned from text.
        last_learned: the bytes of the last of them.
        num_bytes: bytes of that text; None if they were not counted.
        old_tokens: tokens of that text under the old tokenizer; None without a text.
        new_tokens: tokens of that text under the new tokenizer; None without a text.
        proofs: what was checked before anything was written.
    """

    change: ChangedVocabulary
    algorithm: Algorithm
    words: int
    learned: int
    last_learned: tuple[bytes, ...]
    num_bytes: int | None
    old_tokens: int | None
    new_tokens: int | None
    proofs: ExtensionProofs

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
        return self.change.to_json(
            "tokbench.extend/1",
            algorithm=self.algorithm,
            words=self.words,
            learned=self.learned,
            last_learned=[token_fields(piece) for piece in self.last_learned],
            bytes=self.num_bytes,
            old_tokens=self.old_tokens,
            new_tokens=self.new_tokens,
            proofs=self.proofs.to_json(),
        )


@dataclass(frozen=True, slots=True)
class Grown:
    """An extended vocabulary that was proved, and is not written yet.

    Attributes:
        extended: the larger tokenizer, with its files and proofs.
        algorithm: its algorithm.
        words: number of tokens that the given words needed, parts of words included.
        learned: the bytes of the tokens that were learned from text.
        num_bytes: bytes of that text; None if they were not counted.
        notes: what users of the new tokenizer have to know, a sentence each.
        seconds: phase → wall seconds.
    """

    extended: ExtendedTokenizer
    algorithm: Algorithm
    words: int
    learned: tuple[bytes, ...]
    num_bytes: int | None
    notes: tuple[str, ...]
    seconds: Mapping[str, float]


def extend(
    name: str | Path,
    out: Path,
    additions: Additions,
    *,
    corpus: Corpus | None = None,
    request: OpenRequest | None = None,
    pad_multiple: int = 64,
    overwrite: bool = False,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
) -> ExtendResult:
    """Append tokens to a vocabulary, prove the effect, and write the result.

    Args:
        name: the tokenizer, as `-t` takes it.
        out: the folder to write.
        additions: the tokens to add.
        corpus: the text to learn tokens from.
        request: how to open the tokenizer.
        pad_multiple: the number of embedding rows is rounded up to a multiple of this.
        overwrite: whether to replace a folder that an earlier run wrote.
        threads: threads for counting and encoding; None uses every processor.
        seed: seed of the generated texts of the proof.
        progress: called with how much of the work is done.

    Raises:
        ConfigError: no text to learn from, a size that is too small, a word that is split, or no token to add.
        ConversionError: the tokenizer cannot be extended, or a proof fails.
        CorpusError, TextError: the corpus cannot be read or encoded.
        StoreError, ModelFormatError: the tokenizer cannot be opened, or the folder cannot be written.
    """
    check_number("seed", seed, smallest=0, optional=False)
    if additions.learns and corpus is None:
        raise ConfigError("there is no text to learn tokens from", hint="name files after the tokenizer")
    check_place(out, overwrite=overwrite)
    clock = Clock()
    opened = find_and_open(name, request or OpenRequest(), progress=progress)
    clock.lap("opening")
    old_tokens = new_tokens = None
    with corpus.in_memory() if corpus else nullcontext():
        grown = grow(
            opened,
            additions,
            corpus=corpus,
            name=out.name,
            threads=threads,
            seed=seed,
            progress=progress,
        )
        made = grown.extended
        if corpus is not None:
            old_tokens, new_tokens = count_tokens(
                corpus, opened.tokenizer, made.opened.tokenizer, threads=threads
            )
    change = write_changed(
        opened,
        made.opened.tokenizer,
        made.files,
        made.id_map,
        made.rows,
        out=out,
        pad_multiple=pad_multiple,
        overwrite=overwrite,
        notes=(*grown.notes, *_note_on_spelling(old_tokens, new_tokens), *made.notes),
        seconds={**clock.laps, **grown.seconds},
    )
    return ExtendResult(
        change=change,
        algorithm=grown.algorithm,
        words=grown.words,
        learned=len(grown.learned),
        last_learned=grown.learned[-_LEARNED_SHOWN:],
        num_bytes=grown.num_bytes,
        old_tokens=old_tokens,
        new_tokens=new_tokens,
        proofs=made.proofs,
    )


def grow(
    opened: Opened,
    additions: Additions,
    *,
    corpus: Corpus | None,
    name: str,
    threads: int | None,
    seed: int,
    progress: Progress,
    is_final: bool = True,
) -> Grown:
    """Add tokens to a tokenizer and prove the effect; see `extend`.

    Args:
        opened: the tokenizer.
        additions: the tokens to add.
        corpus: the text, in memory, to learn tokens from and to prove on. None proves on the bundled texts.
        name: name of the new tokenizer.
        threads: threads for counting and encoding.
        seed: seed of the generated texts of the proof.
        progress: called with how much of the work is done.
        is_final: whether the result is compared with libraries; False where it is changed once more.

    Raises:
        ConfigError: nothing is left to add; and as `extend`.
    """
    clock = Clock()
    extension = extension_of(opened)
    notes = extension.take_words(additions.words, threads=threads) if additions.words else []
    num_words = len(extension.tokens)
    num_bytes = None
    if additions.words:
        clock.lap("words")
    if additions.learns and corpus is not None:
        wanted = _num_to_learn(additions, first_id=opened.tokenizer.info.vocab_size, taken=num_words)
        num_bytes = extension.count(corpus, threads=threads, progress=progress)
        clock.lap("counting")
        extension.learn(
            wanted,
            min_frequency=additions.min_frequency,
            max_token_length=additions.max_token_length,
            threads=threads,
            progress=progress,
        )
        clock.lap("learning")
        notes += _note_on_fewer(len(extension.tokens) - num_words, wanted, additions, extension.algorithm)
    if not (extension.tokens or additions.special_tokens):
        raise ConfigError("no token would be added", hint="; ".join(notes) or "each word is a token already")
    made = extension.extend(
        additions.special_tokens,
        name=name,
        texts=list(islice(samples(corpus or bundled_corpus()), MOST_PARTS)),
        threads=threads,
        seed=seed,
        progress=progress,
        is_final=is_final,
    )
    clock.lap("proving")
    return Grown(
        extended=made,
        algorithm=extension.algorithm,
        words=num_words,
        learned=tuple(extension.tokens[num_words:]),
        num_bytes=num_bytes,
        notes=tuple(notes),
        seconds=clock.laps,
    )


def count_tokens(corpus: Corpus, *tokenizers: Tokenizer, threads: int | None) -> Iterator[int]:
    """Yield the number of tokens of a text under each tokenizer. Raises `TextError`, `CorpusError`."""
    for tokenizer in tokenizers:
        yield count_corpus(tokenizer, corpus, threads=threads).tokens


def _note_on_fewer(found: int, wanted: int, additions: Additions, algorithm: Algorithm) -> list[str]:
    """Explain why fewer tokens were learned than requested, if so."""
    if found >= wanted:
        return []
    worth = {
        "unigram": "no piece is left that raises the likelihood and occurs",
        "wordpiece": "no piece is left that saves tokens and occurs",
    }.get(algorithm, "no pair is left that occurs")
    longest = additions.max_token_length
    length = f" and makes a token of at most {counted(longest, 'byte')}" if longest is not None else ""
    often = counted(additions.min_frequency, "time")
    return [f"{found:,} of {wanted:,} tokens: {worth} {often} or more{length}"]


def _note_on_spelling(old_tokens: int | None, new_tokens: int | None) -> list[str]:
    """Explain why a text has more tokens than before, if so."""
    if old_tokens is None or new_tokens is None or new_tokens <= old_tokens:
        return []
    return ["the text has more tokens: words that were one unknown token are spelled out now"]


def _num_to_learn(additions: Additions, *, first_id: int, taken: int) -> int:
    """Return the number of tokens to learn from text. Raises `ConfigError`."""
    if additions.size is None:
        return additions.num_tokens or 0
    num_taken = first_id + taken + len(additions.special_tokens)
    if additions.size <= num_taken:
        raise ConfigError(
            f"--size {additions.size} leaves no id for what is to be learned: {num_taken:,} are taken",
            hint="--tokens N says how many are learned",
        )
    return additions.size - num_taken


_EXTENSIONS: dict[Algorithm, type[Extension]] = {
    extension.algorithm: extension
    for extension in (BpeExtension, CharacterExtension, UnigramExtension, WordPieceExtension)
}


def extension_of(opened: Opened) -> Extension:
    """Return the `Extension` for a tokenizer. Raises `SurgeryError` for an unsupported algorithm."""
    found = contents_of(opened)
    if found.algorithm is None:
        raise SurgeryError(f"a {found.kind} cannot learn more pieces")
    return _EXTENSIONS[found.algorithm](opened, found.content)
