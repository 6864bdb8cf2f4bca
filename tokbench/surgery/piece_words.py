"""The words of a text that pieces are learned from: normalized, and split where no piece may cross."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokbench.backends.sentencepiece.reference import IN_NO_PIECE, PieceRules, segments_of
from tokbench.backends.wordpiece.config import WordPieceConfig
from tokbench.backends.wordpiece.document import LeftToLibraryError, wordpiece_description
from tokbench.backends.wordpiece.training import NormalWordCounting
from tokbench.core.alternatives import longest_first
from tokbench.core.special_tokens import SpecialTokenFinder
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.training import batches
from tokbench.errors import ConfigError
from tokbench.formats.sentencepiece.model import SPACE, iter_user_defined
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.lint.reachability.steps import DocumentSteps
from tokbench.surgery.chunk_counting import count_by_chunks, document_is_local, model_is_local
from tokbench.surgery.growing_pieces import parts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tokbench.core.progress import Progress
    from tokbench.formats.sentencepiece.model import SentencePieceFile

_IN_NO_WORD = "\n\r" + "".join(IN_NO_PIECE)
_WORD = re.compile(f"{SPACE}*[^{SPACE}{_IN_NO_WORD}]+|{SPACE}+")
_WORD_BEFORE_SPACE = re.compile(f"[^{SPACE}{_IN_NO_WORD}]+{SPACE}*|{SPACE}+")
_LINE = re.compile(f"[^{_IN_NO_WORD}]+")
_LONGEST_WORD = 100
_RARE = 1000
"""A rule that fewer than one piece in this many violates counts as a training option; exceptions were added by hand."""


@dataclass(frozen=True)
class PieceWords:
    """The splitting of text into words, and the rules for new pieces.

    Attributes:
        normal: part of a text → its normalized parts, split at user-defined symbols.
        rules: the rules for new pieces.
        parts: text → its parts between added tokens, which are normalized separately.
        is_local: whether words can be counted by chunks, see `chunk_counting`.
        space_after: whether ▁ ends a word instead of beginning one.
        taken: texts that must not become new pieces.
    """

    normal: Callable[[str], Iterable[str]]
    rules: PieceRules
    parts: Callable[[str], Iterable[str]] = field(default=lambda text: (text,))
    is_local: bool = False
    space_after: bool = False
    taken: frozenset[str] = frozenset()

    def count(self, texts: Iterable[str], *, threads: int | None, progress: Progress) -> Counter[str]:
        """Count the parts of words that no piece crosses, without ▁ alone. Raises `CorpusError`."""
        if self.is_local:
            words = count_by_chunks(
                texts, self._words_of, parts_of=self.parts, threads=threads, progress=progress
            )
        else:
            words = Counter(
                word
                for batch in batches(texts, progress=progress)
                for text in batch
                for part in self.parts(text)
                for word in self._words_of(part)
            )
        del words[SPACE]  # teaches nothing, and chunks miscount it at the ends of texts
        if not self.space_after:
            return segments_of(words, self.rules)
        mirrored = segments_of({word[::-1]: count for word, count in words.items()}, self.rules)
        return Counter({word[::-1]: count for word, count in mirrored.items()})

    def allows(self, piece: str) -> bool:
        """Whether a text may become a piece."""
        return piece not in self.taken and self.rules.allow(piece[::-1] if self.space_after else piece)

    def of_line(self, line: str) -> list[str]:
        """Split a line into words as if inside a text: its own space replaces one that normalization adds."""
        [probe, *_] = [*self.normal("x"), ""]
        if probe.startswith(SPACE):
            line = line.removeprefix(" ")
        elif probe.endswith(SPACE):
            line = line.removesuffix(" ")
        return [word for part in self.parts(line) for word in self._words_of(part)]

    def _words_of(self, part: str) -> list[str]:
        found = self._pattern.findall
        return [word for normal in self.normal(part) for word in found(normal)]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        if not self.rules.split_by_whitespace:
            return _LINE
        return _WORD_BEFORE_SPACE if self.space_after else _WORD


def normalizer_of(proto: bytes) -> Callable[[str], str]:
    """Return the library's normalization function of a SentencePiece model."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=proto)

    def normalize(text: str) -> str:
        normal: str = processor.normalize(text)
        return normal

    return normalize


def words_of_model(model: SentencePieceFile, normalize: Callable[[str], str]) -> PieceWords:
    """Return the word splitting of a SentencePiece model, by its training options.

    Args:
        model: the parsed model.
        normalize: the model's normalization function.
    """
    options = model.trainer
    symbols = list(iter_user_defined(model))
    cut = re.compile(longest_first(symbols)).split if symbols else None

    def normal(text: str) -> list[str]:
        normalized = normalize(text)
        return [normalized] if cut is None else cut(normalized)

    # An unused piece is split into the two parts that it was merged from, which new pieces must not change.
    unused = frozenset(piece.text for piece in model.pieces if piece.type is PieceType.UNUSED)
    rules = PieceRules(
        longest=options["max_sentencepiece_length"],
        split_by_script=options["split_by_unicode_script"],
        split_by_number=options["split_by_number"],
        split_by_whitespace=options["split_by_whitespace"],
        split_digits=options["split_digits"],
        whitespace_only=options["allow_whitespace_only_pieces"],
    )
    taken = frozenset(piece.text for piece in model.pieces) | parts_of(unused)
    return PieceWords(
        normal,
        rules,
        is_local=model_is_local(model),
        space_after=options["treat_whitespace_as_suffix"],
        taken=taken,
    )


