"""Compare the page's encoder with the tokenizer on bundled and generated texts, special tokens, and every character."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from tokbench.convert.disagreement import shrink
from tokbench.convert.proof_texts import corpus_texts, generated_texts
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.wording import quoted
from tokbench.errors import PageError
from tokbench.play_page.code_points import code_points
from tokbench.play_page.engine import PageEncoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokbench.play_page.tokenizer_data import TokenizerData

_TEXTS_AT_ONCE = 256
_CHARACTERS_A_TEXT = 2048
_MOST_FULL_WIDTH = 64
"""Maximum number of special tokens that are tried in full-width letters."""

_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
_SAMPLED_ONE_IN = 64
"""Of unassigned and private-use characters only one in this many is tried."""


@dataclass(frozen=True, slots=True)
class Check:
    """The extent of a check.

    Attributes:
        texts: number of texts; those with special tokens are encoded under both policies.
        num_bytes: their UTF-8 bytes.
        characters: number of distinct characters in them.
    """

    texts: int
    num_bytes: int
    characters: int


def check_page(data: TokenizerData) -> Check:
    """Encode several thousand texts both ways.

    Args:
        data: the tokenizer, and the page's data of it.

    Raises:
        BackendUnavailableError: no JavaScript engine is installed.
        PageError: the page gives other ids for a text; the message has the shrunken text.
    """
    encoder = PageEncoder(data.to_json())
    tokenizer = data.opened.tokenizer
    texts = [
        *corpus_texts(),
        *generated_texts(sorted(tokenizer.info.special_tokens), seed=0),
        *_every_character(),
        *_full_width(tokenizer.info.special_tokens),
    ]
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        _compare(texts[start : start + _TEXTS_AT_ONCE], data, encoder)
    return Check(len(texts), sum(len(text.encode()) for text in texts), len(set().union(*texts)))


def _compare(texts: Sequence[str], data: TokenizerData, encoder: PageEncoder) -> None:
    tokenizer = data.opened.tokenizer
    names = [*tokenizer.info.special_tokens, *_full_width(tokenizer.info.special_tokens)]
    special = [text for text in texts if any(map(text.__contains__, names))]
    for policy, chosen in ((SpecialPolicy.TEXT, texts), (SpecialPolicy.ENCODE, special)):
        wanted = tokenizer.encode_batch(chosen, special=policy)
        for number, ids in enumerate(encoder.encode_batch(chosen, special=policy.value)):
            if ids != list(wanted[number]):
                raise _differs(data, chosen[number], policy, encoder)


def _full_width(names: Iterable[str]) -> list[str]:
    """Return texts that compatibility normalization (NFKC) turns into special tokens.

    >>> _full_width(["<s>"])
    ['＜ｓ＞']
    """
    return [name.translate(_FULL_WIDTH) for name in islice(names, _MOST_FULL_WIDTH)]


def _every_character() -> Iterator[str]:
    """Yield texts with each character between letters, digits and spaces, so that wrong character classes show."""
    characters = [
        chr(code)
        for code in code_points()
        if unicodedata.category(chr(code)) not in ("Cn", "Co") or code % _SAMPLED_ONE_IN == 0
    ]
    for start in range(0, len(characters), _CHARACTERS_A_TEXT):
        yield "".join(
            f"a{character} 1{character}" for character in characters[start : start + _CHARACTERS_A_TEXT]
        )


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
