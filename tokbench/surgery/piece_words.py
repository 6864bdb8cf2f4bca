"""The words of a text that pieces are learned from: normalised, and cut where no piece may reach across."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.backends.unigram.rules import IN_NO_PIECE, PieceRules, segments_of
from tokbench.core.special_tokens import SpecialTokenFinder
from tokbench.core.tokens import SpecialPolicy
from tokbench.formats.sentencepiece.model import SPACE, PieceType, iter_user_defined
from tokbench.lint.reachability.steps import DocumentSteps
from tokbench.surgery.growing_pieces import parts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tokbench.formats.sentencepiece.model import SentencePieceFile

_IN_NO_WORD = "\n\r" + "".join(IN_NO_PIECE)
_WORD = re.compile(f"{SPACE}*[^{SPACE}{_IN_NO_WORD}]+|{SPACE}+")
_WORD_BEFORE_SPACE = re.compile(f"[^{SPACE}{_IN_NO_WORD}]+{SPACE}*|{SPACE}+")
_LINE = re.compile(f"[^{_IN_NO_WORD}]+")
_LONGEST_WORD = 100
_RARE = 1000
"""What less than one piece in so many does, the trainer's options did not allow: somebody added it by hand."""


@dataclass(frozen=True)
class PieceWords:
    """How a text becomes words.

    Attributes:
        normal: a text → its normalised parts, without special tokens and symbols of the user.
        rules: what a new piece may be.
        space_behind: whether ▁ ends a word instead of beginning one.
        taken: texts that are no new piece, whatever they are now.
    """

    normal: Callable[[str], Iterable[str]]
    rules: PieceRules
    space_behind: bool = False
    taken: frozenset[str] = frozenset()

    def count(self, texts: Iterable[str]) -> Counter[str]:
        """The words of texts with their counts."""
        words: Counter[str] = Counter()
        find = self._pattern.findall
        for text in texts:
            for part in self.normal(text):
                words.update(find(part))
        if not self.space_behind:
            return segments_of(words, self.rules)
        mirrored = segments_of({word[::-1]: count for word, count in words.items()}, self.rules)
        return Counter({word[::-1]: count for word, count in mirrored.items()})

    def allows(self, piece: str) -> bool:
        """Whether a text may become a piece."""
        return piece not in self.taken and self.rules.allow(piece[::-1] if self.space_behind else piece)

    def of_line(self, line: str) -> list[str]:
        """The words of a line as they stand behind a space, where one is put before each text."""
        [probe, *_] = [*self.normal("x"), ""]
        if probe.startswith(SPACE):
            line = line.removeprefix(" ")
        elif probe.endswith(SPACE):
            line = line.removesuffix(" ")
        return [word for part in self.normal(line) for word in self._pattern.findall(part)]

    @property
    def _pattern(self) -> re.Pattern[str]:
        if not self.rules.split_by_whitespace:
            return _LINE
        return _WORD_BEFORE_SPACE if self.space_behind else _WORD


def normaliser_of(proto: bytes) -> Callable[[str], str]:
    """A text → what the pieces of a SentencePiece model are looked for in, as the library makes it."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=proto)

    def normalise(text: str) -> str:
        normal: str = processor.normalize(text)
        return normal

    return normalise


def words_of_model(model: SentencePieceFile, normalise: Callable[[str], str]) -> PieceWords:
    """The words of a SentencePiece model, by the options that it was trained with.

    Args:
        model: what it says.
        normalise: a text → what its pieces are looked for in.
    """
    options = model.trainer
    symbols = sorted(iter_user_defined(model), key=len, reverse=True)
    cut = re.compile("|".join(map(re.escape, symbols))).split if symbols else None

    def normal(text: str) -> list[str]:
        normalised = normalise(text)
        return [normalised] if cut is None else cut(normalised)

    # A piece that is not used is taken apart into the two that it was merged of: it must stay clear which these are.
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
    return PieceWords(normal, rules, space_behind=options["treat_whitespace_as_suffix"], taken=taken)


def words_of_document(document: Mapping[str, Any], pieces: Iterable[str]) -> PieceWords:
    """The words of a `tokenizer.json`, which does not say what its pieces may be: what hardly any is, no new one is.

    Args:
        document: parsed.
        pieces: those that text is cut into.
    """
    known = list(pieces)
    texts = {token["content"] for token in document.get("added_tokens") or []} | set(known)
    return PieceWords(_normal_parts(document), rules_of_pieces(known), taken=frozenset(texts))


def rules_of_pieces(pieces: Iterable[str]) -> PieceRules:
    """The rules that pieces were learned by, as far as pieces tell.

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
    """How a text becomes the words of a WordPiece.

    Args:
        document: its `tokenizer.json`.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.of_text = _normal_parts(document)
        self.longest = int(document["model"].get("max_input_chars_per_word", _LONGEST_WORD))

    def count(self, texts: Iterable[str]) -> Counter[str]:
        """The words of texts with their counts, without those that are too long to be cut."""
        words: Counter[str] = Counter()
        for text in texts:
            for line in text.splitlines():
                words.update(self.of_text(line))
        return Counter({word: number for word, number in words.items() if len(word) <= self.longest})


def _normal_parts(document: Mapping[str, Any]) -> Callable[[str], list[str]]:
    """A text → what the model of a document is given of it, without added tokens."""
    steps = DocumentSteps(document)
    added = {token["content"]: token["id"] for token in document.get("added_tokens") or []}
    finder = SpecialTokenFinder({text: id for text, id in added.items() if text})

    def parts(text: str) -> Iterator[str]:
        for piece in finder.cut(text, special=SpecialPolicy.ENCODE):
            if not piece.is_special:
                yield from steps.pretokens(piece.text)

    return lambda text: list(parts(text))
