"""The reference of counting: the definition that the compiled kernel must match.

Each run of a document (`text_runs.py`) is compared with the tokens that touch it, and counted as defined in
`metric.py`. The code is meant to be simple, not fast.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from tokbench.core.tokens import Span
from tokbench.metrics.metric import COUNTS
from tokbench.metrics.text_runs import (
    IDENTIFIER,
    LANGUAGE,
    Character,
    CharacterClass,
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
"""Kinds of tokens: indices in `TokenKind`, NORMAL, BYTE, UNKNOWN, SPECIAL."""

# --- tokens -----------------------------------------------------------------------------------


class Tokens:
    """The token spans of a document, for queries about their relation to a run.

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
        """Return the tokens that share a byte with a run, as indices among the tokens that are not empty."""
        return range(bisect_right(self._stops, run.start), bisect_left(self._starts, run.stop))

    def only(self, run: Span) -> Span | None:
        """Return the only token that touches the run; None if there is none or several."""
        touching = self.touching(run)
        return self._filled[touching[0]] if len(touching) == 1 else None

    def boundaries_inside(self, run: Span) -> list[int]:
        """Return the positions strictly inside a run where a token starts or stops, without duplicates."""
        first = bisect_right(self._boundaries, run.start)
        return self._boundaries[first : bisect_left(self._boundaries, run.stop)]


# --- counting ---------------------------------------------------------------------------------


class Measures(NamedTuple):
    """The counts of one document.

    Attributes:
        counts: each of `COUNTS`.
        words: the bytes of each word, and the number of tokens that touch it.
        numbers: the digits of each number, and the number of tokens that touch it.
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
        spans: the spans of its tokens: starts and stops never decrease; tokens may be empty, leave gaps and cut
            characters.
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
    """Count the characters of the language, and those within a single token that is neither UNKNOWN nor BYTE.

    White space, controls, punctuation and symbols are left out: they are not part of a language, and their tokens
    show how a tokenizer treats layout. A character that is cut over tokens is not covered, whether these are fallback
    bytes or tokens of a byte-level vocabulary.
    """
    whole = [span for span, kind in zip(spans, kinds, strict=True) if kind not in {BYTE, UNKNOWN}]
    of_language = [character for character in text if character.kind in LANGUAGE]
    covered = 0
    for character in of_language:
        last = bisect_right(whole, character.start, key=lambda span: span.start) - 1
        # No token before the last one that begins here or earlier extends farther.
        covered += last >= 0 and whole[last].stop >= character.stop
    return {"language_chars": len(of_language), "covered_chars": covered}


def _count_words(text: Sequence[Character], tokens: Tokens) -> Counts:
    word_runs = list(words(text))
    return {
        "words": len(word_runs),
        "unspaced_words": sum(word[0].kind == CharacterClass.UNSPACED for word in word_runs),
        "split_words": sum(len(tokens.touching(_span(word))) > 1 for word in word_runs),
    }


def _count_numbers(text: Sequence[Character], tokens: Tokens) -> Counts:
    number_runs = list(numbers(text))
    short = [_span(number) for number in number_runs if len(number) <= 3]
    cuts = [{*tokens.boundaries_inside(_span(number))} for number in number_runs]
    boundaries = [digit_boundaries(number) for number in number_runs]
    return {
        "numbers": len(number_runs),
        "short_numbers": len(short),
        "whole_short_numbers": sum(_is_alone(text, run, tokens, may_go_on=False) for run in short),
        "number_tokens": sum(len(tokens.touching(_span(number))) for number in number_runs),
        "digit_boundaries": sum(map(len, boundaries)),
        "digit_cuts": sum(map(len, cuts)),
        "digit_hits": sum(len(expected & cut) for expected, cut in zip(boundaries, cuts, strict=True)),
    }


def _is_alone(text: Sequence[Character], run: Span, tokens: Tokens, *, may_go_on: bool) -> bool:
    """Whether one token contains the run, and otherwise only white space before it (and after it, if `may_go_on`)."""
    token = tokens.only(run)
    if token is None or token.start > run.start or token.stop < run.stop:
        return False
    room = white_space_around(text, run)
    return token.start >= room.start and token.stop <= (room.stop if may_go_on else run.stop)


def _count_identifiers(document: bytes, word_spans: Sequence[Span], tokens: Tokens) -> Counts:
    identifiers = [span for span in word_spans if IDENTIFIER.fullmatch(document[slice(*span)])]
    counts = {
        "identifiers": len(identifiers),
        "identifier_boundaries": 0,
        "identifier_cuts": 0,
        "identifier_hits": 0,
    }
    for span in identifiers:
        cuts = {position - span.start for position in tokens.boundaries_inside(span)}
        boundaries = identifier_boundaries(document[slice(*span)])
        counts["identifier_boundaries"] += len(boundaries)
        counts["identifier_cuts"] += len(cuts)
        counts["identifier_hits"] += sum(not position.isdisjoint(cuts) for position in boundaries)
    return counts


def _count_operators(document: bytes, text: Sequence[Character], tokens: Tokens) -> Counts:
    operator_spans = list(operators(document))
    isolated = [span for span in operator_spans if _is_alone(text, span, tokens, may_go_on=True)]
    return {"operators": len(operator_spans), "isolated_operators": len(isolated)}


def _count_indentation(document: bytes, tokens: Tokens) -> Counts:
    indented = list(indentations(document))
    return {
        "indented_lines": len(indented),
        "indentation_chars": sum(span.length for span in indented),
        "indentation_tokens": sum(len(tokens.touching(span)) for span in indented),
    }
