"""Counting by the textbook: the definition that the compiled kernel must equal.

Read it top to bottom. A document falls into characters; characters make up runs (words,
numbers, identifiers, operators, indentations); the tokens are asked how they stand to each
run. `counts.py` says what each count counts. Nothing here is fast, and nothing is clever.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, NamedTuple

from tokbench.core.tokens import Span
from tokbench.metrics.character_classes import CharacterClass, character_classes
from tokbench.metrics.counts import COUNTS, OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Counts = dict[str, int]

BYTE, UNKNOWN = 1, 2
"""Kinds of tokens: places in `TokenKind`, NORMAL, BYTE, UNKNOWN, SPECIAL."""

_CLASSES = tuple(CharacterClass)
_LETTERS = {CharacterClass.UPPER, CharacterClass.LOWER, CharacterClass.LETTER}
_WORD_STARTS = _LETTERS | {CharacterClass.DIGIT, CharacterClass.NUMBER, CharacterClass.UNDERSCORE}
_LANGUAGE = _LETTERS | {
    CharacterClass.UNSPACED,
    CharacterClass.MARK,
    CharacterClass.DIGIT,
    CharacterClass.NUMBER,
}
_WHITE_SPACE = {CharacterClass.SPACE, CharacterClass.NEWLINE}
_IDENTIFIER = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_IDENTIFIER_BOUNDARY = re.compile(
    rb"_+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
)
_OPERATOR = re.compile(b"|".join(map(re.escape, sorted(map(str.encode, OPERATORS), key=len, reverse=True))))


# --- characters -------------------------------------------------------------------------------


class Character(NamedTuple):
    """One character of a document: its place in bytes, its text and its class."""

    start: int
    stop: int
    text: str
    kind: CharacterClass


def characters(document: bytes, classes: bytes | NDArray[np.uint8] | None = None) -> list[Character]:
    """The characters of a document; a byte that belongs to none is one of class OTHER.

    Args:
        document: bytes, UTF-8 or not.
        classes: the class of each code point; None for `character_classes()`.

    >>> [(each.start, each.stop, each.kind.name) for each in characters("7é".encode() + bytes([255]))]
    [(0, 1, 'DIGIT'), (1, 3, 'LOWER'), (3, 4, 'OTHER')]
    """
    classes = character_classes() if classes is None else classes
    found = []
    start = 0
    for text in document.decode("utf-8", "surrogateescape"):
        is_stray = "\udc80" <= text <= "\udcff"
        stop = start + (1 if is_stray else len(text.encode()))
        kind = CharacterClass.OTHER if is_stray else _CLASSES[classes[ord(text)]]
        found.append(Character(start, stop, text, kind))
        start = stop
    return found


def is_white_space(document: bytes) -> bool:
    r"""Whether there is nothing else; so for no bytes at all.

    >>> is_white_space(b" \r\n"), is_white_space(b" .")
    (True, False)
    """
    return all(character.kind in _WHITE_SPACE for character in characters(document))


# --- runs -------------------------------------------------------------------------------------


def joins(before: CharacterClass, joiner: str, behind: CharacterClass) -> bool:
    """Whether a character holds a word together: an apostrophe between letters, a point between digits.

    >>> joins(CharacterClass.LOWER, "'", CharacterClass.LOWER), joins(CharacterClass.LOWER, ".", CharacterClass.LOWER)
    (True, False)
    """
    between_letters = before in _LETTERS and behind in _LETTERS
    between_digits = before == behind == CharacterClass.DIGIT
    return (joiner in "'\u2019\u00b7" and between_letters) or (joiner in ".," and between_digits)


def word_stop(text: Sequence[Character], first: int) -> int:
    """The index behind the last character of the word that begins with one.

    >>> word_stop(characters(b"don't!"), 0), word_stop(characters(b"dogs' tails"), 0)
    (5, 4)
    """
    is_unspaced = text[first].kind == CharacterClass.UNSPACED
    goes_on = {CharacterClass.MARK} if is_unspaced else _WORD_STARTS | {CharacterClass.MARK}
    base = text[first].kind  # of the last character that is no mark
    index = first + 1
    while index < len(text):
        kind = text[index].kind
        if kind in goes_on:
            base = base if kind == CharacterClass.MARK else kind
        elif index + 1 == len(text) or not joins(base, text[index].text, text[index + 1].kind):
            break
        index += 1
    return index


def words(text: Sequence[Character]) -> Iterator[Sequence[Character]]:
    """The words of a text, as UAX 29 finds them, without its dictionaries.

    A run of letters, marks, digits, numbers and underscores that begins with no mark; a letter of an
    unspaced script is one by itself, with the marks behind it.

    >>> ["".join(each.text for each in word) for word in words(characters("L'été: 1,000 m², 東京.".encode()))]
    ["L'été", '1,000', 'm²', '東', '京']
    """
    index = 0
    while index < len(text):
        if text[index].kind in _WORD_STARTS or text[index].kind == CharacterClass.UNSPACED:
            stop = word_stop(text, index)
            yield text[index:stop]
            index = stop
        else:
            index += 1


def numbers(text: Sequence[Character]) -> Iterator[Sequence[Character]]:
    """The maximal runs of decimal digits, also those inside words.

    >>> ["".join(each.text for each in number) for number in numbers(characters("v2: 1,234 ७".encode()))]
    ['2', '1', '234', '७']
    """
    for is_digit, run in groupby(text, key=lambda character: character.kind == CharacterClass.DIGIT):
        if is_digit:
            yield list(run)


def operators(document: bytes) -> Iterator[Span]:
    """The operators of two characters or more, the longest first.

    >>> [document[slice(*span)] for document in [b"a===b<-c=d"] for span in operators(document)]
    [b'===', b'<-']
    """
    for found in _OPERATOR.finditer(document):
        yield Span(*found.span())


def indentations(document: bytes) -> Iterator[Span]:
    r"""The spaces and tabs at the beginning of lines that hold more than white space.

    >>> list(indentations(b"if x:\n\ty\n  \r\n"))
    [Span(start=6, stop=7)]
    """
    start = 0
    for line in document.split(b"\n"):
        rest = line.lstrip(b" \t")
        if rest != line and not is_white_space(rest):
            yield Span(start, start + len(line) - len(rest))
        start += len(line) + 1


# --- boundaries that a tokenizer could be expected to have ------------------------------------


def digit_boundaries(number: Sequence[Character]) -> set[int]:
    """Where groups of three digits, counted from the right, would be cut.

    >>> digit_boundaries(characters(b"1234567"))
    {1, 4}
    """
    return {number[index].start for index in range(len(number) - 3, 0, -3)}


def identifier_boundaries(identifier: bytes) -> list[set[int]]:
    """Where the parts of an identifier meet: for each such boundary, the positions that hit it.

    A run of underscores is one, hit at either side of it that lies strictly inside the identifier.

    >>> identifier_boundaries(b"getUserName"), identifier_boundaries(b"HTTPServer")
    ([{3}, {7}], [{4}])
    >>> identifier_boundaries(b"snake_case2"), identifier_boundaries(b"__init__")
    ([{5, 6}, {10}], [{2}, {6}])
    """
    places = [{*found.span()} - {0, len(identifier)} for found in _IDENTIFIER_BOUNDARY.finditer(identifier)]
    return [place for place in places if place]


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


def white_space_around(text: Sequence[Character], run: Span) -> Span:
    """A run made longer by the white space at both sides of it.

    >>> white_space_around(characters(b"a ==  b"), Span(2, 4))
    Span(start=1, stop=6)
    """
    before = bisect_left(text, run.start, key=lambda character: character.start)
    behind = bisect_left(text, run.stop, key=lambda character: character.start)
    while before > 0 and text[before - 1].kind in _WHITE_SPACE:
        before -= 1
    while behind < len(text) and text[behind].kind in _WHITE_SPACE:
        behind += 1
    return Span(text[before].start, text[behind - 1].stop)


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
        spans: the places of its tokens: starts and stops never decrease; they may be empty, leave gaps
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

    White space, controls, punctuation and symbols are left out: they are no part of a language, and what becomes
    of them says how a tokenizer treats layout. A character that is cut over tokens is not covered, whether
    these are fallback bytes or entries of a byte-level vocabulary.
    """
    whole = [span for span, kind in zip(spans, kinds, strict=True) if kind not in {BYTE, UNKNOWN}]
    of_language = [character for character in text if character.kind in _LANGUAGE]
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
    """Whether one token holds the run, and else only white space before it (and behind it, where it may go on)."""
    token = tokens.only(run)
    if token is None or token.start > run.start or token.stop < run.stop:
        return False
    room = white_space_around(text, run)
    return token.start >= room.start and token.stop <= (room.stop if may_go_on else run.stop)


def _count_identifiers(document: bytes, word_spans: Sequence[Span], tokens: Tokens) -> Counts:
    found = [span for span in word_spans if _IDENTIFIER.fullmatch(document[slice(*span)])]
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
        counts["identifier_hits"] += sum(not place.isdisjoint(cuts) for place in wanted)
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
