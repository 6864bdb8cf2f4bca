"""The encoder of the page against the tokenizer: bundled and generated texts, special tokens, every character."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from tokbench.convert.proof_texts import corpus_texts, generated_texts
from tokbench.convert.shrinking import shrink
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.wording import quoted
from tokbench.errors import PageError
from tokbench.play_page.engine import PageEncoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokbench.play_page.tokenizer_data import TokenizerData

_TEXTS_AT_ONCE = 256
_CHARACTERS_A_TEXT = 2048
_MOST_WIDE = 64
"""Special tokens that are tried in wide letters."""

_WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
_OTHERS_LEFT_OUT = 64
"""Of characters that nobody has been given, and of private ones, one of this many is tried."""


@dataclass(frozen=True, slots=True)
class Check:
    """What was tried.

    Attributes:
        texts: how many; those with special tokens under both policies.
        num_bytes: their UTF-8 bytes.
        characters: how many characters occur in them.
    """

    texts: int
    num_bytes: int
    characters: int


def check_page(data: TokenizerData, *, seed: int = 0) -> Check:
    """Encode some thousand texts both ways.

    Args:
        data: the tokenizer, and what the page holds of it.
        seed: draws the generated texts.

    Raises:
        BackendUnavailableError: there is no engine for JavaScript.
        PageError: the page gives other ids for a text, which the message has, as small as it can be made.
    """
    encoder = PageEncoder(data.to_json())
    tokenizer = data.opened.tokenizer
    texts = [
        *corpus_texts(),
        *generated_texts(sorted(tokenizer.info.special_tokens), seed=seed),
        *_every_character(),
        *_wide(tokenizer.info.special_tokens),
    ]
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        _compare(texts[start : start + _TEXTS_AT_ONCE], data, encoder)
    return Check(len(texts), sum(len(text.encode()) for text in texts), len(set().union(*texts)))


def _compare(texts: Sequence[str], data: TokenizerData, encoder: PageEncoder) -> None:
    tokenizer = data.opened.tokenizer
    names = [*tokenizer.info.special_tokens, *_wide(tokenizer.info.special_tokens)]
    special = [text for text in texts if any(map(text.__contains__, names))]
    for policy, under in ((SpecialPolicy.TEXT, texts), (SpecialPolicy.ENCODE, special)):
        wanted = tokenizer.encode_batch(under, special=policy)
        for number, ids in enumerate(encoder.encode_batch(under, special=policy.value)):
            if ids != list(wanted[number]):
                raise _differs(data, under[number], policy, encoder)


def _wide(names: Iterable[str]) -> list[str]:
    """Texts that normal forms of compatibility turn into special tokens.

    >>> _wide(["<s>"])
    ['＜ｓ＞']
    """
    return [name.translate(_WIDE) for name in islice(names, _MOST_WIDE)]


def _every_character() -> Iterator[str]:
    """Each character between letters, digits and spaces: a page that takes one for another class splits elsewhere."""
    characters = [
        chr(code)
        for code in range(0x110000)
        if not 0xD800 <= code < 0xE000
        and (unicodedata.category(chr(code)) not in ("Cn", "Co") or code % _OTHERS_LEFT_OUT == 0)
    ]
    for start in range(0, len(characters), _CHARACTERS_A_TEXT):
        yield "".join(f"a{each} 1{each}" for each in characters[start : start + _CHARACTERS_A_TEXT])


def _differs(data: TokenizerData, text: str, policy: SpecialPolicy, encoder: PageEncoder) -> PageError:
    tokenizer = data.opened.tokenizer

    def both(text: str) -> tuple[Sequence[int], Sequence[int]]:
        [found] = encoder.encode_batch([text], special=policy.value)
        return tokenizer.encode(text, special=policy), found

    def differs(text: str) -> bool:
        wanted, found = both(text)
        return wanted != found

    smallest = shrink(text, differs) if differs(text) else text
    wanted, found = both(smallest)
    return PageError(
        f"the page would give other ids than {tokenizer.info.name!r} for {quoted(smallest)}: "
        f"{_listed(found)} and not {_listed(wanted)}; nothing was written",
        hint="please report the tokenizer; `tokbench play` in the terminal is exact",
    )


def _listed(ids: Sequence[int]) -> str:
    shown = " ".join(map(str, ids[:8]))
    return f"{shown} …" if len(ids) > 8 else shown or "none"
