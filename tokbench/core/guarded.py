"""Encoding of texts in which only some ranges may contain control tokens.

A control token is a token that gives a text its structure: a special token, or an added one such as `<tool_call>`.
If control tokens were recognized in the whole text, the author of any part could write them, too. Here they are
recognized only where every character is in a trusted range; elsewhere their text stays text, and each such place is
reported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from tokbench.core.alternatives import longest_first
from tokbench.core.special_tokens import WHITE_SPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tokbench.core.descriptions import TokenFlags
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.tokens import EncodedSpans

_MOST_STRETCHES = 4096
"""The most trusted stretches whose tokens are cached: templates have few, unless they write times or numbers."""


class ControlToken(NamedTuple):
    """A control token in a text: characters `start` to `stop`, including the white space that it absorbs."""

    start: int
    stop: int
    token: str


class Refused(NamedTuple):
    """The text of a control token outside the trusted ranges, where it is not recognized.

    Attributes:
        text: the index of the text.
        start: its first character there.
        stop: the character after it.
        token: the control token with this text.
    """

    text: int
    start: int
    stop: int
    token: str


@dataclass(frozen=True, slots=True)
class GuardedTexts:
    """Texts that were encoded with trusted ranges.

    Attributes:
        spans: their tokens; control tokens have the kind SPECIAL.
        refused: every place outside the trusted ranges that has the text of a control token, in order.
    """

    spans: EncodedSpans
    refused: tuple[Refused, ...]


@runtime_checkable
class GuardsControlTokens(Protocol):
    """A tokenizer that recognizes control tokens only in trusted ranges.

    The function `encode_guarded` works for any tokenizer.
    """

    @property
    def control_tokens(self) -> Mapping[str, int]:
        """The tokens that give a text its structure, special and other added tokens, text → id."""

    def encode_guarded(
        self,
        texts: Sequence[str],
        trusted: Sequence[Sequence[tuple[int, int]]],
        *,
        threads: int | None = None,
    ) -> GuardedTexts:
        """Encode texts, recognizing control tokens only in the trusted character ranges of each text."""


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The cached facts about a stretch of trusted text.

    Attributes:
        tokens: its control tokens.
        needles: the number of needles (beginnings of control tokens) in it.
        is_closed: whether no control token can begin in it and end after it.
    """

    tokens: tuple[ControlToken, ...]
    needles: int
    is_closed: bool


class ControlTokenGuard:
    """Finds control tokens in trusted ranges, and the texts of control tokens elsewhere.

    Args:
        tokens: the texts of the control tokens.
        flags: control token → its flags; only `lstrip` and `rstrip` are respected.
        recognize: finds the control tokens of a trusted stretch of text; by default the leftmost, and the longest of
            several that begin at the same character.

    >>> guard = ControlTokenGuard(["<|end|>"])
    >>> guard.find("<|end|> a <|end|>", [(0, 7)])
    ([(0, 7, '<|end|>')], [(10, 17, '<|end|>')])
    """

    def __init__(
        self,
        tokens: Iterable[str],
        *,
        flags: Mapping[str, TokenFlags] | None = None,
        recognize: Callable[[str], Iterable[ControlToken]] | None = None,
    ) -> None:
        self.tokens = tuple(sorted(tokens, key=len, reverse=True))
        self._pattern = re.compile(longest_first(self.tokens)) if self.tokens else None
        self._recognize = recognize or self._matches
        self._lstrip_tokens = {text for text, token_flags in (flags or {}).items() if token_flags.lstrip}
        self._rstrip_tokens = {text for text, token_flags in (flags or {}).items() if token_flags.rstrip}
        self._needles = tuple({_needle(token) for token in self.tokens})
        self._beginnings = tuple({token[:size] for token in self.tokens for size in range(1, len(token))})
        self._stretches: dict[str, _Stretch] = {}

    def find(
        self, text: str, trusted: Sequence[tuple[int, int]]
    ) -> tuple[list[tuple[int, int, str]], list[tuple[int, int, str]]]:
        """Find the control tokens of a text.

        Args:
            text: the text.
            trusted: the character ranges that may contain control tokens; in order, and not adjacent to one another.

        Returns:
            The tokens in the ranges, including the white space that they absorb, and the texts of control tokens that
            are not within one range. Both as start, stop, token.
        """
        found: list[tuple[int, int, str]] = []
        needles, is_closed = 0, True
        for start, stop in trusted:
            stretch = self._stretch(text[start:stop])
            needles += stretch.needles
            is_closed &= stretch.is_closed
            for first, last, token in stretch.tokens:
                found.append((first + start, last + start, token))
        # No token begins outside, and no token that begins inside can extend outside: there is nothing to refuse.
        is_clean = is_closed and sum(map(text.count, self._needles)) == needles
        refused = [] if is_clean else self._untrusted_matches(text, trusted)
        if self._lstrip_tokens or self._rstrip_tokens:
            found = self._with_white_space(found, text)
        return found, refused

    def _stretch(self, text: str) -> _Stretch:
        known = self._stretches.get(text)
        if known is None:
            if len(self._stretches) >= _MOST_STRETCHES:
                self._stretches.clear()
            known = self._stretches[text] = _Stretch(
                tokens=tuple(self._recognize(text)),
                needles=sum(map(text.count, self._needles)),
                is_closed=not text.endswith(self._beginnings),
            )
        return known

    def _matches(self, text: str) -> Iterable[ControlToken]:
        if self._pattern is None:
            return ()
        return (ControlToken(*match.span(), match.group()) for match in self._pattern.finditer(text))

    def _untrusted_matches(self, text: str, trusted: Sequence[tuple[int, int]]) -> list[tuple[int, int, str]]:
        """Return the token texts that are not within one trusted range; texts inside a longer one are left out."""
        places: list[tuple[int, int, str]] = []
        for token in self.tokens:
            start = text.find(token)
            while start >= 0:
                stop = start + len(token)
                if not any(first <= start and stop <= last for first, last in trusted):
                    places.append((start, stop, token))
                start = text.find(token, start + 1)
        places.sort(key=lambda place: (place[0], -place[1]))
        outermost: list[tuple[int, int, str]] = []
        for place in places:
            if not outermost or place[1] > outermost[-1][1]:
                outermost.append(place)
        return outermost

    def _with_white_space(
        self, found: Sequence[tuple[int, int, str]], text: str
    ) -> list[tuple[int, int, str]]:
        """Extend the tokens by the white space that they absorb; between two tokens the first one takes it."""
        extended: list[tuple[int, int, str]] = []
        end = 0
        for number, (start, stop, token) in enumerate(found):
            following = found[number + 1][0] if number + 1 < len(found) else len(text)
            if token in self._lstrip_tokens:
                while start > end and text[start - 1] in WHITE_SPACE:
                    start -= 1  # noqa: PLW2901 -- the token grows
            if token in self._rstrip_tokens:
                while stop < following and text[stop] in WHITE_SPACE:
                    stop += 1  # noqa: PLW2901
            extended.append((start, stop, token))
            end = stop
        return extended


