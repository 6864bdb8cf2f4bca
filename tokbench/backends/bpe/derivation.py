"""Explanations of the tokens and merges of a byte-level BPE, and the trace of a training, on which some rest.

The trace has for each merge the pairs that lost occurrences to it. A merge removes the pairs that its two symbols
formed with the symbols around them. These pairs are displaced: some of them would have been merged next without this
merge. The definition is the difference of the reference's `count_pairs` before and after a merge; here the merges are
replayed on each counted pre-token separately, with the same result.

merge_trace.json: for each merge [count, [[left id, right id, occurrences lost], …]], the largest losses first.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from functools import cached_property
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from tokbench.backends.bpe.normalization import NfcAlignment
from tokbench.backends.bpe.reference import NUM_BYTES, Merge
from tokbench.backends.bpe.split_patterns import split
from tokbench.core.base import utf8
from tokbench.errors import ModelFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from tokbench.backends.bpe.reference import Pair
    from tokbench.backends.bpe.split_patterns import SplitPattern
    from tokbench.core.descriptions import ByteLevelBpe
    from tokbench.explain.bpe import ListedMerges
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


TRACE_NAME = "merge_trace.json"
SCHEMA = "tokbench.merge_trace/1"
MOST_KEPT = 5
"""The largest number of displaced pairs that are kept for each merge."""

_LONG = 64
_REPORTS = 1 << 14
_RETRAIN = "the folder is damaged: restore it, or train again"

DisplacedPairs = tuple[tuple[int, int, int], ...]


def displaced_pairs(
    pretokens: Iterable[tuple[bytes, int]],
    merges: Sequence[Merge],
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> list[DisplacedPairs]:
    """Return for each merge the pairs that lost occurrences to it and how many: at most `MOST_KEPT`, the most first.

    Args:
        pretokens: the pre-tokens of the training, each with its count.
        merges: the merges that were learned from them.
        progress: called regularly with the number of pre-tokens done.

    >>> displaced_pairs([(b"abc", 3), (b"bc", 2)], [Merge(98, 99, 5), Merge(97, 256, 3)])
    [((97, 98, 3),), ()]
    """
    from tokbench.explain.bpe import ListedMerges

    rank_of = {(merge.left, merge.right): rank for rank, merge in enumerate(merges)}
    rules = ListedMerges({pair: (rank, NUM_BYTES + rank) for pair, rank in rank_of.items()})
    lost: list[dict[Pair, int]] = [{} for _ in merges]
    for number, (pretoken, count) in enumerate(pretokens):
        if len(pretoken) > _LONG:
            _replay_long(pretoken, count, rules, lost)
        else:
            _replay(pretoken, count, rank_of, lost)
        if number % _REPORTS == 0:
            progress(number)
    return list(map(_most_displaced, lost))


def _most_displaced(counts: dict[Pair, int]) -> DisplacedPairs:
    most = heapq.nsmallest(MOST_KEPT, counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple((left, right, count) for (left, right), count in most)


def _replay(pretoken: bytes, count: int, rank_of: dict[Pair, int], lost: list[dict[Pair, int]]) -> None:
    """Add the pairs that the merges of a pre-token displace, merge by merge; a million pre-tokens take seconds."""
    find, none = rank_of.get, len(lost)
    word = list(pretoken)
    ranks = [find(pair, none) for pair in pairwise(word)]
    while ranks and (rank := min(ranks)) < none:
        place = ranks.index(rank)
        new_id, counts = NUM_BYTES + rank, lost[rank]
        # If the neighbour is a result of the same merge, there was no such pair before the merge.
        if place and word[place - 1] != new_id:
            pair = word[place - 1], word[place]
            counts[pair] = counts.get(pair, 0) + count
        if place + 1 < len(ranks) and ranks[place + 1] != rank:
            pair = word[place + 1], word[place + 2]
            counts[pair] = counts.get(pair, 0) + count
        word[place] = new_id
        del word[place + 1], ranks[place]
        if place:
            ranks[place - 1] = find((word[place - 1], new_id), none)
        if place < len(ranks):
            ranks[place] = find((new_id, word[place + 1]), none)


def _replay_long(pretoken: bytes, count: int, rules: ListedMerges, lost: list[dict[Pair, int]]) -> None:
    """Do as `_replay` does with a heap and linked symbols, for pre-tokens too long to search for the lowest rank."""
    from tokbench.explain.bpe import merge

    ids = dict(enumerate(pretoken))
    before = {place: place - 1 for place in ids}
    size = len(pretoken)
    for rank, steps in groupby(merge(list(pretoken), rules).steps, key=lambda step: int(step.found.rank)):
        group = list(steps)
        counts, new_id = lost[rank], NUM_BYTES + rank
        for edge in {edge for step in group for edge in (step.start, step.stop) if 0 < edge < size}:
            pair = ids[before[edge]], ids[edge]
            rule = rules.find(*pair)
            if rule is None or rule.rank != rank:
                counts[pair] = counts.get(pair, 0) + count
        for step in group:
            ids[step.start] = new_id
            del ids[step.middle]
            before[step.stop] = step.start


def dump_trace(merges: Sequence[Merge], displaced: Sequence[DisplacedPairs]) -> bytes:
    """Return the content of `merge_trace.json`."""
    import orjson

    rows = [[merge.count, pairs] for merge, pairs in zip(merges, displaced, strict=True)]
    return orjson.dumps({"schema": SCHEMA, "merges": rows}, option=orjson.OPT_APPEND_NEWLINE)


def parse_trace(data: bytes | memoryview, merges: Sequence[Merge], *, path: Path) -> list[DisplacedPairs]:
    """Return the pairs that each merge displaced, from the content of the file. Raises `ModelFormatError`."""
    from tokbench.files.untrusted_json import load_json

    document = load_json(bytes(data), path=path, hint=_RETRAIN)
    rows = document.get("merges") if isinstance(document, dict) and document.get("schema") == SCHEMA else None
    if not isinstance(rows, list) or len(rows) != len(merges) or not all(map(_is_row, rows, merges)):
        raise ModelFormatError(
            path, f"a trace of the {len(merges):,} merges beside it", "a different one", hint=_RETRAIN
        )
    return [tuple((left, right, count) for left, right, count in pairs) for _, pairs in rows]


def _is_row(row: Any, expected: Merge) -> bool:
    return (
        isinstance(row, list)
        and len(row) == 2
        and row[0] == expected.count
        and isinstance(row[1], list)
        and all(
            isinstance(pair, list)
            and len(pair) == 3
            and all(type(number) is int and number >= 0 for number in pair)
            for pair in row[1]
        )
    )
