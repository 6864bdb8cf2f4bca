"""Byte-level BPE by the textbook: the definition that every faster implementation must equal.

Read it top to bottom. A text is split into pre-tokens (`split_patterns.py`); a pre-token starts as
its bytes, whose ids are their values; training merges the most frequent pair of
neighbouring ids into a new id, again and again; encoding replays those merges in the order
in which they were learned. Nothing here is fast, and nothing here is clever.

The example that goes through this page is Philip Gage's (1994) "aaabdaaabac".
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
"""The base vocabulary: one id for each byte, its value. The first merge makes id 256."""


class Merge(NamedTuple):
    """One learned merge: `left` and `right` become the next id; `count` is how often they stood together."""

    left: int
    right: int
    count: int  # type: ignore[assignment]  # tuple.count is not missed here


# --- training ---------------------------------------------------------------------------------


def count_pairs(words: Mapping[tuple[int, ...], int]) -> Counter[Pair]:
    """How often each pair of neighbours occurs: over all words, count × adjacent positions.

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
    """The pair that is merged next: highest count, then smallest (left id, right id).

    >>> most_frequent_pair({(97, 98): 4, (97, 97): 4, (98, 97): 2})
    (97, 97)
    """
    return min(counts, key=lambda pair: (-counts[pair], pair))


def merge_pair(word: tuple[int, ...], pair: Pair, new_id: int) -> tuple[int, ...]:
    """The word with each occurrence of the pair replaced, left to right, without overlap.

    >>> merge_pair(tuple(b"aaab"), (97, 97), 256)
    (256, 97, 98)
    """
    if pair not in pairwise(word):  # nearly every word, and quickly found
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
        num_merges: how many merges to learn; fewer are learned when pairs run out.
        min_frequency: training stops when the highest count is below this.
        max_token_length: pairs that would make a token of more bytes are skipped; None for no limit.

    Returns:
        The merges in order; merge i makes id 256 + i.

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
    """Learn merges after inherited ones, which stay where they are, in the text or not.

    Args:
        pretokens: how often each pre-token occurs.
        inherited: merges (left, right, …) in order; pre-tokens are cut by them, one after another.
        num_merges: how many merges to learn; fewer are learned when pairs run out.
        min_frequency: as for `train`.
        max_token_length: as for `train`.
        may_be_token: whether bytes may become a new token.

    Returns:
        The new merges in order: merge i makes the id after the inherited ones' and i others. Bytes that are a
        token already become no second one.

    "aaabdaaabac" is cut by (a, a) into "aa a b d aa a b a c", and "zz" is in no text:

    >>> continue_training({b"aaabdaaabac": 1}, [(97, 97), (122, 122)], num_merges=2)
    [Merge(left=97, right=98, count=2), Merge(left=256, right=258, count=2)]
    """
    words = Counter({tuple(pretoken): count for pretoken, count in pretokens.items()})
    for made, (left, right, *_) in enumerate(inherited, NUM_BYTES):
        words = Counter({merge_pair(word, (left, right), made): count for word, count in words.items()})
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
"""What splits a text whose tokens may hold several words."""
MOST_WORDS = 4
"""Parts between spaces that a token may have which is learned across them."""
EXCLUDED_IN_SUPERWORDS = b": "
"""Bytes that no such token has: what stands before them introduces what follows."""


def may_be_superword(token: bytes) -> bool:
    """Whether bytes may become a token that is learned across spaces (Liu et al. 2025).

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
        superwords: the same, of the text split by the pattern "superwords" alone.
        num_first: how many merges to learn within words.
        num_merges: how many to learn together.
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
    """The bytes of each id: the 256 bytes, then each merge's left and right joined.

    >>> vocabulary([(97, 97), (97, 98), (256, 257)])[256:]
    [b'aa', b'ab', b'aaab']
    """
    tokens = [bytes([value]) for value in range(NUM_BYTES)]
    for left, right, *_ in merges:
        tokens.append(tokens[left] + tokens[right])
    return tokens


def encode(pretoken: bytes, merges: Mapping[Pair, int]) -> list[int]:
    """The ids of one pre-token: again and again, the learned pair with the smallest id is merged.

    Args:
        pretoken: its bytes.
        merges: pair → the id it makes; smaller ids were learned earlier.

    >>> encode(b"aaabdaaabac", {(97, 97): 256, (97, 98): 257, (256, 257): 258})
    [258, 100, 258, 97, 99]
    """
    word = tuple(pretoken)
    while learned := [pair for pair in pairwise(word) if pair in merges]:
        pair = min(learned, key=merges.__getitem__)
        word = merge_pair(word, pair, merges[pair])
    return list(word)


def decode(ids: Iterable[int], tokens: Sequence[bytes]) -> bytes:
    """The bytes of ids, one after another.

    >>> decode([258, 100], vocabulary([(97, 97), (97, 98), (256, 257)]))
    b'aaabd'
    """
    return b"".join(tokens[id] for id in ids)


# --- special tokens ---------------------------------------------------------------------------


def cut_at_special_tokens(text: str, special_tokens: Iterable[str]) -> Iterator[TextPart]:
    """Cut a text at the special tokens in it: the leftmost first, and of two that start together the longest.

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
