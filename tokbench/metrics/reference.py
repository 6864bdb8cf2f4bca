"""Counting by the textbook: the definition that the compiled kernel must equal.

Each run of a document (`text_runs.py`) is held against the tokens that touch it, and counted as
`counts.py` defines. Nothing here is fast, and nothing is clever.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from tokbench.core.tokens import Span
from tokbench.metrics.character_classes import CharacterClass
from tokbench.metrics.counts import COUNTS
from tokbench.metrics.text_runs import (
    IDENTIFIER,
    LANGUAGE,
    Character,
    characters,
    digit_boundaries,
    identifier_boundaries,
    indentations,
    numbers,
    operators,
    white_space_around,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Counts = dict[str, int]

BYTE, UNKNOWN = 1, 2
"""Kinds of tokens: positions in `TokenKind`, NORMAL, BYTE, UNKNOWN, SPECIAL."""

# --- tokens -----------------------------------------------------------------------------------


class Tokens:
    """The token spans of a document, to be asked how they stand to a run.

    >>> tokens = Tokens([Span(0, 3), Span(3, 3), Span(4, 8)])
    >>> len(tokens.touching(Span(2, 5))), tokens.boundaries_inside(Span(0, 8))
    (2, [3, 4])
    """

    def __init__(self, spans: Sequence[Span]) -> None:
        self._filled = [span for span in spans if span.length]
        self._starts = [span.start for span in self._filled]
        self._stops = [span.stop for span in self._filled]
        self._boundaries = sorted({position for span in spans for position in span})

    def touching(self, run: Span) -> range:
        """The tokens that share a byte with a run, as numbers among those that are not empty."""
        return range(bisect_right(self._stops, run.start), bisect_left(self._starts, run.stop))

    def only(self, run: Span) -> Span | None:
        """The token that touches the run, if it is one alone."""
        touching = self.touching(run)
        return self._filled[touching[0]] if len(touching) == 1 else None

    def boundaries_inside(self, run: Span) -> list[int]:
        """The positions strictly inside a run where a token starts or stops, each once."""
        first = bisect_right(self._boundaries, run.start)
        return self._boundaries[first : bisect_left(self._boundaries, run.stop)]


# --- counting ---------------------------------------------------------------------------------


class Measures(NamedTuple):
    """What was counted in one document.

    Attributes:
        counts: each of `COUNTS`.
        words: each word's bytes, and how many tokens touch it.
        numbers: how many digits each number has, and how many tokens touch it.
    """

    counts: Counts
    words: list[tuple[bytes, int]]
    numbers: list[tuple[int, int]]


def measure(
    document: bytes,
    spans: Sequence[Span],
    kinds: Sequence[int],
    classes: bytes | NDArray[np.uint8] | None = None,
) -> Measures:
    """Count everything in one document.

    Args:
        document: its bytes.
        spans: the positions of its tokens: starts and stops never decrease; they may be empty, leave gaps
            and cut characters.
        kinds: the kind of each token: 0 NORMAL, 1 BYTE, 2 UNKNOWN, 3 SPECIAL.
        classes: as for `characters`.

    >>> measure(b"tokens tokenize", [Span(0, 6), Span(6, 12), Span(12, 15)], [0, 0, 0]).words
    [(b'tokens', 1), (b'tokenize', 2)]
    """
    text = characters(document, classes)
    tokens = Tokens(spans)
    word_spans = [_span(word) for word in words(text)]
    number_runs = list(numbers(text))
    counts = dict.fromkeys(COUNTS, 0)
    counts |= _count_tokens(spans, kinds)
    counts["uncovered_bytes"] += sum(
        span.stop - span.start for span in word_spans if not tokens.touching(span)
    )
    counts |= _count_characters(document, text, tokens)
    counts |= _count_language(text, spans, kinds)
    counts |= _count_words(text, tokens)
    counts |= _count_numbers(text, tokens)
    counts |= _count_identifiers(document, word_spans, tokens)
    counts |= _count_operators(document, text, tokens)
    counts |= _count_indentation(document, tokens)
    return Measures(
        counts,
        words=[(document[slice(*word)], len(tokens.touching(word))) for word in word_spans],
        numbers=[(len(number), len(tokens.touching(_span(number)))) for number in number_runs],
    )


def _span(run: Sequence[Character]) -> Span:
    return Span(run[0].start, run[-1].stop)


def _count_tokens(spans: Sequence[Span], kinds: Sequence[int]) -> Counts:
    uncovered = [span for span, kind in zip(spans, kinds, strict=True) if kind in {BYTE, UNKNOWN}]
    reached = accumulate((span.stop for span in uncovered), max, initial=0)
    return {
        "tokens": len(spans),
        "unknown_tokens": sum(kind == UNKNOWN for kind in kinds),
        "fallback_tokens": sum(kind == BYTE for kind in kinds),
        "uncovered_bytes": sum(
            max(0, span.stop - max(span.start, before))
            for span, before in zip(uncovered, reached, strict=False)
        ),
    }


def _count_characters(document: bytes, text: Sequence[Character], tokens: Tokens) -> Counts:
    multibyte = [_span([character]) for character in text if character.stop - character.start > 1]
    return {
        "bytes": len(document),
        "chars": len(text),
        "lines": document.count(b"\n") + (document != b"" and not document.endswith(b"\n")),
        "multibyte_chars": len(multibyte),
        "cut_chars": sum(tokens.boundaries_inside(span) != [] for span in multibyte),
    }


def _count_language(text: Sequence[Character], spans: Sequence[Span], kinds: Sequence[int]) -> Counts:
    """Characters of the language, and those that a token which is neither unknown nor a byte holds whole.

    White space, controls, punctuation and symbols are left out: they are not part of a language, and what becomes
    of them says how a tokenizer treats layout. A character that is cut over tokens is not covered, whether
    these are fallback bytes or tokens of a byte-level vocabulary.
    """
    whole = [span for span, kind in zip(spans, kinds, strict=True) if kind not in {BYTE, UNKNOWN}]
    of_language = [character for character in text if character.kind in LANGUAGE]
    covered = 0
    for character in of_language:
        last = bisect_right(whole, character.start, key=lambda span: span.start) - 1
        # No token before the last one that begins here or earlier reaches farther.
        covered += last >= 0 and whole[last].stop >= character.stop
    return {"language_chars": len(of_language), "covered_chars": covered}


def _count_words(text: Sequence[Character], tokens: Tokens) -> Counts:
    found = list(words(text))
    return {
        "words": len(found),
        "unspaced_words": sum(word[0].kind == CharacterClass.UNSPACED for word in found),
        "split_words": sum(len(tokens.touching(_span(word))) > 1 for word in found),
    }


def _count_numbers(text: Sequence[Character], tokens: Tokens) -> Counts:
    found = list(numbers(text))
    short = [_span(number) for number in found if len(number) <= 3]
    cuts = [{*tokens.boundaries_inside(_span(number))} for number in found]
    wanted = [digit_boundaries(number) for number in found]
    return {
        "numbers": len(found),
        "short_numbers": len(short),
        "whole_short_numbers": sum(_is_alone(text, run, tokens, may_go_on=False) for run in short),
        "number_tokens": sum(len(tokens.touching(_span(number))) for number in found),
        "digit_boundaries": sum(map(len, wanted)),
        "digit_cuts": sum(map(len, cuts)),
        "digit_hits": sum(len(each & cut) for each, cut in zip(wanted, cuts, strict=True)),
    }


def _is_alone(text: Sequence[Character], run: Span, tokens: Tokens, *, may_go_on: bool) -> bool:
    """Whether one token holds the run, and else only white space before it (and after it, where it may go on)."""
    token = tokens.only(run)
    if token is None or token.start > run.start or token.stop < run.stop:
        return False
    room = white_space_around(text, run)
    return token.start >= room.start and token.stop <= (room.stop if may_go_on else run.stop)


def _count_identifiers(document: bytes, word_spans: Sequence[Span], tokens: Tokens) -> Counts:
    found = [span for span in word_spans if IDENTIFIER.fullmatch(document[slice(*span)])]
    counts = {
        "identifiers": len(found),
        "identifier_boundaries": 0,
        "identifier_cuts": 0,
        "identifier_hits": 0,
    }
    for span in found:
        cuts = {position - span.start for position in tokens.boundaries_inside(span)}
        wanted = identifier_boundaries(document[slice(*span)])
        counts["identifier_boundaries"] += len(wanted)
        counts["identifier_cuts"] += len(cuts)
        counts["identifier_hits"] += sum(not position.isdisjoint(cuts) for position in wanted)
    return counts


def _count_operators(document: bytes, text: Sequence[Character], tokens: Tokens) -> Counts:
    found = list(operators(document))
    isolated = [span for span in found if _is_alone(text, span, tokens, may_go_on=True)]
    return {"operators": len(found), "isolated_operators": len(isolated)}


def _count_indentation(document: bytes, tokens: Tokens) -> Counts:
    found = list(indentations(document))
    return {
        "indented_lines": len(found),
        "indentation_chars": sum(span.length for span in found),
        "indentation_tokens": sum(len(tokens.touching(span)) for span in found),
    }
