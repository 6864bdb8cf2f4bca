"""The reference implementation of parity-aware BPE: the definition that the faster implementations must equal.

Plain BPE merges the most frequent pair of all text together, so languages with much text get most of the tokens. Here
each merge is learned for one language: the one that needs the most tokens for its development text, which is a
translation of the same text in every language. The most frequent pair of that language's training text is merged, in
the words of all languages.

Source: Foroutan et al. (2025), https://arxiv.org/abs/2508.04796. `train_as_published` learns the same merges as the
authors' program. `train_for_parity` differs in three ways: ties go to the smallest ids, as everywhere in tokbench; a
language without any pair left is skipped, while the program ends; and text may belong to no language, and then
counts only for the global merges.
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
"""The language number of a merge that was chosen for all text together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityRules:
    """How the language of a merge is chosen.

    Attributes:
        global_merges: the number of merges that are learned first, as in plain BPE.
        divisors: for each language the number by which its token count is divided before the comparison.
        window: the number of latest choices that are considered; 0 for none.
        most_taken: a language that was chosen more often in the window comes after all others.
    """

    global_merges: int = 0
    divisors: tuple[int, ...]
    window: int = 0
    most_taken: int = 0


class ParityMerge(NamedTuple):
    """A merge with its count in all text, and the number of the language for which it was chosen, or `GLOBAL`."""

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
        languages: the pre-tokens of each language with their counts, followed by those of other text.
        development: the pre-tokens of the development text of each language with their counts.
        num_merges: the number of merges to learn; fewer are learned if pairs run out.
        rules: how the language of a merge is chosen.
        min_frequency: how often a pair must occur in the training text of its language.
        max_token_length: as for `reference.train`.

    Returns:
        The merges in order; merge i creates id 256 + i.

    The line has 4 bytes in the first language and 3 in the second. After the merge of its most frequent pair the first
    language needs 2 tokens, so the second language is next:

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
        allowed = {
            (left, right): count
            for (left, right), count in counts.items()
            if count >= min_frequency
            and (max_token_length is None or lengths[left] + lengths[right] <= max_token_length)
        }
        return most_frequent_pair(allowed) if allowed else None

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
    """Learn the merges of the authors' program: symbols are strings, and ties go to the greatest pair of strings.

    Args:
        languages: the words of each language with their counts, with one character for each byte.
        development: the words of each development text with their counts.
        num_merges: the maximal number of merges to learn.
        rules: how the language of a merge is chosen; in the program, `most_taken` is W·α/L for a window of W and L
            languages, and L is one higher if there are global merges.
        min_frequency: training ends if the most frequent pair of the chosen language is rarer.

    "ba" and "ab" are equally frequent, and "b" is greater than "a":

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
    """Yield each merge as (pair, count, language): `best` chooses the pair, `make` returns the new symbol."""
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
        possible = [(language, pair) for language, pair in (chosen if passes_over else chosen[:1]) if pair]
        if not possible:
            return
        (language, pair), *_ = possible
        if language != GLOBAL:
            taken.append(language)
        yield pair, sum(text_counts[pair] for text_counts in counts), language
        symbol = make(pair)
        texts = [{merge_pair(word, pair, symbol): count for word, count in text.items()} for text in texts]
        development = [
            {merge_pair(word, pair, symbol): count for word, count in text.items()} for text in development
        ]
        step += 1
