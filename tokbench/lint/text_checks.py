"""Checks of a text for characters and special tokens that are dangerous for a tokenizer."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import regex

from tokbench.core.alternatives import longest_first
from tokbench.core.wording import quoted
from tokbench.lint.findings import Severity
from tokbench.lint.hidden_characters import (
    BIDI,
    JOINERS,
    LOOK_ALIKES,
    TAGS,
    ZERO_WIDTH,
    code_point,
    drawn_as,
    is_control,
    looks_latin,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_HIDDEN = re.compile(f"[{''.join(map(re.escape, sorted((ZERO_WIDTH - JOINERS) | BIDI | TAGS)))}]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
# Without the look-behind, a match would be tried from each space of a long run.
_TRAILING = re.compile(r"(?<![ \t\u00a0\u3000])[ \t\u00a0\u3000]++(?=\r?\n|\Z)")
_JOINER_IN_LATIN = re.compile("(?<=[A-Za-z<|_/\\[])[\u200c\u200d]|[\u200c\u200d](?=[A-Za-z>|_/\\]])")
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
_CLUSTER = regex.compile(r"[^\x00-\x7f]\p{M}*|[\x00-\x7f]\p{M}+")
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile("[A-Za-z]")
_LISTED = 6
_SHORTEST = 3
"""Minimum length of special tokens and words whose look-alikes are searched for."""


@dataclass(frozen=True, slots=True)
class Danger:
    """A dangerous character or special token in a text.

    Attributes:
        check: the kind of danger, such as "invisible-character".
        severity: its severity.
        start: index of its first character.
        end: index after its last character.
        evidence: the observation in a few words.
    """

    check: str
    severity: Severity
    start: int
    end: int
    evidence: str


class TextChecks:
    """The checks of texts for one tokenizer.

    Args:
        special_tokens: the texts of its special tokens.
    """

    def __init__(self, special_tokens: Iterable[str]) -> None:
        self._tokens = sorted({token for token in special_tokens if token.strip()}, key=len, reverse=True)
        self._exact = re.compile(longest_first(self._tokens)) if self._tokens else None
        self._drawn = {
            _drawn(token): token
            for token in reversed(self._tokens)
            if len(token) >= _SHORTEST and not token.replace(" ", "").isalnum()
        }
        self._alike = re.compile(longest_first(self._drawn)) if self._drawn else None

    def dangers(self, text: str) -> Iterator[Danger]:
        """Yield the dangers in a text, check by check."""
        for check in (
            self._special_tokens,
            self._look_alikes,
            _hidden,
            _controls,
            _replacements,
            _normal_forms,
            _homoglyphs,
            _trailing_spaces,
        ):
            yield from check(text)

    def _special_tokens(self, text: str) -> Iterator[Danger]:
        for match in self._exact.finditer(text) if self._exact else ():
            yield _danger("special-token", match.span(), f"it contains {match.group()}")

    def _look_alikes(self, text: str) -> Iterator[Danger]:
        """Yield texts that look like a special token but differ in letters, case or hidden characters."""
        if self._alike is None:
            return
        drawn, places = _drawn_with_places(text)
        for match in self._alike.finditer(drawn):
            start, end = places[match.start()], places[match.end() - 1] + 1
            found, token = text[start:end], self._drawn[match.group()]
            if found == token or (self._exact is not None and self._exact.fullmatch(found)):
                continue
            severity = Severity.NOTE if found.lower() == token.lower() else Severity.ERROR
            yield Danger(
                "special-token-look-alike", severity, start, end, f"{quoted(found)} looks like {token}"
            )


def _danger(check: str, span: tuple[int, int], evidence: str, severity: Severity = Severity.ERROR) -> Danger:
    return Danger(check, severity, *span, evidence)


def _drawn(text: str) -> str:
    return "".join(map(drawn_as, text))


def _drawn_with_places(text: str) -> tuple[str, range | list[int]]:
    """Return a text as it looks, and for each of its characters the index of the original one."""
    if text.isascii():
        return text.lower(), range(len(text))
    characters, places = [], []
    for place, character in enumerate(text):
        for drawn in drawn_as(character):
            characters.append(drawn)
            places.append(place)
    return "".join(characters), places


def _hidden(text: str) -> Iterator[Danger]:
    if text.isascii():
        return
    in_flags = {place for match in _FLAG.finditer(text) for place in range(*match.span())}
    for match in _HIDDEN.finditer(text):
        character, place = match.group(), match.start()
        if place in in_flags:
            continue
        if character in TAGS:
            check, severity = "hidden-text", Severity.ERROR
        elif character in BIDI:
            marks = character in "\u061c\u200e\u200f"
            check, severity = "direction-mark", Severity.NOTE if marks else Severity.WARNING
        else:
            check, severity = "invisible-character", Severity.WARNING
        yield _danger(check, match.span(), code_point(character), severity)
    for match in _JOINER_IN_LATIN.finditer(text):
        yield _danger("invisible-character", match.span(), code_point(match.group()), Severity.WARNING)


def _controls(text: str) -> Iterator[Danger]:
    for match in _CONTROL.finditer(text):
        if is_control(match.group()):
            yield _danger("control-character", match.span(), code_point(match.group()), Severity.WARNING)


def _replacements(text: str) -> Iterator[Danger]:
    for match in re.finditer("\ufffd+", text):
        yield _danger("replacement-character", match.span(), "text was lost in decoding", Severity.WARNING)


def _normal_forms(text: str) -> Iterator[Danger]:
    """Yield the first character that occurs both in NFC and in another form, else the first that is not in NFC."""
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return
    composed: set[str] = set()
    others: dict[str, tuple[int, int]] = {}
    for match in _CLUSTER.finditer(text):
        cluster = match.group()
        form = unicodedata.normalize("NFC", cluster)
        if form == cluster:
            composed.add(form)
        else:
            others.setdefault(form, match.span())
    mixed = [form for form in others if form in composed]
    form = (mixed or list(others) or [""])[0]
    start, end = others.get(form, (0, len(text)))
    if mixed:
        evidence = f"{quoted(form)} also occurs as {quoted(text[start:end])}"
        yield _danger("mixed-normal-forms", (start, end), evidence, Severity.WARNING)
    else:
        yield _danger("not-nfc", (start, end), f"{quoted(text[start:end])} is not in NFC", Severity.NOTE)


def _homoglyphs(text: str) -> Iterator[Danger]:
    """Yield words that mix Latin letters with letters that look Latin, and with no other letters.

    If a text has Latin letters and all of its other words look Latin, words of look-alikes only are reported as well.
    """
    if text.isascii():
        return
    disguised: list[tuple[re.Match[str], list[str]]] = []
    has_others = False
    for match in _WORD.finditer(text):
        word = match.group()
        if word.isascii():
            continue
        others = [letter for letter in word if not letter.isascii() and not _is_latin(letter)]
        if not others:
            continue
        if not all(map(looks_latin, others)):
            has_others = True
        elif _LATIN.search(word):
            yield _homoglyph(match, others, "mixes Latin with")
        elif len(word) >= _SHORTEST and len(others) == len(word) and others[0] in LOOK_ALIKES:
            disguised.append((match, others))
    if not has_others and _LATIN.search(text):
        for match, others in disguised:
            yield _homoglyph(match, others, "looks Latin, and has")


def _homoglyph(match: re.Match[str], others: list[str], what: str) -> Danger:
    shown = ", ".join(map(code_point, sorted(set(others))[:_LISTED]))
    evidence = f"{quoted(match.group())} {what} {shown}"
    return _danger("homoglyph", match.span(), evidence, Severity.WARNING)


@lru_cache(maxsize=4096)
def _is_latin(letter: str) -> bool:
    return unicodedata.name(letter, "").startswith("LATIN ")


def _trailing_spaces(text: str) -> Iterator[Danger]:
    for match in _TRAILING.finditer(text):
        at_end = match.end() == len(text)
        where = "the text" if at_end else "a line"
        severity = Severity.WARNING if at_end else Severity.NOTE
        yield _danger("trailing-space", match.span(), f"{where} ends with {quoted(match.group())}", severity)


REMEDIES = {
    "special-token": "Encode special tokens in the text as ordinary text, or leave the document out.",
    "special-token-look-alike": "Leave the document out, or clean it: normalization can turn it into the token.",
    "hidden-text": "Remove it: a model reads tag characters that nobody sees.",
    "direction-mark": "Remove it outside of right-to-left text.",
    "invisible-character": "Remove it: a word with it is encoded differently than without.",
    "control-character": "Remove it, and check whether the file is text.",
    "replacement-character": "Decode the original again with its actual encoding.",
    "not-nfc": "Normalize to NFC: the same text has different tokens in each form.",
    "mixed-normal-forms": "Normalize to NFC: the same text has different tokens in each form.",
    "homoglyph": "Replace the letters with those of the word's own script.",
    "trailing-space": "Strip it: after a space at the end, the next word cannot be encoded as its usual token.",
}
"""Check → what to do about its findings."""
