"""The plan of a run that writes shards: everything that is known before the first document."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections import defaultdict, deque
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal, get_args

from tokbench.core.json_fields import MAX_COUNT
from tokbench.core.roles import roles_of
from tokbench.core.special_tokens import check_policy
from tokbench.core.wording import printable
from tokbench.corpus.file_samples import sample_of
from tokbench.corpus.paths import unreadable
from tokbench.errors import ConfigError
from tokbench.files.storage.open import place_of
from tokbench.metrics.vocabulary import vocabulary_hash, vocabulary_of
from tokbench.shards.layout import (
    TOKEN_BYTES,
    ChatOptions,
    EndOfDocument,
    ShardFormat,
    ShardOptions,
    TokenizerIdentity,
    TokenType,
)
from tokbench.store.saveable import self_test_texts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.tokens import SpecialPolicy
    from tokbench.corpus import Corpus
    from tokbench.corpus.files import CorpusFile
    from tokbench.files.storage.place import Place

_EOS_NAMES = ("<|endoftext|>", "<|end_of_text|>", "<|eos|>", "<eos>", "</s>", "[EOS]", "[SEP]")
"""Common names of the special token that ends a document; the first one in the vocabulary is used, before one with the
role eos, which in vocabularies for conversations may end a turn."""
_NAMED = 8


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file of the corpus in its state before it was read.

    Attributes:
        name: its path below the named folder, without the location of that folder.
        bytes: its size; 0 for a file that can be read only once.
        sample: sha256 of blocks of it; see `sample_of`.
        modified: the time of its last modification; for a remote file, a number derived from its version.
    """

    name: str
    bytes: int
    sample: str
    modified: int

    @property
    def identity(self) -> tuple[int, str, int]:
        """The values that identify the file regardless of its path."""
        return self.bytes, self.sample, self.modified


