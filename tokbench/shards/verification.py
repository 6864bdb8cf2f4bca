"""Verification of shards against their index and, with the tokenizer and the corpus, against a new encoding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tokbench.core.argument_types import opened
from tokbench.core.progress import no_progress
from tokbench.core.tokens import SpecialPolicy
from tokbench.corpus import MOST_DOCUMENT_BYTES, Problems, open_corpus
from tokbench.corpus.opening import without_folder
from tokbench.errors import ConfigError, ModelFormatError
from tokbench.shards.journal import JOURNAL_NAME
from tokbench.shards.layout import OWN_FILE, ShardEntry
from tokbench.shards.parts import PART_FOLDER
from tokbench.shards.plan import identity_of
from tokbench.shards.reading import indexed_shards
from tokbench.shards.results import VerifyResult
from tokbench.shards.run import document_batches
from tokbench.shards.shard_file import sha256_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tokbench.core.argument_types import GivenTokenizer
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.core.tokens import Encoded
    from tokbench.corpus import Corpus, DocumentUnit, ErrorPolicy
    from tokbench.shards.layout import ShardIndex
    from tokbench.shards.reading import Shards
    from tokbench.shards.run import ConversationEncoder

_CHUNK = 1 << 22
"""The number of ids to check at once."""
_MOST_PROBLEMS = 20
"""The most problems of one kind: a wrong corpus differs in every document."""


def corpus_as_read(index: ShardIndex, *paths: str | Path, shards: str | Path) -> Corpus:
    """Open paths as a corpus that is read as that of the shards, without the shards' folder. Raises `CorpusError`."""
    options = index.options
    corpus = open_corpus(
        *paths,
        documents=cast("DocumentUnit", options.documents),
        text_field=options.text_field,
        errors=cast("ErrorPolicy", options.errors),
        # Documents in the shards were not too long; under "skip" the limit decides which documents they contain.
        max_document_bytes=options.max_document_bytes or MOST_DOCUMENT_BYTES,
    )
    return without_folder(corpus, shards)


def verify_shards(
    folder: Path | str,
    *,
    tokenizer: GivenTokenizer | None = None,
    corpus: Corpus | str | Path | None = None,
    chat: ConversationEncoder | None = None,
    sample: int | None = None,
    threads: int | None = None,
    progress: Progress = no_progress,
) -> VerifyResult:
    """Check a folder of shards.

    The checks: each file exists, with the size and sha256 in the index; offsets ascend and end where the ids do; every
    id is in the vocabulary; the end token follows each document; there are no extra files.

    Args:
        folder: the folder, a path or a URL.
        tokenizer: must be the tokenizer of the shards, or its path or name.
        corpus: is encoded again and compared; or its path, which is read as the index says.
        chat: encodes the corpus if the shards contain conversations: `tokbench.chat.shards` builds it from the index.
        sample: the number of documents of the corpus to compare, evenly spread; None for all.
        threads: for encoding; None takes every processor.
        progress: called with the share of the work that is done.

    Returns:
        The problems, one sentence each.

    Raises:
        StoreError: there are no finished shards.
        ModelFormatError: the index itself is damaged.
        ConfigError: a corpus without a tokenizer, or a sample of no documents.
        CorpusError: a text of the corpus cannot be read.
    """
    if corpus is not None and tokenizer is None:
        raise ConfigError(
            "comparing with a corpus encodes it again, which needs its tokenizer",
            hint="name the tokenizer with -t",
        )
    if sample is not None and sample < 1:
        raise ConfigError(f"a sample of {sample} documents is too small", hint="--sample must be at least 1")
    if sample is not None and corpus is None:
        raise ConfigError(f"--sample {sample} needs a corpus", hint="name the corpus after the folder")
    tokenizer = None if tokenizer is None else opened(tokenizer)
    shards = indexed_shards(folder)
    if corpus is not None and shards.has_masks != (chat is not None):
        held = "conversations" if shards.has_masks else "texts"
        raise ConfigError(
            f"{shards.name} contains {held}, but the corpus was not given as {held}",
            hint="give chat= for shards of conversations, and for no others",
        )
    if isinstance(corpus, str | Path):
        corpus = corpus_as_read(shards.index, corpus, shards=folder)
    problems = list(_extra_files(shards))
    done = 0
    for number, shard in enumerate(shards.index.shards):
        progress("checking", done, shards.tokens, "tokens")
        problems += _shard_problems(shards, number, shard)
        done += shard.tokens
    progress("checking", done, shards.tokens, "tokens")
    if tokenizer is not None:
        problems += _tokenizer_problems(shards, tokenizer)
    compared = 0
    if corpus is not None and tokenizer is not None and not problems:
        comparison = _Comparison(shards, tokenizer, corpus, chat=chat, sample=sample, threads=threads)
        problems += comparison.problems(progress)
        compared = comparison.compared
    index = shards.index
    return VerifyResult(
        folder=shards.name,
        shards=len(index.shards),
        documents=index.documents,
        tokens=index.tokens,
        compared=compared,
        problems=tuple(problems),
    )


