"""Parity-aware BPE by the textbook: the definition that the faster implementations must equal.

Plain BPE merges the pair that is the most frequent in all text together, so that languages with much text get most
tokens. Here a merge is learned for one language: the one that needs most tokens for its development text, which says
the same in every language. The most frequent pair of its own text is merged, in the words of all languages.

Source: Foroutan et al. (2025), https://arxiv.org/abs/2508.04796. `train_as_published` learns what the authors' program
learns. `train_for_parity` differs in three things: ties go to the smallest ids, as everywhere in tokbench; a language
without a pair left is passed over, where the program ends; and text may be of no language, and counts for the global
merges then.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.backends.bpe.reference import (
    NUM_BYTES,
    Merge,
    Pair,
    count_pairs,
    merge_pair,
    most_frequent_pair,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

GLOBAL = -1
"""The language of a merge that was chosen for all text together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityRules:
    """How the language of a merge is chosen.

    Attributes:
        global_merges: this many come first, as plain BPE learns them.
        divisors: what the tokens of each language are divided by before they are compared.
        window: how many of the latest choices are looked at; 0 for none.
        most_taken: a language that was chosen more often among those is passed over.
    """

    global_merges: int = 0
    divisors: tuple[int, ...]
    window: int = 0
    most_taken: int = 0


class ParityMerge(NamedTuple):
    """A merge with its count in all text, and the number of the language that it was chosen for, or `GLOBAL`."""

    merge: Merge
    language: int


def train_for_parity(
    languages: Sequence[Mapping[bytes, int]],
    development: Sequence[Mapping[bytes, int]],
    *,
    num_merges: int,
    rules: ParityRules,
    min_frequency: int = 2,
    max_token_length: int | None = None,
) -> list[ParityMerge]:
    """Learn up to `num_merges` merges.

    Args:
        languages: the pre-tokens of each language with their counts, and after them those of other text.
        development: the same of the development text of each language.
        num_merges: how many merges to learn; fewer are learned when pairs run out.
        rules: how a language is chosen.
        min_frequency: how often a pair must occur in the text that it is chosen for.
        max_token_length: as for `reference.train`.

    Returns:
        The merges in order; merge i makes id 256 + i.

    A line has 4 bytes in the first language and 3 in the second. After its most frequent pair the first one needs 2
    tokens, and the second one is next:

    >>> learned = train_for_parity(
    ...     [{b"abab": 5}, {b"xyz": 9, b"yz": 1}],
    ...     [{b"abab": 1}, {b"xyz": 1}],
    ...     num_merges=2,
    ...     rules=ParityRules(divisors=(1, 1)),
    ... )
    >>> [(left, right, count, language) for (left, right, count), language in learned]
    [(97, 98, 10, 0), (121, 122, 10, 1)]
    """
    lengths = [1] * NUM_BYTES

    def best(counts: Counter[Pair]) -> Pair | None:
        may_be = {
            (left, right): count
            for (left, right), count in counts.items()
            if count >= min_frequency
            and (max_token_length is None or lengths[left] + lengths[right] <= max_token_length)
        }
        return most_frequent_pair(may_be) if may_be else None

    def make(pair: Pair) -> int:
        lengths.append(lengths[pair[0]] + lengths[pair[1]])
        return len(lengths) - 1

    texts = [{tuple(word): count for word, count in text.items()} for text in languages]
    held = [{tuple(word): count for word, count in text.items()} for text in development]
    steps = _steps(texts, held, rules=rules, best=best, make=make, passes_over=True)
    first = islice(steps, num_merges)
    return [ParityMerge(Merge(left, right, count), language) for (left, right), count, language in first]


def train_as_published(
    languages: Sequence[Mapping[str, int]],
    development: Sequence[Mapping[str, int]],
    *,
    num_merges: int,
    rules: ParityRules,
    min_frequency: int = 2,
) -> list[tuple[str, str]]:
    """The merges of the authors' program: a symbol is its text, and ties go to the greatest pair of texts.

    Args:
        languages: the words of each language with their counts, a character for each byte.
        development: those of its development text.
        num_merges: how many merges to learn at most.
        rules: how a language is chosen; the program's window passes over what was taken more than W·α/L times, with
            one more language where there are global merges.
        min_frequency: training ends where the most frequent pair of the language that is next is rarer.

    "ba" and "ab" are as frequent, and "b" is greater:

    >>> train_as_published([{"aba": 5}], [{"aba": 1}], num_merges=9, rules=ParityRules(divisors=(1,)))
    [('b', 'a'), ('a', 'ba')]
    """

    def best(counts: Counter[Any]) -> Any:
        pair = max(counts, key=lambda pair: (counts[pair], pair), default=None)
        return None if pair is None or counts[pair] < min_frequency else pair

    def make(pair: tuple[str, str]) -> str:
        return pair[0] + pair[1]

    texts = [{tuple(word): count for word, count in text.items()} for text in languages]
    held = [{tuple(word): count for word, count in text.items()} for text in development]
    steps = _steps(texts, held, rules=rules, best=best, make=make, passes_over=False)
    return [pair for pair, _, _ in islice(steps, num_merges)]


def _steps(
    texts: list[dict[Any, int]],
    development: list[dict[Any, int]],
    *,
    rules: ParityRules,
    best: Callable[[Counter[Any]], Any],
    make: Callable[[Any], Any],
    passes_over: bool,
) -> Iterator[tuple[Any, int, int]]:
    """Each merge as (pair, count, language): `best` chooses the pair, `make` names what it becomes."""
    taken: deque[int] = deque(maxlen=rules.window)
    step = 0
    while True:
        counts = [count_pairs(text) for text in texts]
        tokens = [sum(len(word) * count for word, count in text.items()) for text in development]

        def need(language: int, tokens: Sequence[int] = tokens) -> tuple[bool, Fraction, int]:
            is_over = rules.window > 0 and taken.count(language) > rules.most_taken
            return is_over, -Fraction(tokens[language], rules.divisors[language]), language

        if step < rules.global_merges:
            chosen = [(GLOBAL, best(sum(counts, Counter[Pair]())))]
        else:
            in_need = sorted(range(len(development)), key=need)
            chosen = [(language, best(counts[language])) for language in in_need]
        found = [(language, pair) for language, pair in (chosen if passes_over else chosen[:1]) if pair]
        if not found:
            return
        (language, pair), *_ = found
        if language != GLOBAL:
            taken.append(language)
        yield pair, sum(each[pair] for each in counts), language
        made = make(pair)
        texts = [{merge_pair(word, pair, made): count for word, count in text.items()} for text in texts]
        development = [
            {merge_pair(word, pair, made): count for word, count in text.items()} for text in development
        ]
        step += 1
