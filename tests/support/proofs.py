"""The texts of shortened proofs, a part of the bundled ones."""

from __future__ import annotations

from functools import cache

from tokbench.convert.proof_texts import corpus_texts

_BEGINNING = 1000
_EVERY = 10


@cache
def some_corpus_texts() -> tuple[str, ...]:
    """Return the beginnings of the long texts of a proof, and a tenth of the short hard cases."""
    short = [text for text in corpus_texts() if len(text) <= _BEGINNING]
    return (*(text[:_BEGINNING] for text in corpus_texts() if len(text) > _BEGINNING), *short[::_EVERY])