@dataclass(frozen=True, slots=True)
class Plan:
    """Inputs and options of a run. Runs with equal plans write the same bytes.

    Files are identified by size, sample and time, not by the paths under which they were named. The times are in the
    plan and in the journal, but not in the index: they show that the corpus changed during a run, and do not affect
    the shards.
    """

    format: ShardFormat
    dtype: TokenType
    tokenizer: TokenizerIdentity
    eos: EndOfDocument | None
    options: ShardOptions
    files: tuple[PlannedFile, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain data for JSON."""
        document = dataclasses.asdict(self)
        document["files"] = [dataclasses.asdict(file) for file in self.files]
        if self.options.chat is not None:
            document["options"]["chat"] = self.options.chat.to_json()
        return document


def make_plan(
    tokenizer: Tokenizer,
    corpus: Corpus,
    *,
    format: str,
    dtype: str,
    eos: str | bool | None,
    shard_tokens: int,
    special: SpecialPolicy,
    chat: ChatOptions | None = None,
) -> Plan:
    """Check the options and make the plan. Raises `ConfigError`, `CorpusError`."""
    if format not in get_args(ShardFormat):
        raise ConfigError(f"unknown format {format!r}", hint="choose npy or bin (--format)")
    check_policy(special)
    if not isinstance(shard_tokens, int) or not 1 <= shard_tokens <= MAX_COUNT:
        raise ConfigError(
            f"--shard-tokens must be a whole number from 1 to {MAX_COUNT}, not {shard_tokens!r:.40}",
            hint="choose --shard-tokens 100000000",
        )
    first_field, *others = corpus.options.text_fields
    return Plan(
        format="npy" if format == "npy" else "bin",
        dtype=chosen_dtype(dtype, tokenizer.info.vocab_size),
        tokenizer=identity_of(tokenizer),
        eos=chosen_eos(tokenizer, eos) if eos else None,
        options=ShardOptions(
            documents=corpus.options.documents,
            text_field=[first_field, *others] if others else first_field,
            errors=corpus.options.errors,
            max_document_bytes=corpus.options.max_document_bytes if corpus.options.errors == "skip" else None,
            special_policy=special.value,
            shard_tokens=shard_tokens,
            chat=chat,
        ),
        files=planned_files(corpus.files),
    )


def planned_files(files: Iterable[CorpusFile]) -> tuple[PlannedFile, ...]:
    """Return the files of a corpus in their current state. Raises `CorpusError`."""
    return tuple(map(_planned, files))


def _planned(file: CorpusFile) -> PlannedFile:
    name = printable("/".join(file.below)) or file.name
    if file.stream:
        return PlannedFile(name, 0, sample_of(BytesIO(), 0), 0)
    if file.url is not None:
        return _planned_elsewhere(file, name, place_of(file.url))
    try:
        with file.path.open("rb", buffering=0) as stream:
            status = os.fstat(stream.fileno())
            sample = sample_of(stream, status.st_size)
    except OSError as error:
        raise unreadable(file.name, error) from error
    return PlannedFile(name, status.st_size, sample, status.st_mtime_ns)


def _planned_elsewhere(file: CorpusFile, name: str, place: Place) -> PlannedFile:
    try:
        stored = place.stat()
        with place.open() as stream:
            sample = sample_of(stream, stored.size)
    except OSError as error:
        raise unreadable(file.name, error) from error
    version = hashlib.sha256(stored.version.encode()).digest()[:7]
    return PlannedFile(name, stored.size, sample, int.from_bytes(version))


def in_order(files: Iterable[CorpusFile], now: Plan, before: Plan) -> tuple[CorpusFile, ...]:
    """Return files, planned as `now`, in the order of a plan with the same files under other names."""
    known: defaultdict[object, deque[CorpusFile]] = defaultdict(deque)
    for file, planned in zip(files, now.files, strict=True):
        known[planned.identity].append(file)
    return tuple(known[planned.identity].popleft() for planned in before.files)


def chosen_dtype(dtype: str, vocab_size: int) -> TokenType:
    """Return the type of ids: under "auto" the smallest type that fits every id.

    Raises:
        ConfigError: the type is unknown, or does not fit every id.

    >>> chosen_dtype("auto", 65_536), chosen_dtype("auto", 65_537)
    ('uint16', 'uint32')
    """
    fits = vocab_size <= 1 << 16
    match dtype:
        case "auto":
            return "uint16" if fits else "uint32"
        case "uint16" if not fits:
            raise ConfigError(
                f"uint16 holds ids below 65,536, and this vocabulary has {vocab_size:,}",
                hint="choose --dtype uint32, or auto",
            )
        case "uint16" | "uint32":
            return dtype
        case _:
            raise ConfigError(
                f"unknown dtype {dtype!r}", hint=f"choose auto or {' or '.join(TOKEN_BYTES)} (--dtype)"
            )


def chosen_eos(tokenizer: Tokenizer, eos: str | Literal[True]) -> EndOfDocument:
    """Return the special token that ends each document: by its text, or True for the tokenizer's own.

    Raises:
        ConfigError: the tokenizer has no such special token, or none with a usual name for it or the role eos.
    """
    specials = tokenizer.info.special_tokens
    usual = next((name for name in _EOS_NAMES if name in specials), None)
    text = (usual or roles_of(tokenizer).get("eos")) if eos is True else eos
    if text is not None and text in specials:
        return EndOfDocument(text, specials[text])
    names = [*map(repr, list(specials)[:_NAMED]), *(["…"] if len(specials) > _NAMED else [])]
    hint = f"it has {', '.join(names)}: choose with --eos" if names else "it has no special tokens"
    what = "special token that is known to end documents" if eos is True else f"special token {eos!r}"
    raise ConfigError(f"{tokenizer.info.name!r} has no {what}", hint=hint)


def identity_of(tokenizer: Tokenizer) -> TokenizerIdentity:
    """Return the identity of a tokenizer. Calls the tokenizer O(V) times."""
    info = tokenizer.info
    behaviour = hashlib.sha256()
    for text in self_test_texts(seed=0):
        behaviour.update(repr(list(tokenizer.encode(text))).encode())
    return TokenizerIdentity(
        name=info.name,
        vocab_size=info.vocab_size,
        vocabulary=vocabulary_hash(vocabulary_of(tokenizer), info.special_tokens),
        behaviour=behaviour.hexdigest(),
    )
