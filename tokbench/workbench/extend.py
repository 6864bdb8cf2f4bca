"""Add tokens to a byte-level BPE behind its own: learned from text, given as words, or special."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress
from tokbench.core.result_json import token_fields
from tokbench.core.special_tokens import check_special_tokens
from tokbench.errors import ConfigError, ConversionError
from tokbench.files.atomic_folder import write_folder
from tokbench.surgery.bpe_document import read_bpe
from tokbench.surgery.counted_pretokens import CountedPretokens, count_pretokens, split_of
from tokbench.surgery.extended_tokenizer import extend_tokenizer, extended_document
from tokbench.surgery.growth import Vocabulary, grow, is_coarsening, made_of
from tokbench.surgery.id_map import IdMap
from tokbench.surgery.initial_rows import InitialRows
from tokbench.surgery.model_files import config_patch, model_files
from tokbench.surgery.output_folder import check_place
from tokbench.surgery.pruned_tokenizer import document_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tokbench.core.interfaces import TokenizerInfo
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.opening.request import OpenRequest
    from tokbench.surgery.extended_tokenizer import ExtensionProofs
    from tokbench.surgery.growth import Growth, NewToken

_PROVED_DOCUMENTS = 1024
_PROVED_CHARACTERS = 8192
_LEARNED_SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """What a vocabulary is to get.

    Attributes:
        num_tokens: tokens to be learned from text.
        size: the ids to have at last, words and special tokens included, instead of `num_tokens`.
        words: pre-tokens that are to be one token each.
        special_tokens: texts that only their ids stand for.
        min_frequency: learning stops when the most frequent pair is rarer than this.
        max_token_length: bytes that a learned token may have; None for any number.

    Raises:
        ConfigError: there is nothing, both sizes, or special tokens that cannot be.
    """

    num_tokens: int | None = None
    size: int | None = None
    words: tuple[str, ...] = ()
    special_tokens: tuple[str, ...] = ()
    min_frequency: int = 2
    max_token_length: int | None = None

    def __post_init__(self) -> None:
        check_special_tokens(self.special_tokens)
        if self.num_tokens is not None and self.size is not None:
            raise ConfigError("--tokens and --size both say how many tokens are learned", hint="give one")
        if not (self.learns or self.words or self.special_tokens):
            raise ConfigError(
                "nothing says which tokens are to come", hint="--tokens N with text, --words or --special"
            )

    @property
    def learns(self) -> bool:
        """Whether tokens are learned from text."""
        return self.num_tokens is not None or self.size is not None


@dataclass(frozen=True, slots=True)
class ExtendResult:
    """A vocabulary that was extended, proved and written.

    Attributes:
        old: the tokenizer.
        new: the one that was written.
        out: its folder.
        files: name → bytes.
        rows: of the embedding that the patch of config.json asks for.
        words: tokens that the given words needed.
        learned: tokens that were learned from text.
        last_learned: the bytes of some of them.
        growth: tokens of that text before and after; None where there was none.
        num_bytes: of that text; None where that was not counted.
        pretokens: distinct ones of it that were compared.
        proofs: what was checked besides before anything was written.
        notes: what its user has to know, a sentence each.
        seconds: phase → wall seconds.
    """

    old: TokenizerInfo
    new: TokenizerInfo
    out: Path
    files: Mapping[str, int]
    rows: int
    words: int
    learned: int
    last_learned: tuple[bytes, ...]
    growth: Growth | None
    num_bytes: int | None
    pretokens: int
    proofs: ExtensionProofs
    notes: tuple[str, ...]
    seconds: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        growth = self.growth
        return {
            "schema": "tokbench.extend/1",
            "name": self.old.name,
            "out": str(self.out),
            "files": dict(self.files),
            "old_vocab_size": self.old.vocab_size,
            "new_vocab_size": self.new.vocab_size,
            "embedding_rows": self.rows,
            "words": self.words,
            "learned": self.learned,
            "last_learned": [token_fields(piece) for piece in self.last_learned],
            "bytes": self.num_bytes,
            "old_tokens": None if growth is None else growth.old_count,
            "new_tokens": None if growth is None else growth.new_count,
            "proofs": {"pretokens": self.pretokens, **self.proofs.to_json()},
            "notes": list(self.notes),
            "seconds": dict(self.seconds),
        }


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
    """Add tokens to a byte-level BPE behind its own, prove that it only became coarser, and write it.

    Args:
        name: what `-t` takes.
        out: the folder to write.
        additions: which tokens come.
        corpus: what tokens are learned from.
        request: how the tokenizer is opened.
        pad_multiple: the embedding that is asked for has a multiple of this many rows.
        overwrite: whether to replace a folder that this wrote.
        threads: for counting and encoding; None takes every processor.
        seed: draws the generated texts of the proof.
        progress: told how far it is.

    Raises:
        ConfigError: no text to learn from, a size that is too small, a word that is no pre-token.
        ConversionError: it is no byte-level BPE, or a proof does not hold.
        CorpusError, TextError: the corpus cannot be read or encoded.
        StoreError, ModelFormatError: the tokenizer cannot be opened, or the folder not written.
    """
    from tokbench.opening.request import OpenRequest
    from tokbench.workbench.open import find_and_open

    if additions.learns and corpus is None:
        raise ConfigError("tokens are learned from text, and none is named", hint="name files behind it")
    check_place(out, overwrite=overwrite)
    started = time.perf_counter()
    opened = find_and_open(name, request or OpenRequest(), progress=progress)
    old, document = opened.tokenizer, document_of(opened)
    first_id = old.info.vocab_size
    work = _Learning(
        Vocabulary.of(read_bpe(document, path=opened.source.path), size=first_id), threads, progress
    )
    seconds = {"opening": time.perf_counter() - started}
    notes: list[str] = []
    texts: list[str] = []
    counted = growth = None
    if additions.words:
        words = _checked_words(additions.words, split_of(old, document))
        work.take_words(words, notes=notes)
    num_words = len(work.new)
    if additions.learns and corpus is not None:
        wanted = _wanted(additions, first_id=first_id, taken=num_words)
        with corpus.in_memory():
            started = time.perf_counter()
            counted = count_pretokens(old, document, corpus, threads=threads, progress=progress)
            seconds["counting"], started = time.perf_counter() - started, time.perf_counter()
            growth = work.learn(counted, wanted, additions, notes=notes)
            seconds["merging"] = time.perf_counter() - started
            texts = [text[:_PROVED_CHARACTERS] for text in islice(corpus, _PROVED_DOCUMENTS)]
    started = time.perf_counter()
    vocabulary, new = work.vocabulary, tuple(work.new)
    specials = dict(zip(additions.special_tokens, range(first_id + len(new), 1 << 32), strict=False))
    id_map = _id_map(opened.tokenizer.info, document, sizes=(first_id, first_id + len(new) + len(specials)))
    made = extend_tokenizer(
        opened,
        extended_document(document, vocabulary.tokens, new, specials),
        id_map,
        name=out.name,
        texts=texts,
        threads=threads,
        seed=seed,
        progress=progress,
    )
    seconds["proving"] = time.perf_counter() - started
    patch = config_patch(opened, made.tokenizer, id_map, pad_multiple=pad_multiple)
    rows = InitialRows.of(id_map, made_of(new, first_id=first_id))
    files = {**made.files, **model_files(id_map, rows, patch)}
    write_folder(out, files, replace=overwrite)
    learned = vocabulary.tokens[first_id + num_words :]
    return ExtendResult(
        old=old.info,
        new=made.tokenizer.info,
        out=out,
        files={name: len(data) for name, data in files.items()},
        rows=patch["vocab_size"],
        words=num_words,
        learned=len(learned),
        last_learned=learned[-_LEARNED_SHOWN:],
        growth=growth,
        num_bytes=None if counted is None else counted.num_bytes,
        pretokens=0 if counted is None else len(counted.words),
        proofs=made.proofs,
        notes=(*notes, *made.notes),
        seconds=seconds,
    )


@dataclass
class _Learning:
    """A vocabulary while it grows; each time it is checked that words only became coarser."""

    vocabulary: Vocabulary
    threads: int | None
    progress: Progress
    new: list[NewToken] = field(default_factory=list)

    def take_words(self, words: CountedPretokens, *, notes: list[str]) -> None:
        """Make each word one token, by as many merges as that needs."""
        most = sum(len(word.encode()) for word in words.words)
        self._grow(words, most, min_frequency=1, max_token_length=None)
        cut = self.vocabulary.cut(words.words, threads=self.threads)
        sizes = (cut.offsets[1:] - cut.offsets[:-1]).tolist()
        for word, size in zip(words.words, sizes, strict=True):
            if size > 1:
                notes.append(f"{word!r} stays {size} tokens: a token of it is there already, by other merges")

    def learn(
        self, counted: CountedPretokens, wanted: int, additions: Additions, *, notes: list[str]
    ) -> Growth:
        """Learn tokens from counted pre-tokens."""
        found = self._grow(
            counted,
            wanted,
            min_frequency=additions.min_frequency,
            max_token_length=additions.max_token_length,
        )
        if len(found.tokens) < wanted:
            notes.append(
                f"{len(found.tokens):,} of {wanted:,} tokens: no pair is left that occurs "
                f"{additions.min_frequency} times or more"
            )
        return found

    def _grow(
        self, words: CountedPretokens, num_tokens: int, *, min_frequency: int, max_token_length: int | None
    ) -> Growth:
        found = grow(
            self.vocabulary,
            words,
            num_tokens=num_tokens,
            min_frequency=min_frequency,
            max_token_length=max_token_length,
            threads=self.threads,
            progress=self.progress,
        )
        grown = self.vocabulary.grown(found.tokens)
        if not is_coarsening(self.vocabulary, grown, words.words, threads=self.threads):
            raise ConversionError(
                "a word would get token boundaries that it had not",
                hint="nothing was written; this is a fault of tokbench, please report it",
            )
        self.new.extend(found.tokens)
        self.vocabulary = grown
        return found


def _checked_words(given: tuple[str, ...], split: Callable[[str], list[str]]) -> CountedPretokens:
    """Words as pre-tokens. Raises `ConfigError` for one that is split."""
    words = []
    for word in given:
        pretokens = split(word)
        if len(pretokens) != 1:
            parts = ", ".join(map(repr, pretokens)) or "nothing"
            raise ConfigError(
                f"the word {word!r} is no pre-token: it is split into {parts}, and merges never cross that",
                hint="leave it out, or give its parts",
            )
        words.extend(pretokens)
    return CountedPretokens.once(words)


def _wanted(additions: Additions, *, first_id: int, taken: int) -> int:
    """How many tokens are to be learned from text. Raises `ConfigError`."""
    if additions.size is None:
        return additions.num_tokens or 0
    there = first_id + taken + len(additions.special_tokens)
    if additions.size <= there:
        raise ConfigError(
            f"--size {additions.size} leaves no id for what is to be learned: {there:,} are taken",
            hint="--tokens N says how many are learned",
        )
    return additions.size - there


def _id_map(info: TokenizerInfo, document: Mapping[str, Any], *, sizes: tuple[int, int]) -> IdMap:
    """Every old token keeps its id; gaps have none."""
    vocab = document["model"]["vocab"]
    there = {*vocab.values(), *info.special_tokens.values()}
    there |= {token["id"] for token in document.get("added_tokens") or [] if token["content"] not in vocab}
    return IdMap.of_pairs(((id, id) for id in sorted(there) if id < sizes[0]), sizes=sizes)
