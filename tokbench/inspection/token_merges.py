"""The merges that make the tokens of a BPE, in whichever form its file stores them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from tokbench.errors import ModelFormatError
from tokbench.explain.bpe import ListedMerges, RankedTokens, trace_merges
from tokbench.explain.causes import MergeRule, Symbol
from tokbench.explain.derivation import MergeTrace
from tokbench.formats.merges import last_pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tokbench.inspection.contents import TokenizerContents

Key = TypeVar("Key", str, bytes)
_MOST_EXPANSIONS = 1 << 16
"""Limits the expansion of a damaged file whose tokens are made from each other."""


class TokenMerges(Protocol):
    """The merges of a vocabulary, looked up by token."""

    @property
    def ranks(self) -> Mapping[int, float]:
        """Id → the rank of the merge that makes it; for a SentencePiece model, its negated score."""

    def derivation(self, id: int) -> MergeTrace:
        """Return how the symbols of a token merge when it stands alone; they may end in more than one token."""

    def uses(self, id: int) -> tuple[MergeRule, ...]:
        """Return the merges that use a token as a part, in the order of their ranks."""


class NoTokenMerges(Exception):  # noqa: N818 -- an answer, not a mistake of the user
    """Raised for a tokenizer without merges; the message gives the reason."""


def token_merges(contents: TokenizerContents) -> TokenMerges:
    """Return the merges of a tokenizer.

    Raises:
        NoTokenMerges: the algorithm does not merge, or its merges are not known.
    """
    if (bpe := contents.bpe) is not None:
        if bpe.merges is not None:
            return MergesOfList(bpe.merges, symbol=contents.symbol)
        ids = {token: id for id, token in enumerate(bpe.tokens) if token is not None}
        return MergesOfRanks(ids, ids, symbol=contents.symbol)
    if contents.sentencepiece is not None:
        return _scored_merges(contents)
    if contents.document is not None:
        return _document_merges(contents)
    backend = contents.tokenizer.info.backend
    raise NoTokenMerges(f"{backend} has no merges")


def _scored_merges(contents: TokenizerContents) -> TokenMerges:
    from tokbench.formats.sentencepiece.model import ModelType
    from tokbench.formats.sentencepiece.pieces import PieceType

    model = contents.sentencepiece
    assert model is not None
    if model.model_type is not ModelType.BPE:
        name = model.model_type.name.capitalize()
        raise NoTokenMerges(f"{name} has no merges: it chooses among pieces")
    merged = {
        piece.text: (id, -piece.score)
        for id, piece in enumerate(model.pieces)
        if piece.type in (PieceType.NORMAL, PieceType.UNUSED)
    }
    ids = {text: id for text, (id, _) in merged.items()}
    ranks = {text: rank for text, (_, rank) in merged.items()}
    return MergesOfRanks(ids, ranks, symbol=contents.symbol, by_score=True)


def _document_merges(contents: TokenizerContents) -> TokenMerges:
    from tokbench.opening.native_bpe import merge_pairs

    document = contents.document
    assert document is not None
    model = document["model"]
    if "merges" not in model:
        raise NoTokenMerges(f"{contents.opened.composition.model} has no merges")
    path, vocab = contents.opened.source.path, model["vocab"]
    prefix = model.get("continuing_subword_prefix") or ""
    try:
        merges = [
            (vocab[left], vocab[right], vocab[left + right[len(prefix) :]])
            for left, right in merge_pairs(model, path=path)
        ]
    except KeyError as missing:
        raise ModelFormatError(
            path, "merges of its vocabulary's pieces", f"{missing.args[0]!a:.40}"
        ) from None
    return MergesOfList(merges, symbol=contents.symbol)


class MergesOfList:
    """Merges stored as a list.

    Args:
        merges: (left id, right id, merged id) in the order of their ranks; of a repeated pair, the last rank counts.
        symbol: returns the token of an id.

    >>> tokens = [b"a", b"b", b"ab", b"abab"]
    >>> merges = MergesOfList([(0, 1, 2), (2, 2, 3)], symbol=lambda id: Symbol(id, tokens[id]))
    >>> [step.rule.rank for step in merges.derivation(3).steps], [rule.merged.id for rule in merges.uses(2)]
    ([0, 0, 1], [3])
    """

    def __init__(self, merges: Sequence[tuple[int, int, int]], *, symbol: Callable[[int], Symbol]) -> None:
        self._listed = {(left, right): (rank, merged) for rank, (left, right, merged) in enumerate(merges)}
        self._symbol = symbol

    @cached_property
    def ranks(self) -> Mapping[int, float]:
        """Id → the lowest rank of a merge that makes it."""
        ranks: dict[int, float] = {}
        for rank, merged in sorted(self._listed.values()):
            ranks.setdefault(merged, rank)
        return ranks

    @cached_property
    def _pair_of(self) -> Mapping[int, tuple[int, int]]:
        return {merged: pair for pair, (rank, merged) in self._listed.items() if self.ranks[merged] == rank}

    def derivation(self, id: int) -> MergeTrace:
        """Return how the symbols of a token merge when it stands alone."""
        return trace_merges(list(self._leaves(id)), ListedMerges(self._listed), show=self._symbol)

    def _leaves(self, id: int) -> Iterator[int]:
        """Yield the symbols that a token consists of, which no merge makes, from left to right."""
        waiting, expansions = [id], 0
        while waiting:
            current = waiting.pop()
            pair = self._pair_of.get(current)
            if pair is None or current in pair or expansions >= _MOST_EXPANSIONS:
                yield current
                continue
            expansions += 1
            waiting += reversed(pair)

    def uses(self, id: int) -> tuple[MergeRule, ...]:
        """Return the merges that use a token as a part, in the order of their ranks."""
        found = sorted((rank, pair, merged) for pair, (rank, merged) in self._listed.items() if id in pair)
        return tuple(
            MergeRule(rank, self._symbol(left), self._symbol(right), self._symbol(merged))
            for rank, (left, right), merged in found
        )


class MergesOfRanks(Generic[Key]):
    """Merges implied by the ranks of tokens: two adjacent parts merge if they form a token together.

    Args:
        ids: token → id.
        ranks: token → rank.
        symbol: returns the token of an id.
        by_score: whether ranks are negated scores.

    >>> ids = {b"a": 0, b"b": 1, b"ab": 2, b"bb": 3, b"abb": 4}
    >>> names = {id: token for token, id in ids.items()}
    >>> merges = MergesOfRanks(ids, ids, symbol=lambda id: Symbol(id, names[id]))
    >>> [rule.merged.data for rule in merges.uses(1)], [rule.merged.data for rule in merges.uses(3)]
    ([b'ab', b'bb', b'abb'], [])
    """

    def __init__(
        self,
        ids: Mapping[Key, int],
        ranks: Mapping[Key, float],
        *,
        symbol: Callable[[int], Symbol],
        by_score: bool = False,
    ) -> None:
        self._ids: Mapping[Key, int] = ids
        self._ranks: Mapping[Key, float] = ranks
        self._symbol = symbol
        self._by_score = by_score

    @cached_property
    def ranks(self) -> Mapping[int, float]:
        """Id → its rank, for tokens that merging makes: more than one byte or character."""
        return {id: self._ranks[token] for token, id in self._ids.items() if len(token) > 1}

    @cached_property
    def _tokens(self) -> Mapping[int, Key]:
        return {id: token for token, id in self._ids.items()}

    def derivation(self, id: int) -> MergeTrace:
        """Return how the bytes or characters of a token merge when it stands alone."""
        if id not in self._tokens:  # such as the unknown token and byte tokens
            return MergeTrace((self._symbol(id),), (), (self._symbol(id),), (0, 1), ())
        token = self._tokens[id]
        singles = [token[place : place + 1] for place in range(len(token))]
        return trace_merges(singles, RankedTokens(self._ranks.get), show=self._shown, by_score=self._by_score)

    def uses(self, id: int) -> tuple[MergeRule, ...]:
        """Return the merges that use a token as a part, in the order of their ranks: for each token its last merge."""
        if id not in self._tokens:
            return ()
        part = self._tokens[id]
        size = len(part)
        found: list[tuple[float, tuple[Key, Key]]] = []
        for token, rank in self._ranks.items():
            if len(token) <= size:
                continue
            is_left = token.startswith(part) and token[size:] in self._ids
            is_right = token.endswith(part) and token[:-size] in self._ids
            if not is_left and not is_right:
                continue
            pair = last_pair(token, self._ranks)
            if pair is not None and part in pair and pair[0] + pair[1] == token:
                found.append((rank, pair))
        return tuple(
            MergeRule(rank, self._shown(left), self._shown(right), self._shown(left + right), self._by_score)
            for rank, (left, right) in sorted(found)
        )

    def _shown(self, token: Key) -> Symbol:
        id = self._ids.get(token)
        if id is not None:
            return self._symbol(id)
        return Symbol(None, token.encode() if isinstance(token, str) else token)
