"""Encode texts of which only some parts may hold control tokens.

A control token is a token that gives a text its structure: a special token, or an added one such as `<tool_call>`.
Recognizing them in a whole text lets whoever wrote a part of it write control tokens, too. Here they are recognized
only where every character is in a trusted range; elsewhere their text stays text, and each such place is reported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from tokbench.core.special_tokens import WHITE_SPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tokbench.core.descriptions import TokenFlags
    from tokbench.core.encoded import EncodedSpans
    from tokbench.core.interfaces import Tokenizer

_MOST_STRETCHES = 4096
"""Stretches of trusted text whose tokens are remembered: templates have few, unless they write times or numbers."""


class CharRange(NamedTuple):
    """A half-open range of characters of a text."""

    start: int
    stop: int


class ControlToken(NamedTuple):
    """A control token in a text: characters `start` to `stop`, white space that it takes included."""

    start: int
    stop: int
    token: str


class Refused(NamedTuple):
    """The text of a control token in content, where it is not recognized.

    Attributes:
        text: which of the texts has it.
        start: its first character there.
        stop: the character after it.
        token: the control token that it would have been.
    """

    text: int
    start: int
    stop: int
    token: str


@dataclass(frozen=True, slots=True)
class GuardedTexts:
    """Texts that were encoded under guard.

    Attributes:
        spans: their tokens; the kind of those that are control tokens is SPECIAL.
        refused: every place that has the text of a control token outside the trusted ranges, in order.
    """

    spans: EncodedSpans
    refused: tuple[Refused, ...]


@runtime_checkable
class GuardsControlTokens(Protocol):
    """A tokenizer that recognizes control tokens only where it is allowed to.

    `encode_guarded` asks any tokenizer.
    """

    @property
    def control_tokens(self) -> Mapping[str, int]:
        """The tokens that give a text its structure, special ones and others, text → id."""

    def encode_guarded(
        self,
        texts: Sequence[str],
        trusted: Sequence[Sequence[tuple[int, int]]],
        *,
        threads: int | None = None,
    ) -> GuardedTexts:
        """Encode texts, recognizing control tokens only in the trusted ranges of characters of each."""


@dataclass(frozen=True, slots=True)
class _Stretch:
    """What is known of a stretch of trusted text: its control tokens, and what the text around it must be held to."""

    tokens: tuple[ControlToken, ...]
    needles: int
    is_closed: bool


class ControlTokenGuard:
    """Finds control tokens in trusted ranges, and their texts elsewhere.

    Args:
        tokens: the texts of the control tokens.
        flags: control token → how it is found; only `lstrip` and `rstrip` are heeded.
        recognize: the control tokens of a trusted stretch of text; by default the leftmost, and the longest of
            two that begin together.

    >>> guard = ControlTokenGuard(["<|end|>"])
    >>> guard.find("<|end|> a <|end|>", [CharRange(0, 7)])
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
        self._pattern = re.compile("|".join(map(re.escape, self.tokens))) if self.tokens else None
        self._recognize = recognize or self._matches
        self._takes_before = {text for text, each in (flags or {}).items() if each.lstrip}
        self._takes_after = {text for text, each in (flags or {}).items() if each.rstrip}
        self._needles = tuple({_needle(token) for token in self.tokens})
        self._beginnings = tuple({token[:size] for token in self.tokens for size in range(1, len(token))})
        self._stretches: dict[str, _Stretch] = {}

    def find(
        self, text: str, trusted: Sequence[tuple[int, int]]
    ) -> tuple[list[tuple[int, int, str]], list[tuple[int, int, str]]]:
        """The control tokens of a text.

        Args:
            text: the text.
            trusted: the ranges of characters that may hold them; in order, none touches another one.

        Returns:
            Those in the ranges, white space that they take included; and where the text of one has a character
            outside. Both as start, stop, token.
        """
        found: list[tuple[int, int, str]] = []
        needles, is_closed = 0, True
        for start, stop in trusted:
            stretch = self._stretch(text[start:stop])
            needles += stretch.needles
            is_closed &= stretch.is_closed
            for first, last, token in stretch.tokens:
                found.append((first + start, last + start, token))
        # No token begins outside, and none that begins inside can go on outside: there is nothing to refuse.
        is_clean = is_closed and sum(map(text.count, self._needles)) == needles
        refused = [] if is_clean else self._outside(text, trusted)
        if self._takes_before or self._takes_after:
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

    def _outside(self, text: str, trusted: Sequence[tuple[int, int]]) -> list[tuple[int, int, str]]:
        """Where tokens' texts are not wholly in one trusted range; a place within another one is left out."""
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
        """The same tokens with the white space that they take, whoever wrote it; of two, the first takes it."""
        taken: list[tuple[int, int, str]] = []
        end = 0
        for number, (start, stop, token) in enumerate(found):
            following = found[number + 1][0] if number + 1 < len(found) else len(text)
            if token in self._takes_before:
                while start > end and text[start - 1] in WHITE_SPACE:
                    start -= 1  # noqa: PLW2901 -- the token grows
            if token in self._takes_after:
                while stop < following and text[stop] in WHITE_SPACE:
                    stop += 1  # noqa: PLW2901
            taken.append((start, stop, token))
            end = stop
        return taken


def _needle(token: str) -> str:
    """The beginning of a token by which it is looked for: it never overlaps itself, so that it can be counted."""
    return token[:2] if len(token) > 1 and token[0] != token[1] else token[:1]


def is_control(text: str, *, special: bool) -> bool:
    """Whether an added token gives a text its structure.

    Every special one of them does. Others do unless they are white space or words, as those that some
    vocabularies add so that they are encoded as one token: content has them, too.

    >>> is_control("<tool_call>", special=False), is_control("    ", special=False)
    (True, False)
    """
    return special or not all(
        character.isalnum() or character.isspace() or character in "_▁" for character in text
    )


def control_tokens(tokenizer: Tokenizer) -> Mapping[str, int]:
    """The control tokens of a tokenizer, text → id: its special tokens, where it does not say more."""
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

    Where nothing outside looks like one, the ids are those of `encode` under `SpecialPolicy.ENCODE`.

    Args:
        tokenizer: any.
        texts: the texts.
        trusted: for each text the ranges of characters that may hold control tokens; in order, none touches another.
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
    """What `encode_guarded` gives for a tokenizer that encodes each text between two control tokens by itself.

    Args:
        tokenizer: it.
        texts: the texts.
        trusted: as for `encode_guarded`.
        guard: finds the control tokens.
        ids: text → id of the control tokens; by default the tokenizer's special tokens.
        encode: encodes many texts in which nothing is a control token; by default the tokenizer does.
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