def _extra_files(shards: Shards) -> Iterator[str]:
    known = {name for shard in shards.index.shards for name in shard.sums}
    parts = {part for name in known if (part := name.rpartition("/")[0])}
    for name in shards.names():
        is_part = PART_FOLDER.fullmatch(name) is not None
        if name not in known | parts and (is_part or _is_own(name)):
            yield f"{name} is not in the index"
    for part in sorted(parts):
        for name in shards.names(part):
            if f"{part}/{name}" not in known and _is_own(name):
                yield f"{part}/{name} is not in the index"


def _is_own(name: str) -> bool:
    """Whether a file is one that writing shards creates, except an index."""
    return OWN_FILE.fullmatch(name) is not None or name == JOURNAL_NAME


def _shard_problems(shards: Shards, number: int, shard: ShardEntry) -> Iterator[str]:
    try:
        shards.check_sizes(shard)
        for name, recorded in shard.sums.items():
            found = sha256_of(shards.path(name))
            if found != recorded:
                yield f"{name} was changed: its sha256 is {found[:8]}…, not {recorded[:8]}…"
        yield from _content_problems(shards, number, shard)
    except ModelFormatError as error:
        yield error.message.removeprefix(f"{shards.name}/")
    except OSError as error:
        yield f"{shard.file} cannot be read: {error.strerror or error}"


def _content_problems(shards: Shards, number: int, shard: ShardEntry) -> Iterator[str]:
    # Offsets and ids are read in chunks: a shard may be larger than the memory.
    offsets, ids = shards.offsets(number), shards.ids(number)
    if offsets[0] != 0 or offsets[-1] != shard.tokens:
        yield f"{shard.offsets_file} runs from {offsets[0]} to {offsets[-1]}, not from 0 to {shard.tokens}"
        return
    for start in range(0, shard.documents, _CHUNK):
        if (np.diff(offsets[start : start + _CHUNK + 1]) < 0).any():
            yield f"{shard.offsets_file} does not ascend"
            return
    vocab_size = shards.index.tokenizer.vocab_size
    for start in range(0, shard.tokens, _CHUNK):
        part = ids[start : start + _CHUNK]
        if int(part.max()) >= vocab_size:
            place = start + int(np.argmax(part >= vocab_size))
            yield f"{shard.file} has the id {ids[place]} at {place}, and the vocabulary {vocab_size} tokens"
            return
    yield from _eos_problems(shards, number, shard)
    yield from _chat_problems(shards, number, shard)


def _chat_problems(shards: Shards, number: int, shard: ShardEntry) -> Iterator[str]:
    """Yield problems of masks with invalid values, and of incomplete rows."""
    chat = shards.index.options.chat
    if chat is None:
        return
    mask = shards.mask(number)
    for start in range(0, shard.tokens, _CHUNK):
        if int(mask[start : start + _CHUNK].max()) > 1:
            yield f"{shard.mask_file} has other values than 0 and 1"
            return
    if chat.pack is not None and shard.tokens % chat.pack:
        yield f"{shard.file} has {shard.tokens:,} ids, which are not rows of {chat.pack:,}"


