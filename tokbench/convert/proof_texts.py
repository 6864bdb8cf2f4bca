"""The texts on which a conversion is proved: bundled texts, generated texts, and texts with special tokens."""

from __future__ import annotations

import random
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DOMAIN = (
    "characters that have long been in Unicode; libraries have tables of different versions "
    "and may split newer characters differently"
)
"""What the generated texts leave out, and why."""

# Blocks added after Unicode 3.2, without unassigned code points.
_LATER_BLOCKS = (
    (0x0980, 0x0983),  # Bengali signs
    (0x1B13, 0x1B33),  # Balinese
    (0x2DE0, 0x2DFF),  # Cyrillic marks
    (0xA880, 0xA8C4),  # Saurashtra
    (0x10400, 0x1049D),  # Deseret, Osmanya
    (0x11013, 0x11046),  # Brahmi
    (0x12000, 0x12399),  # Cuneiform
    (0x1F300, 0x1F64F),  # emoji
    (0x1F910, 0x1F93A),  # more of them
    (0x1F3FB, 0x1F3FF),  # skin tones
)
_BLOCK = 0x80
_SPACES = " \t\n\r\v\f\x85\xa0\u1680\u2003\u2009\u200a\u2028\u2029\u202f\u205f\u3000\u200b\u2060\ufeff"
_DIGITS = "0123456789٠٣۹०९０９²½Ⅷ㊿𝟘"
_MARKS = "\u0301\u0308\u0323\u0327\u20dd\u093f\u0e34\u200d\ufe0f"
_WORDS = (
    "the", "The", "THE", "don't", "I'LL", "naïve", "ﬁne", "straße", "Ελλάδα", "привет", "שלום", "مرحبا",
    "नमस्ते", "ไทย", "東京", "한국어", "x_1", "getUserName", "HTTPServer", "a.b", "http://a.b/c?d=1", "-->",
    "'s", "\u2019s", "###", "...", "e\u0301", "👩\u200d👩\u200d👧", "🇩🇪", "▁", "Ġ", "##ing", "<0x41>", "</w>",
)  # fmt: skip
_SEPARATORS = (" ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", " \n ", "", ",", ".", "'")
_TEXTS_OF_A_KIND = 60


def corpus_texts() -> Iterator[str]:
    """Yield each bundled text as a whole, and the single lines of those with hard cases."""
    yield from _corpus_texts()


@cache
def _corpus_texts() -> tuple[str, ...]:
    """Read the texts once for all comparisons of a command: half a megabyte."""
    from tokbench.files.bundled import bundled_files

    found = []
    for file in bundled_files():
        text = file.path.read_bytes().decode()
        found.append(text)
        if file.kind == "edge":
            found += dict.fromkeys(text.splitlines(keepends=True))
    return tuple(found)


def generated_texts(special_tokens: Sequence[str], *, seed: int) -> Iterator[str]:
    """Yield texts drawn from a seed: spaces, line ends, digits, every block, controls, special tokens, and random ones.

    >>> texts = list(generated_texts(["<end>"], seed=0))
    >>> texts == list(generated_texts(["<end>"], seed=0)), len(texts) > 1000
    (True, True)
    """
    yield from _generated_texts(tuple(special_tokens), seed)


@lru_cache(maxsize=2)
def _generated_texts(special_tokens: tuple[str, ...], seed: int) -> tuple[str, ...]:
    """Draw the texts once for all comparisons of a command; drawing takes a tenth of a second."""
    return tuple(_drawn_texts(special_tokens, seed=seed))


def _drawn_texts(special_tokens: Sequence[str], *, seed: int) -> Iterator[str]:
    source = random.Random(seed)  # noqa: S311 -- test texts, not secrets
    yield ""
    yield from _runs(source)
    yield from _controls()
    yield from _blocks(source)
    for _ in range(_TEXTS_OF_A_KIND * 4):
        yield _sentence(source, _WORDS)
    for _ in range(_TEXTS_OF_A_KIND * 4):
        yield "".join(source.choice(_characters()) for _ in range(source.randint(1, 24)))
    yield from special_texts(special_tokens, seed=seed)


def special_texts(special_tokens: Sequence[str], *, seed: int) -> Iterator[str]:
    """Yield texts with special tokens: alone, in words, adjacent, between spaces, truncated.

    >>> "a<end>b" in list(special_texts(["<end>"], seed=0))
    True
    """
    source = random.Random(seed)  # noqa: S311 -- test texts, not secrets
    for token in special_tokens:
        yield from (token, f"a{token}b", f" {token} ", f"\n{token}\n", token[:-1], token[1:], token.upper())
    for _ in range(_TEXTS_OF_A_KIND if special_tokens else 0):
        yield _sentence(source, (*_WORDS[:6], *special_tokens))


def _runs(source: random.Random) -> Iterator[str]:
    for character in _SPACES + _DIGITS[:1] + "a-":
        for count in (1, 2, 3, 4, 7, 16, 33):
            run = character * count
            yield from (run, f"a{run}b", f" {run}1", f"x\n{run}", f"{run}\n{run}.")
    for alphabet in (_SPACES, " \n", _DIGITS, "0123456789", "a' sS", "aé" + _MARKS, "<|>/s[]_"):
        for _ in range(_TEXTS_OF_A_KIND):
            yield "".join(source.choice(alphabet) for _ in range(source.randint(1, 12)))


def _controls() -> Iterator[str]:
    for code in (*range(0x21), *range(0x7F, 0xA1), 0xAD, 0xFFFD, 0xFFFE, 0xFFFF, 0x10FFFF):
        yield f"a{chr(code)}b {chr(code)}{chr(code)}"


def _blocks(source: random.Random) -> Iterator[str]:
    """Yield a text of three words from each block of 128 code points that has characters."""
    for characters in _characters_of_blocks():
        yield " ".join(
            "".join(source.choice(characters) for _ in range(source.randint(1, 6))) for _ in range(3)
        )


@cache
def _characters_of_blocks() -> tuple[str, ...]:
    blocks: dict[int, list[str]] = {}
    for character in _characters():
        blocks.setdefault(ord(character) // _BLOCK, []).append(character)
    return tuple(map("".join, blocks.values()))


def _sentence(source: random.Random, words: Sequence[str]) -> str:
    parts = []
    for _ in range(source.randint(1, 8)):
        parts += [source.choice(words), source.choice(_SEPARATORS)]
    return "".join(parts)


@cache
def _characters() -> str:
    """Return the characters of Unicode 3.2, which are the same in every Python, and of some later blocks."""
    early = unicodedata.ucd_3_2_0
    assigned = [
        chr(code)
        for code in (*range(0xD800), *range(0xE000, 0xE010), *range(0xF900, 0x30000))
        if early.category(chr(code)) != "Cn"
    ]
    return "".join(assigned) + "".join(
        chr(code) for first, last in _LATER_BLOCKS for code in range(first, last + 1)
    )
