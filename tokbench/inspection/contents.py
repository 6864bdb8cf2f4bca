"""The components of an opened tokenizer, computed on demand and cached, and the differences of two vocabularies."""

from __future__ import annotations

from bisect import bisect_left
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from tokbench.core.descriptions import ByteLevelBpe, DescribesItself, HuggingFaceModel, SentencePieceModel
from tokbench.errors import ConversionError, ModelFormatError, UnknownIdError
from tokbench.explain.causes import Symbol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.core.descriptions import Description
    from tokbench.core.interfaces import Tokenizer
    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.metrics.vocabulary import Vocabulary
    from tokbench.opening.request import Opened

Merge = tuple[bytes, bytes]
"""The two parts of a merge."""


@dataclass(frozen=True, slots=True)
class TokenDifferences:
    """The differences between the tokens of two vocabularies.

    Attributes:
        moved: id in the first → ids in the second, for tokens of both that have another id in the second.
        only_first: ids in the first of tokens that the second lacks.
        only_second: ids in the second of tokens that the first lacks.
    """

    moved: Mapping[int, tuple[int, ...]]
    only_first: tuple[int, ...]
    only_second: tuple[int, ...]


def compare_tokens(first: Mapping[int, bytes], second: Mapping[int, bytes]) -> TokenDifferences:
    """Compare vocabularies by the bytes of their tokens.

    >>> compare_tokens({0: b"a", 1: b"b", 2: b"c"}, {0: b"b", 1: b"a", 3: b"d"})
    TokenDifferences(moved={0: (1,), 1: (0,)}, only_first=(2,), only_second=(3,))
    """
    places: dict[bytes, list[int]] = {}
    for id, token in second.items():
        places.setdefault(token, []).append(id)
    known = set(first.values())
    return TokenDifferences(
        moved={
            id: tuple(sorted(places[token]))
            for id, token in first.items()
            if token in places and second.get(id) != token
        },
        only_first=tuple(id for id, token in first.items() if token not in places),
        only_second=tuple(id for id, token in second.items() if token not in known),
    )


@dataclass(frozen=True, slots=True)
class MergeDifferences:
    """The differences between two lists of merges.

    Attributes:
        rank: the first rank at which they differ.
        only_first: ranks in the first list of merges that the second lacks.
        only_second: ranks in the second list of merges that the first lacks.
        moved: the minimum number of common merges that have to move to give both lists the same order.
    """

    rank: int
    only_first: tuple[int, ...]
    only_second: tuple[int, ...]
    moved: int


def compare_merges(first: Sequence[Merge], second: Sequence[Merge]) -> MergeDifferences | None:
    """Compare two lists of merges; return None if they are equal.

    >>> compare_merges([(b"a", b"b"), (b"c", b"d")], [(b"c", b"d"), (b"a", b"b"), (b"e", b"f")])
    MergeDifferences(rank=0, only_first=(), only_second=(2,), moved=1)
    """
    if first == second:
        return None
    in_first, in_second = set(first), set(second)
    return MergeDifferences(
        rank=next(
            rank
            for rank, (merge, other_merge) in enumerate(zip_longest(first, second))
            if merge != other_merge
        ),
        only_first=tuple(rank for rank, merge in enumerate(first) if merge not in in_second),
        only_second=tuple(rank for rank, merge in enumerate(second) if merge not in in_first),
        moved=_moved(first, second),
    )


def _moved(first: Sequence[Merge], second: Sequence[Merge]) -> int:
    """Return the minimum number of common merges that have to move to give both lists the same order."""
    places = {merge: place for place, merge in enumerate(second)}
    kept: list[int] = []  # the smallest last element of an increasing subsequence, by its length
    common = [places[merge] for merge in first if merge in places]
    for place in common:
        at = bisect_left(kept, place)
        kept[at : at + 1] = [place]
    return len(common) - len(kept)


_DEEPEST = 8
"""The maximum nesting of sequences that is searched."""


