"""Search for a text on which two tokenizers differ, shortened as far as possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.convert.disagreement import shrink
from tokbench.convert.proof_texts import corpus_texts, special_texts
from tokbench.core.post_processing import input_of
from tokbench.core.tokens import SpecialPolicy
from tokbench.lint.near_patterns import PROBES

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
