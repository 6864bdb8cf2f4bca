"""Explanations of byte-level BPE, with lazily built lookup tables of its vocabulary."""

from __future__ import annotations

from functools import cached_property, lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING

from tokbench.core.token_table import MergeTable, TokenTable
from tokbench.core.tokens import Span
from tokbench.explain.alternatives import alternatives_of
from tokbench.explain.as_read import Recomputed
from tokbench.explain.bpe import ListedMerges, RankedTokens, trace_merges
from tokbench.explain.causes import Symbol
from tokbench.explain.derivation import TRACES_KEPT, Derivation, MergeTrace, Step
from tokbench.explain.pretokens import PreToken
from tokbench.explain.records import record_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tokbench.core.descriptions import ByteLevelBpe
    from tokbench.explain.pretokens import Alternative, Change
    from tokbench.explain.records import MergeRecord

_NUM_BYTES = 256


class ByteLevelExplainer:
    """Derives the tokens of texts under a byte-level BPE.

    Args:
        description: the description of the tokenizer.
    """

    def __init__(self, description: ByteLevelBpe) -> None:
        self.description = description
        self._symbols: dict[int, Symbol] = {}

    def derivation(
        self,
        text: str,
        pretokens: Sequence[str],
        *,
        changes: tuple[Change, ...] = (),
        original: Callable[[Span], Span] = lambda span: span,
    ) -> Derivation:
        """Derive the ids of a text.

        Args:
            text: the normalized text.
            pretokens: its pre-tokens in order, whose concatenation is the text.
            changes: the changes by normalization.
            original: maps a span of the normalized text to the original text.
        """
        make = partial(self._steps, text, pretokens, original=original)
        steps = Recomputed(make, size=lambda: len(pretokens))
        return Derivation("byte-level BPE", text, changes, self._splitter, steps)

    def _steps(
        self, text: str, pretokens: Sequence[str], *, original: Callable[[Span], Span]
    ) -> Iterator[Step]:
        trace = lru_cache(maxsize=TRACES_KEPT)(self.trace)
        start = 0
        for pretoken, alternative in zip(pretokens, self._alternatives(text, pretokens), strict=True):
            data = pretoken.encode()
            span = original(Span(start, start + len(data)))
            yield Step(PreToken(pretoken, span, alternative), trace(data))
            start += len(data)

    def trace(self, pretoken: bytes) -> MergeTrace:
        """Trace the merges of a pre-token's bytes."""
        if self.description.whole_tokens_first and (id := self.ids.get(pretoken)) is not None:
            whole = (Symbol(id, pretoken),)
            return MergeTrace(self._bytes(pretoken), (), whole, (0, len(pretoken)), (), whole=True)
        if self.description.merges is None:
            singles = [pretoken[place : place + 1] for place in range(len(pretoken))]
            return trace_merges(singles, self.ranked, show=self.symbol_of_bytes)
        return trace_merges([self.byte_ids[byte] for byte in pretoken], self.listed, show=self.symbol)

    def record(
        self,
        rank: int,
        *,
        count: int | None = None,
        displaced: Sequence[tuple[int, int, int]] | None = None,
    ) -> MergeRecord:
        """Return the record of a merge of a vocabulary with a list of merges.

        Args:
            rank: a valid rank.
            count: occurrences of the pair when it was merged; None if unknown.
            displaced: (left id, right id, lost occurrences) of the displaced pairs; None if training was not traced.
        """
        merges = self.description.merges or ()
        return record_of(merges, rank, symbol=self.symbol, count=count, displaced=displaced)

    def symbol(self, id: int) -> Symbol:
        """Return the token with an id."""
        if (known := self._symbols.get(id)) is None:
            known = self._symbols[id] = Symbol(id, self.description.tokens[id] or b"")
        return known

    def symbol_of_bytes(self, data: bytes) -> Symbol:
        """Return the token with some bytes; its id is None if there is no such token."""
        return Symbol(self.ids.get(data), data)

    @cached_property
    def ids(self) -> Mapping[bytes, int]:
        """Token bytes → id."""
        tokens = self.description.tokens
        if isinstance(tokens, TokenTable):
            return tokens.ids()
        return {token: id for id, token in enumerate(tokens) if token is not None}

    @cached_property
    def byte_ids(self) -> Mapping[int, int]:
        """Byte → id of its token."""
        singles = (
            (token[0], id) for id, token in enumerate(self.description.tokens) if token and len(token) == 1
        )
        return dict(islice(singles, _NUM_BYTES))

    @cached_property
    def listed(self) -> ListedMerges:
        """The merges of a vocabulary with a list of merges."""
        merges = self.description.merges or ()
        if isinstance(merges, MergeTable):
            return ListedMerges(merges.by_pair())
        return ListedMerges({(left, right): (rank, made) for rank, (left, right, made) in enumerate(merges)})

    @cached_property
    def ranked(self) -> RankedTokens[bytes]:
        """The merges of a vocabulary with ranks only."""
        return RankedTokens(self.ids.get)

    def _bytes(self, pretoken: bytes) -> tuple[Symbol, ...]:
        return tuple(self.symbol_of_bytes(pretoken[place : place + 1]) for place in range(len(pretoken)))

    def _alternatives(self, text: str, pretokens: Sequence[str]) -> Iterable[Alternative | None]:
        if self.description.pattern is None:
            return [None] * len(pretokens)
        return alternatives_of(self.description.pattern).matching(text, pretokens)

    @property
    def _splitter(self) -> str:
        name = self.description.pattern_name
        if name == "none":
            return "nothing splits the text"
        return "a custom pattern" if name == "custom" else f"the pattern {name}"