def _needle(token: str) -> str:
    """Return the beginning of a token that is searched for first; it never overlaps itself, so it can be counted."""
    return token[:2] if len(token) > 1 and token[0] != token[1] else token[:1]


def is_control(text: str, *, special: bool) -> bool:
    """Whether an added token gives a text its structure.

    Every special token does. Other added tokens do unless they consist of white space or word characters, which some
    vocabularies add to encode them as one token: such text also occurs in content.

    >>> is_control("<tool_call>", special=False), is_control("    ", special=False)
    (True, False)
    """
    return special or not all(
        character.isalnum() or character.isspace() or character in "_▁" for character in text
    )


def control_tokens(tokenizer: Tokenizer) -> Mapping[str, int]:
    """Return the control tokens of a tokenizer, text → id: its special tokens, unless it defines others."""
    if isinstance(tokenizer, GuardsControlTokens):
        return tokenizer.control_tokens
    return tokenizer.info.special_tokens


def encode_guarded(
    tokenizer: Tokenizer,
    texts: Sequence[str],
    trusted: Sequence[Sequence[tuple[int, int]]],
    *,
    threads: int | None = None,
) -> GuardedTexts:
    r"""Encode texts, recognizing control tokens only in trusted ranges.

    Where no text outside looks like a control token, the ids are those of `encode` under `SpecialPolicy.ENCODE`.

    Args:
        tokenizer: any tokenizer.
        texts: the texts.
        trusted: for each text the character ranges that may contain control tokens; in order, and not adjacent.
        threads: None takes every processor; the result does not depend on it.

    Raises:
        TextError: a text holds a lone surrogate.

    Usage:

        encode_guarded(tokenizer, ["<|im_start|>user\nHi"], [[(0, 17)]]).spans.encoded.ids
    """
    if isinstance(tokenizer, GuardsControlTokens):
        return tokenizer.encode_guarded(texts, trusted, threads=threads)
    guard = ControlTokenGuard(tokenizer.info.special_tokens)
    return encode_between(tokenizer, texts, trusted, guard=guard, threads=threads)


def encode_between(
    tokenizer: Tokenizer,
    texts: Sequence[str],
    trusted: Sequence[Sequence[tuple[int, int]]],
    *,
    guard: ControlTokenGuard,
    ids: Mapping[str, int] | None = None,
    encode: Callable[[Sequence[str]], EncodedSpans] | None = None,
    threads: int | None = None,
) -> GuardedTexts:
    """Implement `encode_guarded` for a tokenizer that encodes each text between two control tokens by itself.

    Args:
        tokenizer: the tokenizer.
        texts: the texts.
        trusted: as for `encode_guarded`.
        guard: finds the control tokens.
        ids: text → id of the control tokens; by default the tokenizer's special tokens.
        encode: encodes texts without control tokens; by default `encode_spans` of the tokenizer.
        threads: None takes every processor.
    """
    from tokbench.core.guarded_arrays import PartedTexts
    from tokbench.core.token_arrays import encode_spans

    parted = PartedTexts(tokenizer.info.special_tokens if ids is None else ids)
    refused: list[Refused] = []
    for number, (text, ranges) in enumerate(zip(texts, trusted, strict=True)):
        found, outside = guard.find(text, ranges)
        refused.extend(Refused(number, *place) for place in outside)
        parted.add(text, found)
    between = (
        encode_spans(tokenizer, parted.ordinary, threads=threads)
        if encode is None
        else encode(parted.ordinary)
    )
    return GuardedTexts(parted.joined(between), tuple(refused))