def words_of_document(document: Mapping[str, Any], pieces: Iterable[str]) -> PieceWords:
    """Return the word splitting of a `tokenizer.json`, with the rules that nearly all of its pieces obey.

    Args:
        document: the parsed `tokenizer.json`.
        pieces: its ordinary pieces.
    """
    known = list(pieces)
    texts = {token["content"] for token in document.get("added_tokens") or []} | set(known)
    rules = rules_of_pieces(known)
    return PieceWords(
        DocumentSteps(document).pretokens,
        rules,
        parts=_parts_of(document),
        is_local=rules.split_by_whitespace and document_is_local(document),
        taken=frozenset(texts),
    )


def rules_of_pieces(pieces: Iterable[str]) -> PieceRules:
    """Infer the rules that pieces were learned by.

    >>> rules_of_pieces(["▁the", "12", "1a", "x"]) == PieceRules(split_by_number=False)
    True
    """
    longer = [piece for piece in pieces if len(piece) > 1]
    free = PieceRules(
        longest=max(map(len, longer), default=0) + PieceRules().longest,
        split_by_script=False,
        split_by_number=False,
        split_by_whitespace=False,
    )
    strict = {
        "split_digits": PieceRules(longest=free.longest, split_by_script=False, split_digits=True),
        "split_by_whitespace": PieceRules(longest=free.longest, split_by_script=False),
        "split_by_script": PieceRules(longest=free.longest, split_by_number=False, split_by_whitespace=False),
        "split_by_number": PieceRules(longest=free.longest, split_by_whitespace=False),
    }
    possible = [piece for piece in longer if free.allow(piece)]
    holds = {
        name: sum(not rules.allow(piece) for piece in possible) * _RARE <= len(possible)
        for name, rules in strict.items()
    }
    holds["split_by_number"] = holds["split_by_number"] and holds["split_by_script"]
    return PieceRules(longest=max([PieceRules().longest, *map(len, longer)]), **holds)


class MatchedWords:
    """The splitting of text into the words of a WordPiece.

    Args:
        document: the parsed `tokenizer.json`.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._parts, self._pretokens = _parts_of(document), DocumentSteps(document).pretokens
        self.longest = int(document["model"].get("max_input_chars_per_word", _LONGEST_WORD))

    def of_text(self, text: str) -> list[str]:
        """Split a text into words."""
        return [word for part in self._parts(text) for word in self._pretokens(part)]

    def of_line(self, line: str) -> list[str]:
        """Split a line into words; a line with the prefix stands for a piece inside words."""
        prefix = self._document["model"].get("continuing_subword_prefix", "##")
        mark = prefix if line.startswith(prefix) and line != prefix else ""
        return [mark + word for word in self.of_text(line.removeprefix(mark))]

    def allows(self, piece: str) -> bool:
        """Whether a text is not in the vocabulary yet."""
        return piece not in self._document["model"]["vocab"]

    def count(self, texts: Iterable[str], *, threads: int | None, progress: Progress) -> Counter[str]:
        """Count the words of texts, except words that are too long to be matched. Raises `CorpusError`."""
        counting = self._kernel_counting()
        if counting is not None:
            counter = counting.new_counter(threads=threads or os.cpu_count() or 1, seed=0)
            counting.count(counter, texts, progress=progress)
            return Counter(dict(counter.items()))
        read = batches(texts, progress=progress)
        words = Counter(word for batch in read for text in batch for word in self.of_text(text))
        return Counter({word: number for word, number in words.items() if len(word) <= self.longest})

    def _kernel_counting(self) -> NormalWordCounting | None:
        """Return the kernel's counting; None if it would split words differently."""
        added, unknown = _added(self._document), self._document["model"]["unk_token"]
        if unknown not in added:  # training would remove it from texts nevertheless
            return None
        try:
            described = wordpiece_description(self._document)
            return NormalWordCounting(
                WordPieceConfig(
                    special_tokens=tuple(added),
                    unknown_token=unknown,
                    max_characters_per_word=self.longest,
                    **asdict(described.rules),
                )
            )
        except (LeftToLibraryError, ConfigError):  # also for an added token that training does not accept
            return None


def _parts_of(document: Mapping[str, Any]) -> Callable[[str], Iterator[str]]:
    """Return a function that yields the parts of a text between added tokens."""
    finder = SpecialTokenFinder(_added(document))

    def parts(text: str) -> Iterator[str]:
        pieces = finder.cut(text, special=SpecialPolicy.ENCODE)
        return (piece.text for piece in pieces if not piece.is_special)

    return parts


def _added(document: Mapping[str, Any]) -> dict[str, int]:
    """Return text → id of the added tokens of a document, without an empty one."""
    tokens = document.get("added_tokens") or []
    return {token["content"]: token["id"] for token in tokens if token["content"]}
