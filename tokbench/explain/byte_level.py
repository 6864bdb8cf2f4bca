"""Byte-level BPE explained: its vocabulary in the form that merging asks for, made once and when it is needed."""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from tokbench.core.token_table import MergeTable, TokenTable
from tokbench.core.tokens import Span
from tokbench.explain.alternatives import alternatives_of
from tokbench.explain.bpe import ListedMerges, RankedTokens, trace_merges
from tokbench.explain.derivation import Derivation, Step
from tokbench.explain.pretokens import PreToken
from tokbench.explain.records import record_of
from tokbench.explain.symbols import Symbol
from tokbench.explain.traces import MergeTrace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tokbench.core.descriptions import ByteLevelBpe
    from tokbench.explain.pretokens import Alternative, Change
    from tokbench.explain.records import MergeRecord

_NUM_BYTES = 256


class ByteLevelExplainer:
    """Derives the tokens of texts.

    Args:
        description: what the tokenizer is made of.
    """

    def __init__(self, description: ByteLevelBpe) -> None:
        self.description = description

    def derivation(
        self,
        text: str,
        pretokens: Sequence[str],
        *,
        changes: tuple[Change, ...] = (),
        original: Callable[[Span], Span] = lambda span: span,
    ) -> Derivation:
        """How a text becomes ids.

        Args:
            text: as it is split: normalized.
            pretokens: its parts, in order; together they are the text.
            changes: what normalization changed.
            original: the place in the original text of a place in this one.
        """
        steps: list[Step] = []
        traces: dict[str, MergeTrace] = {}
        start = 0
        for pretoken, alternative in zip(pretokens, self._alternatives(text, pretokens), strict=True):
            data = pretoken.encode()
            if pretoken not in traces:
                traces[pretoken] = self.trace(data)
            span = original(Span(start, start + len(data)))
            steps.append(Step(PreToken(pretoken, span, alternative), traces[pretoken]))
            start += len(data)
        return Derivation("byte-level BPE", text, changes, self._splitter, tuple(steps))

    def trace(self, pretoken: bytes) -> MergeTrace:
        """How the bytes of a pre-token are merged."""
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
        """A merge by its rank, of a vocabulary whose merges are listed.

        Args:
            rank: its rank, which there is.
            count: how often the pair occurred when it was merged.
            displaced: left id, right id and occurrences lost of the pairs that it displaced.
        """
        merges = self.description.merges or ()
        return record_of(merges, rank, symbol=self.symbol, count=count, displaced=displaced)

    def symbol(self, id: int) -> Symbol:
        """The token of an id."""
        return Symbol(id, self.description.tokens[id] or b"")

    def symbol_of_bytes(self, data: bytes) -> Symbol:
        """The token of some bytes; without an id where it is none."""
        return Symbol(self.ids.get(data), data)

    @cached_property
    def ids(self) -> Mapping[bytes, int]:
        """The ids of tokens."""
        tokens = self.description.tokens
        if isinstance(tokens, TokenTable):
            return tokens.ids()
        return {token: id for id, token in enumerate(tokens) if token is not None}

    @cached_property
    def byte_ids(self) -> Mapping[int, int]:
        """The ids of single bytes."""
        singles = (
            (token[0], id) for id, token in enumerate(self.description.tokens) if token and len(token) == 1
        )
        return dict(islice(singles, _NUM_BYTES))

    @cached_property
    def listed(self) -> ListedMerges:
        """The merges, where they are listed."""
        merges = self.description.merges or ()
        if isinstance(merges, MergeTable):
            return ListedMerges(merges.by_pair())
        return ListedMerges({(left, right): (rank, made) for rank, (left, right, made) in enumerate(merges)})

    @cached_property
    def ranked(self) -> RankedTokens[bytes]:
        """The merges, where only the ranks of tokens are known."""
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
        return "a pattern of its own" if name == "custom" else f"the pattern {name}"
