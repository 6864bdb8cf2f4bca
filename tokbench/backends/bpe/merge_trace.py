"""What each merge of a training displaced: the pairs that lost occurrences to it, replayed on the counted pre-tokens.

A merge takes two neighbours away from what stands beside them. The pairs that they made there are displaced: some
would have been merged next, had it not been for this merge. The definition is the difference of the reference's
`count_pairs` before and after a merge; here each pre-token is replayed by itself, which comes to the same.

merge_trace.json: for each merge [count, [[left id, right id, occurrences lost], …]], those that lost most first.
"""

from __future__ import annotations

import heapq
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from tokbench.backends.bpe.reference import NUM_BYTES, Merge
from tokbench.errors import ModelFormatError
from tokbench.explain.bpe import ListedMerges, merge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from tokbench.backends.bpe.reference import Pair

TRACE_NAME = "merge_trace.json"
SCHEMA = "tokbench.merge_trace/1"
MOST_KEPT = 5
"""Displaced pairs that are kept of each merge."""

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
    """For each merge the pairs that it took occurrences from, and how many: the most first, `MOST_KEPT` at most.

    Args:
        pretokens: the pre-tokens of the training, each with its count.
        merges: what was learned from them.
        progress: called now and then with the number of pre-tokens done.

    >>> displaced_pairs([(b"abc", 3), (b"bc", 2)], [Merge(98, 99, 5), Merge(97, 256, 3)])
    [((97, 98, 3),), ()]
    """
    rank_of = {(each.left, each.right): rank for rank, each in enumerate(merges)}
    rules = ListedMerges({pair: (rank, NUM_BYTES + rank) for pair, rank in rank_of.items()})
    lost: list[dict[Pair, int]] = [{} for _ in merges]
    for number, (pretoken, count) in enumerate(pretokens):
        if len(pretoken) > _LONG:
            _replay_long(pretoken, count, rules, lost)
        else:
            _replay(pretoken, count, rank_of, lost)
        if number % _REPORTS == 0:
            progress(number)
    return list(map(_most, lost))


def _most(counts: dict[Pair, int]) -> DisplacedPairs:
    most = heapq.nsmallest(MOST_KEPT, counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple((left, right, count) for (left, right), count in most)


def _replay(pretoken: bytes, count: int, rank_of: dict[Pair, int], lost: list[dict[Pair, int]]) -> None:
    """Add what the merges of a pre-token displace, merge by merge: a million of them take a few seconds."""
    find, none = rank_of.get, len(lost)
    word = list(pretoken)
    ranks = [find(pair, none) for pair in pairwise(word)]
    while ranks and (rank := min(ranks)) < none:
        place = ranks.index(rank)
        made, counts = NUM_BYTES + rank, lost[rank]
        # What the same merge has made just before is not a neighbour of old.
        if place and word[place - 1] != made:
            pair = word[place - 1], word[place]
            counts[pair] = counts.get(pair, 0) + count
        if place + 1 < len(ranks) and ranks[place + 1] != rank:
            pair = word[place + 1], word[place + 2]
            counts[pair] = counts.get(pair, 0) + count
        word[place] = made
        del word[place + 1], ranks[place]
        if place:
            ranks[place - 1] = find((word[place - 1], made), none)
        if place < len(ranks):
            ranks[place] = find((made, word[place + 1]), none)


def _replay_long(pretoken: bytes, count: int, rules: ListedMerges, lost: list[dict[Pair, int]]) -> None:
    """The same with a heap and linked places, for pre-tokens too long to search for the lowest rank."""
    ids = dict(enumerate(pretoken))
    before = {place: place - 1 for place in ids}
    size = len(pretoken)
    for rank, steps in groupby(merge(list(pretoken), rules).steps, key=lambda step: int(step.found.rank)):
        group = list(steps)
        counts, made = lost[rank], NUM_BYTES + rank
        for edge in {edge for step in group for edge in (step.start, step.stop) if 0 < edge < size}:
            pair = ids[before[edge]], ids[edge]
            found = rules.find(*pair)
            if found is None or found.rank != rank:
                counts[pair] = counts.get(pair, 0) + count
        for step in group:
            ids[step.start] = made
            del ids[step.middle]
            before[step.stop] = step.start


def dump_trace(merges: Sequence[Merge], displaced: Sequence[DisplacedPairs]) -> bytes:
    """The file."""
    import orjson

    rows = [[each.count, pairs] for each, pairs in zip(merges, displaced, strict=True)]
    return orjson.dumps({"schema": SCHEMA, "merges": rows}, option=orjson.OPT_APPEND_NEWLINE)


def parse_trace(data: bytes | memoryview, merges: Sequence[Merge], *, path: Path) -> list[DisplacedPairs]:
    """What the file says of the merges that it belongs to. Raises `ModelFormatError`."""
    from tokbench.files.untrusted import load_json

    document = load_json(bytes(data), path=path, hint=_RETRAIN)
    rows = document.get("merges") if isinstance(document, dict) and document.get("schema") == SCHEMA else None
    if not isinstance(rows, list) or len(rows) != len(merges) or not all(map(_is_row, rows, merges)):
        raise ModelFormatError(
            path, f"a trace of the {len(merges):,} merges beside it", "a different one", hint=_RETRAIN
        )
    return [tuple((left, right, count) for left, right, count in pairs) for _, pairs in rows]


def _is_row(row: Any, its: Merge) -> bool:
    return (
        isinstance(row, list)
        and len(row) == 2
        and row[0] == its.count
        and isinstance(row[1], list)
        and all(
            isinstance(each, list)
            and len(each) == 3
            and all(type(number) is int and number >= 0 for number in each)
            for each in row[1]
        )
    )
