r"""The classes of split patterns have the members that the libraries give them, of the characters that all tables know.

`regex` defines most of them, but Oniguruma and Rust have definitions of their own for \w.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tokbench.backends.bpe.split_programs.character_sets import members_of
from tokbench.opening.split_steps import RUSTS_WORD
from tokbench.opening.unicode_agreement import tiktoken_members, tokenizers_members

if TYPE_CHECKING:
    from collections.abc import Callable

MOVED = "\u0295"
"""A letter that Unicode 18 no longer counts as lower-case."""
SPELLINGS = [
    *[
        r"\w",
        r"\W",
        r"[^\w\s]",
        r"[\w]",
        r"[^\W-]",
        "[[:word:]]",
        "[[:alnum:]]",
        "[[:alpha:]]",
        "[[:punct:]]",
    ],
    *[
        "[[:lower:]]",
        "[[:upper:]]",
        "[[:cntrl:]]",
        "[[:blank:]]",
        "[[:^space:]]",
        r"\s",
        r"\d",
        r"\p{N}",
        r"\p{P}",
    ],
    *[r"\p{S}", r"\p{L}", r"\p{Lo}", r"\p{M}", r"\p{Cf}", r"\p{Han}", r"\p{Emoji}", r"[\p{L}&&[^\p{Han}]]"],
]


@cache
def old_characters() -> str:
    """Return the characters of Unicode 3.2, which the tables of every library have."""
    assigned = [
        chr(code) for code in range(0x110000) if unicodedata.ucd_3_2_0.category(chr(code)) not in ("Cn", "Cs")
    ]
    return "".join(assigned).replace(MOVED, "")


def ours(spelling: str) -> str:
    members = members_of(spelling)
    return "".join(character for character in old_characters() if members[ord(character)])


@pytest.mark.slow
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_classes_are_those_of_oniguruma(spelling: str) -> None:
    assert ours(spelling) == tokenizers_members(spelling, old_characters())


@pytest.mark.parametrize(("spelling", "rusts"), [(f"[{RUSTS_WORD}]", r"\w"), (f"[^{RUSTS_WORD}]", r"\W")])
@pytest.mark.parametrize("library", [tiktoken_members, tokenizers_members])
def test_words_of_rust_are_spelled_out(library: Callable[[str, str], str], spelling: str, rusts: str) -> None:
    assert ours(spelling) == library(spelling, old_characters())
    assert library is tokenizers_members or ours(spelling) == library(rusts, old_characters())
