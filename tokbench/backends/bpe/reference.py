"""The reference implementation of byte-level BPE: the definition that every faster implementation must equal.

Read it top to bottom. A text is split into pre-tokens (`split_patterns.py`); a pre-token starts as
its bytes, whose ids are their values; training repeatedly merges the most frequent pair of
adjacent ids into a new id; encoding replays those merges in the order in which they were learned.
Nothing here is fast, and nothing here is clever.

The running example is Philip Gage's (1994) "aaabdaaabac".
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tokbench.core.special_tokens import TextPart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

Pair = tuple[int, int]

NUM_BYTES = 256
"""The size of the base vocabulary: the id of a byte is its value, and the first merge creates id 256."""


class Merge(NamedTuple):
    """One learned merge: the pair (`left`, `right`) becomes the next id; `count` is its frequency at that time."""

    left: int
    right: int
    count: int  # type: ignore[assignment]  # overrides tuple.count, which nothing uses


# --- training ---------------------------------------------------------------------------------


def count_pairs(words: Mapping[tuple[int, ...], int]) -> Counter[Pair]:
    """Return the frequency of each adjacent pair: the sum over all words of count × positions.

    Overlapping positions count too: "aaa" holds the pair (a, a) twice.

    >>> count_pairs({tuple(b"aaabdaaabac"): 1})[97, 97]
    4
    >>> count_pairs({tuple(b"aaa"): 10})
    Counter({(97, 97): 20})
    """
    counts: Counter[Pair] = Counter()
    for word, count in words.items():
        for pair in pairwise(word):
            counts[pair] += count
    return counts


def most_frequent_pair(counts: Mapping[Pair, int]) -> Pair:
    """Return the pair to merge next: the highest count, then the smallest (left id, right id).

    >>> most_frequent_pair({(97, 98): 4, (97, 97): 4, (98, 97): 2})
    (97, 97)
    """
    return min(counts, key=lambda pair: (-counts[pair], pair))


def merge_pair(word: tuple[int, ...], pair: Pair, new_id: int) -> tuple[int, ...]:
    """Replace each occurrence of the pair in the word, left to right, without overlap.

    >>> merge_pair(tuple(b"aaab"), (97, 97), 256)
    (256, 97, 98)
    """
    if pair not in pairwise(word):  # true of nearly every word, and a fast check
        return word
    merged: list[int] = []
    position = 0
    while position < len(word):
        if word[position : position + 2] == pair:
            merged.append(new_id)
            position += 2
        else:
            merged.append(word[position])
            position += 1
    return tuple(merged)


def train(
    pretokens: Mapping[bytes, int],
    *,
    num_merges: int,
    min_frequency: int = 2,
    max_token_length: int | None = None,
) -> list[Merge]:
    """Learn up to `num_merges` merges from pre-tokens and their counts.

    Args:
        pretokens: how often each pre-token occurs.
        num_merges: the number of merges to learn; fewer are learned if pairs run out.
        min_frequency: training stops when the highest count is below this.
        max_token_length: pairs whose token would be longer, in bytes, are skipped; None for no limit.

    Returns:
        The merges in order; merge i creates id 256 + i.

    >>> train({b"aaabdaaabac": 1}, num_merges=3)
    [Merge(left=97, right=97, count=4), Merge(left=97, right=98, count=2), Merge(left=256, right=257, count=2)]
    """
    words: Counter[tuple[int, ...]] = Counter()
    for pretoken, count in pretokens.items():
        words[tuple(pretoken)] += count
    lengths = [1] * NUM_BYTES
    merges: list[Merge] = []
    while len(merges) < num_merges:
        counts = {
            pair: count
            for pair, count in count_pairs(words).items()
            if max_token_length is None or lengths[pair[0]] + lengths[pair[1]] <= max_token_length
        }
        if not counts:
            break
        pair = most_frequent_pair(counts)
        if counts[pair] < min_frequency:
            break
        new_id = NUM_BYTES + len(merges)
        merges.append(Merge(*pair, counts[pair]))
        lengths.append(lengths[pair[0]] + lengths[pair[1]])
        words = Counter({merge_pair(word, pair, new_id): count for word, count in words.items()})
    return merges


def continue_training(
    pretokens: Mapping[bytes, int],
    inherited: Sequence[Sequence[int]],
    *,
    num_merges: int,
    min_frequency: int = 2,
    max_token_length: int | None = None,
    may_be_token: Callable[[bytes], bool] = bool,
) -> list[Merge]:
    """Learn merges that follow inherited ones; these keep their ids, whether or not they occur in the text.

    Args:
        pretokens: how often each pre-token occurs.
        inherited: merges (left, right, …) in order, which are applied to the pre-tokens first.
        num_merges: the number of merges to learn; fewer are learned if pairs run out.
        min_frequency: as for `train`.
        max_token_length: as for `train`.
        may_be_token: whether bytes may become a new token.

    Returns:
        The new merges in order: merge i creates id 256 + len(inherited) + i. No merge creates a second token of
        the same bytes.

    The merge (a, a) turns "aaabdaaabac" into "aa a b d aa a b a c", and "zz" does not occur:

    >>> continue_training({b"aaabdaaabac": 1}, [(97, 97), (122, 122)], num_merges=2)
    [Merge(left=97, right=98, count=2), Merge(left=256, right=258, count=2)]
    """
    words = Counter({tuple(pretoken): count for pretoken, count in pretokens.items()})
    for new_id, (left, right, *_) in enumerate(inherited, NUM_BYTES):
        words = Counter({merge_pair(word, (left, right), new_id): count for word, count in words.items()})
    tokens = vocabulary(inherited)
    merges: list[Merge] = []
    while len(merges) < num_merges:
        joined = {pair: tokens[pair[0]] + tokens[pair[1]] for pair in count_pairs(words)}
        counts = {
            pair: count
            for pair, count in count_pairs(words).items()
            if count >= min_frequency
            and (max_token_length is None or len(joined[pair]) <= max_token_length)
            and joined[pair] not in tokens
            and may_be_token(joined[pair])
        }
        if not counts:
            break
        pair = most_frequent_pair(counts)
        merges.append(Merge(*pair, counts[pair]))
        words = Counter({merge_pair(word, pair, len(tokens)): count for word, count in words.items()})
        tokens.append(joined[pair])
    return merges


SUPERWORDS_PATTERN = "superwords"
"""The name of the split pattern for tokens that may contain several words."""
MOST_WORDS = 4
"""The largest number of space-separated words in a token that is learned across spaces."""
EXCLUDED_IN_SUPERWORDS = b": "
"""Bytes that such a token must not contain: the text before them usually introduces the text after them."""


def may_be_superword(token: bytes) -> bool:
    """Return whether bytes may become a token that is learned across spaces (Liu et al. 2025).

    >>> [may_be_superword(token) for token in (b" by the way ", b" a b c d", b" a b c d e", b"to: ")]
    [True, True, False, False]
    """
    words = [word for word in token.split(b" ") if word]
    return len(words) <= MOST_WORDS and EXCLUDED_IN_SUPERWORDS not in token


def train_superwords(
    words: Mapping[bytes, int],
    superwords: Mapping[bytes, int],
    *,
    num_first: int,
    num_merges: int,
    min_frequency: int = 2,
    max_token_length: int | None = None,
) -> list[Merge]:
    """Learn merges within words, then across spaces.

    Args:
        words: how often each pre-token of a text occurs.
        superwords: the same for the text split by the pattern "superwords" alone.
        num_first: the number of merges to learn within words.
        num_merges: the total number of merges to learn.
        min_frequency: as for `train`.
        max_token_length: as for `train`.

    >>> train_superwords({b"of": 3, b" a": 3}, {b"of a": 3}, num_first=1, num_merges=3)
    [Merge(left=32, right=97, count=3), Merge(left=102, right=256, count=3), Merge(left=111, right=257, count=3)]
    """
    limits = {"min_frequency": min_frequency, "max_token_length": max_token_length}
    first = train(words, num_merges=min(num_first, num_merges), **limits)  # type: ignore[arg-type]
    rest = num_merges - len(first)
    further = continue_training(superwords, first, num_merges=rest, may_be_token=may_be_superword, **limits)  # type: ignore[arg-type]
    return [*first, *further]


# --- encoding and decoding --------------------------------------------------------------------


def vocabulary(merges: Iterable[Sequence[int]]) -> list[bytes]:
    """Return the bytes of each id: the 256 bytes, then for each merge the bytes of its left and right id joined.

    >>> vocabulary([(97, 97), (97, 98), (256, 257)])[256:]
    [b'aa', b'ab', b'aaab']
    """
    tokens = [bytes([value]) for value in range(NUM_BYTES)]
    for left, right, *_ in merges:
        tokens.append(tokens[left] + tokens[right])
    return tokens


def encode(pretoken: bytes, merges: Mapping[Pair, int]) -> list[int]:
    """Encode one pre-token: repeatedly merge the pair that was learned first.

    Args:
        pretoken: its bytes.
        merges: pair → the id that its merge creates; smaller ids were learned earlier.

    >>> encode(b"aaabdaaabac", {(97, 97): 256, (97, 98): 257, (256, 257): 258})
    [258, 100, 258, 97, 99]
    """
    word = tuple(pretoken)
    while learned := [pair for pair in pairwise(word) if pair in merges]:
        pair = min(learned, key=merges.__getitem__)
        word = merge_pair(word, pair, merges[pair])
    return list(word)


def decode(ids: Iterable[int], tokens: Sequence[bytes]) -> bytes:
    """Return the bytes of ids, joined.

    >>> decode([258, 100], vocabulary([(97, 97), (97, 98), (256, 257)]))
    b'aaabd'
    """
    return b"".join(tokens[id] for id in ids)


# --- special tokens ---------------------------------------------------------------------------


def cut_at_special_tokens(text: str, special_tokens: Iterable[str]) -> Iterator[TextPart]:
    """Split a text at its special tokens: the leftmost match first, and the longest of those that start together.

    >>> list(cut_at_special_tokens("a<eot>b", ["<eot>"]))
    [TextPart(text='a', token=None), TextPart(text='<eot>', token='<eot>'), TextPart(text='b', token=None)]
    """
    longest_first = sorted(special_tokens, key=len, reverse=True)
    start = position = 0
    while position < len(text):
        token = next((token for token in longest_first if text.startswith(token, position)), None)
        if token is None:
            position += 1
            continue
        if start < position:
            yield TextPart(text[start:position])
        yield TextPart(token, token)
        start = position = position + len(token)
    if start < len(text):
        yield TextPart(text[start:])
