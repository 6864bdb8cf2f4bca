"""Explanations of the tokens and merges of a byte-level BPE, for `tokbench explain`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

from tokbench.backends.bpe.normalization import NfcAlignment
from tokbench.backends.bpe.split_patterns import split
from tokbench.core.base import utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokbench.backends.bpe.merge_trace import DisplacedPairs
    from tokbench.backends.bpe.reference import Merge
    from tokbench.backends.bpe.split_patterns import SplitPattern
    from tokbench.core.descriptions import ByteLevelBpe
    from tokbench.explain.byte_level import ByteLevelExplainer
    from tokbench.explain.derivation import Derivation
    from tokbench.explain.records import MergeRecord


class ExplainsMerges(ABC):
    """The mixin of a byte-level BPE that explains its tokens and merges.

    Attributes:
        pattern: the split pattern.
        merges: the learned merges in order; None for a tokenizer built from ranks alone.
        read_trace: returns the pairs that each merge displaced in the training; None if it was not traced.
    """

    pattern: SplitPattern
    merges: tuple[Merge, ...] | None
    read_trace: Callable[[], Sequence[DisplacedPairs]] | None = None

    @abstractmethod
    def description(self) -> ByteLevelBpe:
        """Return the components of the tokenizer."""

    def derivation(self, text: str) -> Derivation:
        """Return the steps from a text to its ids, treating special tokens as ordinary text. Raises `TextError`."""
        from tokbench.backends.bpe.normalization import changed_runs
        from tokbench.explain.pretokens import Change

        utf8(text)
        prepared = self.pattern.normalized(text)
        # `regex` instead of the kernel: it also tells which alternative matched, and it does not need NumPy.
        pretokens = split(self.pattern, prepared)
        if prepared == text:
            return self._explainer.derivation(prepared, pretokens)
        changes = tuple(Change(span, before, after) for before, after, span in changed_runs(text))
        return self._explainer.derivation(
            prepared, pretokens, changes=changes, original=NfcAlignment(text).original
        )

    @cached_property
    def _explainer(self) -> ByteLevelExplainer:
        from tokbench.explain.byte_level import ByteLevelExplainer

        return ByteLevelExplainer(self.description())

    @property
    def num_merges(self) -> int:
        """The number of merges; 0 if only the ranks of tokens are known."""
        return len(self.description().merges or ())

    def merge_record(self, rank: int) -> MergeRecord:
        """Return a merge by its rank, with its count and the pairs it displaced if known. Raises `ModelFormatError`."""
        merges, displaced = self.merges, self.displaced
        return self._explainer.record(
            rank,
            count=None if merges is None else merges[rank].count,
            displaced=None if displaced is None else displaced[rank],
        )

    @cached_property
    def displaced(self) -> Sequence[DisplacedPairs] | None:
        """The pairs that each merge displaced in the training; None without a trace. Raises `ModelFormatError`."""
        return None if self.read_trace is None else self.read_trace()