def _eos_problems(shards: Shards, number: int, shard: ShardEntry) -> Iterator[str]:
    """Yield documents that lack the end token. Texts may contain it as well, under --special-policy encode."""
    eos = shards.index.eos
    if eos is None:
        return
    offsets, ids = shards.offsets(number), shards.ids(number)
    if not shard.tokens:
        yield f"{shard.file} is empty, and {eos.text} should end its documents"
        return
    for start in range(0, shard.documents, _CHUNK):
        bounds = offsets[start : start + _CHUNK + 1]
        wrong = np.diff(bounds) < 1
        ends = np.maximum(bounds[1:] - 1, 0)
        wrong |= ids[ends] != eos.id
        if wrong.any():
            document = start + int(np.argmax(wrong))
            yield f"{shard.file}: its document {document} does not end in {eos.text} ({eos.id})"
            return


def _tokenizer_problems(shards: Shards, tokenizer: Tokenizer) -> Iterator[str]:
    made, given = shards.index.tokenizer, identity_of(tokenizer)
    if made.vocabulary != given.vocabulary:
        yield f"the tokenizer {given.name!r} is not the one that made the shards: its tokens differ"
    elif made.behaviour != given.behaviour:
        yield (
            f"the tokenizer {given.name!r} has the tokens of the one that made the shards, but gives different ids"
        )


@dataclass(eq=False)
class _Comparison:
    """Compares the shards with a new encoding of the corpus, document by document."""

    shards: Shards
    tokenizer: Tokenizer
    corpus: Corpus
    chat: ConversationEncoder | None
    sample: int | None
    threads: int | None
    compared: int = 0

    @cached_property
    def _chosen(self) -> NDArray[np.int64]:
        """The documents to compare: evenly spread, including the first and the last one."""
        wanted = len(self.shards) if self.sample is None else min(self.sample, len(self.shards))
        return np.unique(np.linspace(0, len(self.shards) - 1, wanted).round().astype(np.int64))

    def problems(self, progress: Progress) -> list[str]:
        """Return the differences, at most the first few."""
        differences: list[str] = []
        document = 0
        for file in self.corpus.files:
            for batch in document_batches(self.corpus, file, Problems(), chat=self.chat):
                differences += self._differences(document, batch)
                document += len(batch)
                progress("comparing", min(document, len(self.shards)), len(self.shards), "documents")
                if len(differences) >= _MOST_PROBLEMS:
                    return [*differences[:_MOST_PROBLEMS], "and perhaps more: the comparison ended here"]
        if document != len(self.shards):
            differences.append(
                f"the corpus has {document:,} documents, and the shards have {len(self.shards):,}"
            )
        return differences

    def _differences(self, first: int, batch: list[Any]) -> Iterator[str]:
        low, high = np.searchsorted(self._chosen, [first, first + len(batch)]).tolist()
        chosen = self._chosen[low:high].tolist()
        if not chosen:
            return
        documents = [batch[document - first] for document in chosen]
        if self.chat is not None:
            encoded, mask = self.chat.encode(documents, threads=self.threads)
            yield from self._chat_differences(chosen, encoded, mask, pad=self.chat.options.pad)
            return
        encoded = self.tokenizer.encode_batch(
            documents,
            special=SpecialPolicy(self.shards.index.options.special_policy),
            threads=self.threads,
        )
        end = None if self.shards.index.eos is None else -1
        for place, document in enumerate(chosen):
            self.compared += 1
            if not np.array_equal(self.shards[document][:end], encoded[place]):
                yield f"document {document} has different ids than the corpus gives"

    def _chat_differences(
        self, chosen: list[int], encoded: Encoded, mask: NDArray[np.uint8], *, pad: int | None
    ) -> Iterator[str]:
        """Yield differences of conversations and their masks; the padding after a conversation is not part of it."""
        for place, document in enumerate(chosen):
            self.compared += 1
            start, stop = encoded.offsets[place : place + 2].tolist()
            size = stop - start
            ids, learned = self.shards[document], self.shards.mask_of(document)
            if not np.array_equal(ids[:size], encoded.ids[start:stop]) or (ids[size:] != pad).any():
                yield f"conversation {document} has different ids than the corpus gives"
            elif not np.array_equal(learned[:size], mask[start:stop]) or learned[size:].any():
                yield f"conversation {document} has a different mask than the corpus gives"
