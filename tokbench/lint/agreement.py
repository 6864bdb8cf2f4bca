"""The smallest text on which two tokenizers differ; split patterns that are almost a well-known one, with a text."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import regex

from tokbench.convert.disagreement import shrink
from tokbench.convert.proof_texts import corpus_texts, special_texts
from tokbench.core.post_processing import input_of
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError
from tokbench.formats.tokenizer_json import for_oniguruma
from tokbench.opening.patterns import known_pattern, pattern_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.core.interfaces import Tokenizer

_CHARACTERS = 2048
"""Number of characters used of each bundled text."""
_SPECIALS = 16


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A text on which two tokenizers differ.

    Attributes:
        text: the text.
        ours: its ids under the first tokenizer.
        theirs: its ids under the second tokenizer.
        differing: number of texts tried on which they differ.
        tried: number of texts tried.
    """

    text: str
    ours: tuple[int, ...]
    theirs: tuple[int, ...]
    differing: int
    tried: int


def disagreement(
    first: Tokenizer, second: Tokenizer, *, template: bool = True, specials: bool = True
) -> Disagreement | None:
    """Find a text with different ids under two tokenizers; None if none is found.

    Args:
        first: the first tokenizer.
        second: the second tokenizer.
        template: whether to compare the special tokens that are added around a text.
        specials: whether to try texts of special tokens, and to encode these as such.
    """
    policy = SpecialPolicy.ENCODE if specials else SpecialPolicy.TEXT

    def ids(tokenizer: Tokenizer, text: str) -> tuple[int, ...]:
        found = input_of(tokenizer, text, special=policy, template=template, limits=False)
        return tuple(map(int, found.ids))

    def differs(text: str) -> bool:
        return ids(first, text) != ids(second, text)

    texts = list(_texts(first, second, specials=specials))
    found = [text for text in texts if differs(text)]
    if not found:
        return None
    text = shrink(min(found, key=len), differs) or min(found, key=len)
    return Disagreement(text, ids(first, text), ids(second, text), len(found), len(texts))


def _texts(first: Tokenizer, second: Tokenizer, *, specials: bool) -> Iterator[str]:
    yield from PROBES
    yield from (text[:_CHARACTERS] for text in corpus_texts())
    if not specials:
        return
    texts = [*first.info.special_tokens][:_SPECIALS] + [*second.info.special_tokens][:_SPECIALS]
    yield from special_texts(list(dict.fromkeys(texts)), seed=0)


_NEAR = 0.9
"""Minimum share of common characters for a pattern to count as a faulty copy of another."""
_SECONDS = 1.0
PROBES = (
    "don't", "DON'T", "I'll", "We'Ve", "12", "1234", "12345678", "a1b2", "x = 10", "don\u2019t", "a  b", "a   b",
    "a    b", " a", "  a", "a ", "a  ", "a\nb", "a\n\nb", "a\r\nb", "a \n b", "a\n  b", "a\tb", "a\t\tb", "\n\n",
    "  \n",     "hello, world!", "wait...", "a/b/c", "//\n", "...\n\n", "!!\r\n", "(a)", " (a)", "_a_b", "HTTPServer",
    "getUserName", "caf\u00e9", "cafe\u0301", "\u6771\u4eac", "\u092e\u0938\u094d\u0924\u0947", "\u0660\u0661\u0662",
    "\u00bd\u2167", "\U0001f642\U0001f642", "a\u00a0b", "a\u3000b", "'s", " 's", "'s't", "\u01c5a", "iPhone5S",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NearPattern:
    """A well-known pattern that a given pattern almost equals.

    Attributes:
        name: name of the well-known pattern.
        text: a text that the two split differently.
        here: its pre-tokens by the given pattern.
        there: its pre-tokens by the well-known pattern.
    """

    name: str
    text: str
    here: tuple[str, ...]
    there: tuple[str, ...]


def near_pattern(pattern: str) -> NearPattern | None:
    """Return the nearest well-known pattern; None if it is not near, or no probe is split differently.

    Raises:
        ConfigError: the `regex` package cannot run the pattern.
    """
    known = {name: text for name in pattern_names() if (text := known_pattern(name)[1]) is not None}
    likeness = {name: _likeness(pattern, text) for name, text in known.items()}
    name = max(likeness, key=likeness.__getitem__)
    if likeness[name] < _NEAR:
        return None
    for text in PROBES:
        here, there = _split(pattern, text), _split(known[name], text)
        if here != there:
            return NearPattern(name=name, text=text, here=here, there=there)
    return None


def _likeness(pattern: str, known: str) -> float:
    """Return the share of characters that a pattern has in common with the closer of two spellings of another."""
    spellings = (known, for_oniguruma(known))
    return max(SequenceMatcher(None, pattern, spelling, autojunk=False).ratio() for spelling in spellings)


def _split(pattern: str, text: str) -> tuple[str, ...]:
    """Split a text into the pattern's matches and the parts between them."""
    parts, end = [], 0
    try:
        for match in regex.finditer(pattern, text, timeout=_SECONDS):
            parts += [text[end : match.start()], match.group()]
            end = match.end()
    except (regex.error, TimeoutError) as error:
        raise ConfigError(f"the pattern cannot be run: {error}") from None
    return tuple(part for part in (*parts, text[end:]) if part)
