"""The texts of shortened proofs, a part of the bundled and of the generated ones."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from tokbench.convert.proof_texts import corpus_texts, generated_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BEGINNING = 1000
_EVERY = 10
_EVERY_GENERATED = 3


@cache
def some_corpus_texts() -> tuple[str, ...]:
    """Return the beginnings of the long texts of a proof, and a tenth of the short hard cases."""
    short = [text for text in corpus_texts() if len(text) <= _BEGINNING]
    return (*(text[:_BEGINNING] for text in corpus_texts() if len(text) > _BEGINNING), *short[::_EVERY])


def some_generated_texts(special_tokens: Sequence[str], *, seed: int) -> Iterator[str]:
    """Yield a third of the generated texts, some of each kind."""
    return islice(generated_texts(special_tokens, seed=seed), 0, None, _EVERY_GENERATED)
