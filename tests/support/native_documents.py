"""Comparison of the tokenizers of one `tokenizer.json`: on our kernel and on its library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tokbench
from tokbench import SpecialPolicy
from tokbench.core.token_arrays import segmented

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def both(folder: Path, data: bytes) -> tuple[Any, Any]:
    """Open a document on the engine that tokbench chooses, and on its library."""
    path = folder / "tokenizer.json"
    path.write_bytes(data)
    return tokbench.load(path), tokbench.load(path, engine="library")


def assert_same_results(native: Any, library: Any, given_texts: Sequence[str]) -> None:
    """Check that ids, counts and spans are the same in every call, with special tokens and without."""
    for special in (SpecialPolicy.TEXT, SpecialPolicy.ENCODE):
        expected = [library.encode(text, special=special) for text in given_texts]
        batch = native.encode_batch(given_texts, special=special, threads=2)
        assert [batch[place].tolist() for place in range(len(given_texts))] == expected
        assert native.count_batch(given_texts, special=special).tolist() == list(map(len, expected))
        assert [native.encode(text, special=special) for text in given_texts] == expected
    spans, defined = native.encode_spans(given_texts), segmented(library, given_texts)
    assert np.array_equal(spans.starts, defined.starts)
    assert np.array_equal(spans.stops, defined.stops)
    assert np.array_equal(spans.kinds, defined.kinds)
    assert [native.segment(text) for text in given_texts] == [library.segment(text) for text in given_texts]
