"""A corpus in two parts that share no text: one to learn from, one to be judged on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import groupby
from typing import TYPE_CHECKING

from tokbench.errors import CorpusError
from tokbench.evaluation.alignment import Alignment, align, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokbench.corpus import Corpus, Document

HELD_OUT = 10
"""One part in so many is held out."""

_ENOUGH_DOCUMENTS = 100
_BLOCKS_WANTED = 100
_LONGEST_BLOCK = 20
_KEY_CHARACTERS = 4096
_LONGEST_PIECE = 2000
"""Characters of a line that are a line by themselves: a corpus may have no line ends at all."""


@dataclass(frozen=True, slots=True)
class Split:
    """Both parts, read anew each time they are iterated.

    Attributes:
        training: the texts to learn from.
        held_out: the documents to be judged on.
        unit: what was dealt out: "documents", or "blocks of lines" of documents too few to deal out.
        num_training: how many of them there are to learn from.
        num_held_out: how many are held out.
        training_bytes: UTF-8 bytes to learn from.
        alignment: the groups whose held-out parts say the same, line by line, or why there are none.
    """

    training: Iterable[str]
    held_out: Iterable[Document]
    unit: str
    num_training: int
    num_held_out: int
    training_bytes: int
    alignment: Alignment | str


def split_corpus(corpus: Corpus, *, seed: int = 0) -> Split:
    """Hold out a tenth of a corpus.

    A hundred documents or more are dealt out as they are. Fewer are cut into blocks of lines, of
    which every tenth of each document is held out. So are files that are translations of one
    another, however many: the same lines of every language are held out.

    Args:
        corpus: one that can be read more than once.
        seed: chooses what is held out.

    Raises:
        CorpusError: there is too little text to split.
    """
    parallel = corpus.parallel_groups()
    lines: Counter[str] = Counter()
    documents = longest = 0
    for document in corpus.documents():
        documents += 1
        longest = max(longest, sum(1 for _ in _lines(document.text)))
        lines.update(lines_of([document], parallel))
    alignment = align(lines)
    if documents >= _ENOUGH_DOCUMENTS and isinstance(alignment, str):
        training, held_out = corpus.split(1 / HELD_OUT, seed=seed)
        return _counted(training, held_out, unit="documents", alignment=alignment)
    blocks = _Blocks(
        corpus,
        size=max(1, min(longest // _BLOCKS_WANTED, _LONGEST_BLOCK)),
        seed=seed,
        held_out=False,
        aligned=frozenset() if isinstance(alignment, str) else frozenset(alignment.languages),
    )
    split = _counted(blocks, replace(blocks, held_out=True), unit="blocks of lines", alignment=alignment)
    if not split.num_training or not split.num_held_out:
        found = split.num_training + split.num_held_out
        raise CorpusError(
            f"the corpus has {found} block{'s' * (found != 1)} of lines, too few to hold a tenth of them out",
            hint="name more text; or judge tokenizers that exist, with -t",
        )
    return split


def _counted(
    training: Corpus | _Blocks, held_out: Corpus | _Blocks, *, unit: str, alignment: Alignment | str
) -> Split:
    sizes = [len(text.encode()) for text in training]
    num_held_out = 0
    lines: Counter[str] = Counter()
    languages = () if isinstance(alignment, str) else alignment.languages
    for document in held_out.documents():
        num_held_out += 1
        lines.update(lines_of([document], languages))
    if not isinstance(alignment, str):
        found = align(lines)
        alignment = found if isinstance(found, str) else replace(found, left_out=alignment.left_out)
    return Split(
        training=training,
        held_out=Documents(held_out),
        unit=unit,
        num_training=len(sizes),
        num_held_out=num_held_out,
        training_bytes=sum(sizes),
        alignment=alignment,
    )


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of a corpus, or of blocks of one, each time anew."""

    source: Corpus | _Blocks

    def __iter__(self) -> Iterator[Document]:
        return self.source.documents()


@dataclass(frozen=True, slots=True)
class _Blocks:
    """One part of the blocks of lines of a corpus.

    Attributes:
        corpus: all of it.
        size: lines of a block.
        seed: chooses what is held out.
        held_out: which part this is.
        aligned: the groups that say the same, line by line.
    """

    corpus: Corpus
    size: int
    seed: int
    held_out: bool
    aligned: frozenset[str]

    def __iter__(self) -> Iterator[str]:
        return (document.text for document in self.documents())

    def documents(self) -> Iterator[Document]:
        """The blocks of this part with the group of their document."""
        lines_before: Counter[str] = Counter()
        for document in self.corpus.documents():
            group, text = document.group, document.text
            if group in self.aligned:
                # The number of a line decides, counted through all documents of the language.
                key, first, longest = "", lines_before[group], len(text)
                lines_before.update(lines_of([document], self.aligned))
            else:
                # The text itself decides, so that it does not matter where its file lies.
                key, first, longest = text[:_KEY_CHARACTERS], 0, _LONGEST_PIECE
            chosen = _chosen(key, seed=self.seed)
            for number, line, block in _blocks(text, size=self.size, first=first, longest=longest):
                if (number % HELD_OUT == chosen) == self.held_out:
                    unit = document.unit or document.source
                    yield replace(document, text=block, source=f"{document.source}:{line + 1}", unit=unit)


def _chosen(key: str, *, seed: int) -> int:
    digest = blake2b(f"{seed}:{key}".encode(errors="surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % HELD_OUT


def _blocks(
    text: str, *, size: int, first: int = 0, longest: int = _LONGEST_PIECE
) -> Iterator[tuple[int, int, str]]:
    r"""A text in blocks of lines, with their line ends: the block's number, its first line's, the block.

    >>> list(_blocks("a\nb\nc", size=2))
    [(0, 0, 'a\nb\n'), (1, 2, 'c')]
    >>> list(_blocks("a\nb\nc", size=2, first=3))
    [(1, 0, 'a\n'), (2, 1, 'b\nc')]
    """
    start = 0
    numbered = enumerate(_lines(text, longest=longest), start=first)
    for number, lines in groupby(numbered, key=lambda line: line[0] // size):
        block = [line for _, line in lines]
        yield number, start, "".join(block)
        start += len(block)


def _lines(text: str, *, longest: int = _LONGEST_PIECE) -> Iterator[str]:
    r"""The lines of a text with their ends; longer ones in pieces that end at a space where they can.

    >>> list(_lines("a\n\nb"))
    ['a\n', '\n', 'b']
    """
    start = 0
    while start < len(text):
        stop = text.find("\n", start, start + longest) + 1
        if not stop and len(text) - start > longest:
            stop = text.rfind(" ", start + 1, start + longest)
            stop = stop if stop > start else start + longest
        stop = stop or len(text)
        yield text[start:stop]
        start = stop
