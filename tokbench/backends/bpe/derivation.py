"""How a byte-level BPE made its tokens and learned its merges, for `tokbench explain`."""

from __future__ import annotations

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


class ExplainsMerges:
    """The part of a byte-level BPE that explains its tokens.

    Attributes:
        pattern: the split pattern.
        merges: the learned merges in order; None for one that was made from ranks alone.
        read_trace: gives what each merge displaced in the training; None where that was not traced.
    """

    pattern: SplitPattern
    merges: tuple[Merge, ...] | None
    read_trace: Callable[[], Sequence[DisplacedPairs]] | None = None

    def description(self) -> ByteLevelBpe:
        """The components of the tokenizer."""
        raise NotImplementedError

    def derivation(self, text: str) -> Derivation:
        """The steps by which a text becomes ids, treating special tokens as ordinary text. Raises `TextError`."""
        from tokbench.backends.bpe.normalization import changed_runs
        from tokbench.explain.pretokens import Change

        utf8(text)
        prepared = self.pattern.normalized(text)
        # By the package that tells the alternatives, too; the kernel's answer would need NumPy.
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
        """How many merges there are; 0 where only the ranks of tokens are known."""
        return len(self.description().merges or ())

    def merge_record(self, rank: int) -> MergeRecord:
        """A merge by its rank: what it joins, and what is known of how it was learned. Raises `ModelFormatError`."""
        merges, displaced = self.merges, self.displaced
        return self._explainer.record(
            rank,
            count=None if merges is None else merges[rank].count,
            displaced=None if displaced is None else displaced[rank],
        )

    @cached_property
    def displaced(self) -> Sequence[DisplacedPairs] | None:
        """For each merge what it displaced in the training; None without a trace. Raises `ModelFormatError`."""
        return None if self.read_trace is None else self.read_trace()