class TokenizerContents:
    """The tokens and components of a tokenizer, whatever its file and engine.

    Attributes:
        opened: the tokenizer, with what was learned from its files.
    """

    def __init__(self, opened: Opened) -> None:
        self.opened = opened

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer."""
        return self.opened.tokenizer

    # --- the vocabulary -----------------------------------------------------------------------

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The bytes of each id (None for a gap), the special tokens, and the tokens that are not whole characters."""
        from tokbench.metrics.vocabulary import vocabulary_of

        return vocabulary_of(self.tokenizer)

    @cached_property
    def added_ids(self) -> frozenset[int]:
        """The ids of special and other added tokens, which are found in a text before the model runs."""
        return frozenset({*self.tokenizer.info.special_tokens.values(), *self.opened.added_tokens.values()})

    @cached_property
    def tokens(self) -> Mapping[int, bytes]:
        """The bytes of each id that has a token, in the order of ids."""
        found: dict[int, bytes] = {}
        for id in range(self.tokenizer.info.vocab_size):
            with suppress(UnknownIdError):
                found[id] = self.tokenizer.token_bytes(id)
        return found

    def symbol(self, id: int) -> Symbol:
        """Return the token with this id."""
        return Symbol(id, self.tokens.get(id, b""))

    @cached_property
    def ordinary(self) -> Mapping[int, bytes]:
        """The tokens that the model itself produces: id → bytes, in the order of ids."""
        return {
            id: piece
            for id, piece in enumerate(self.vocabulary.pieces)
            if piece is not None and id not in self.added_ids
        }

    # --- components -----------------------------------------------------------------------------

    @cached_property
    def description(self) -> Description | None:
        """The components as the tokenizer describes them, or None."""
        if not isinstance(self.tokenizer, DescribesItself):
            return None
        try:
            return self.tokenizer.description()
        except ConversionError:
            return None

    @cached_property
    def sentencepiece(self) -> SentencePieceFile | None:
        """The parsed SentencePiece model, or None for any other tokenizer."""
        from tokbench.formats.sentencepiece.model import parse_model

        if not isinstance(self.description, SentencePieceModel):
            return None
        return parse_model(self.description.proto, path=self.opened.source.path)

    @cached_property
    def document(self) -> Mapping[str, Any] | None:
        """The parsed tokenizer.json with the added tokens that files beside it list, or None for any other file."""
        from tokbench.opening.added_tokens import completed
        from tokbench.opening.files import parse_json, read_file
        from tokbench.opening.recognition import Format

        if isinstance(self.description, HuggingFaceModel):
            return parse_json(self.description.document, path=self.opened.source.path)
        if self.opened.source.format is Format.TOKENIZER_JSON:
            data = read_file(self.opened.source.files[0])
            return completed(
                data, parse_json(data, path=self.opened.source.files[0]), self.opened.source.config
            )[1]
        return None

    @cached_property
    def bpe(self) -> ByteLevelBpe | None:
        """The tokenizer as a byte-level BPE, whichever engine runs it; None for any other kind."""
        from tokbench.opening.native_bpe import NotNativeError, parse_byte_level_bpe

        if isinstance(self.description, ByteLevelBpe):
            return self.description
        if self.document is None or self.opened.added_tokens:
            return None
        try:
            return parse_byte_level_bpe(self.document, path=self.opened.source.path).bpe
        except (NotNativeError, ModelFormatError, KeyError):
            return None

    @cached_property
    def merges(self) -> Sequence[Merge] | None:
        """The pair of each merge, as bytes in the order of ranks; None if there are neither merges nor ranks.

        Pieces not written in byte-level characters are given as the UTF-8 of their spelling in the file. For ranked
        tokens, such as tiktoken's, there is one pair for each token, which leads to the same ids.
        """
        from tokbench.formats.merges import last_pair
        from tokbench.formats.tokenizer_json import from_byte_level
        from tokbench.opening.native_bpe import merge_pairs

        if self.bpe is not None:
            tokens, merges = self.bpe.tokens, self.bpe.merges
            if merges is not None:
                return [(tokens[left] or b"", tokens[right] or b"") for left, right, _ in merges]
            ranks = {token: id for id, token in enumerate(tokens) if token is not None}
            pairs = (last_pair(token, ranks) for token in ranks if len(token) > 1)
            return [pair for pair in pairs if pair is not None and ranks.keys() >= set(pair)]
        model: Mapping[str, Any] = {} if self.document is None else self.document["model"]
        if "merges" not in model:
            return None
        bytes_of = from_byte_level if self.is_byte_level else str.encode
        try:
            return [
                (bytes_of(left), bytes_of(right))
                for left, right in merge_pairs(model, path=self.opened.source.path)
            ]
        except (KeyError, ValueError):
            return None

    @property
    def is_byte_level(self) -> bool:
        """Whether a tokenizer.json writes its pieces in byte-level characters."""
        steps = [(self.document or {}).get(part) for part in ("normalizer", "pre_tokenizer", "decoder")]
        return any(_has_byte_level(step) for step in steps)


def _has_byte_level(step: object, depth: int = 0) -> bool:
    """Whether a step, or any step of a sequence, is ByteLevel."""
    if not isinstance(step, dict) or depth > _DEEPEST:
        return False
    inner = [child for value in step.values() if isinstance(value, list) for child in value]
    return step.get("type") == "ByteLevel" or any(_has_byte_level(child, depth + 1) for child in inner)
