"""Tests that a piece that only reserves an id is never used and changes the ids of no text."""

from __future__ import annotations

from itertools import product
from typing import Any

import orjson
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from support.huggingface import added, document

from tokbench.errors import SurgeryError
from tokbench.surgery.growing_pieces import ScoredGrowing
from tokbench.surgery.unigram_extension import unused_score

LETTERS = "ab["
TEXTS = st.text(LETTERS, min_size=2, max_size=4)
SCORES = st.integers(-24, -1).map(lambda quarters: quarters / 4)
WITH_UNKNOWN = ["".join(letters) for size in range(5) for letters in product(LETTERS + "x", repeat=size)]


def ids(vocab: list[tuple[str, float]], held: str) -> list[list[int]]:
    """Return the ids that `tokenizers` gives for many texts, with special tokens taken as text."""
    model = {"type": "Unigram", "unk_id": 0, "vocab": [("<unk>", 0.0), *vocab]}
    parts: dict[str, Any] = {"added_tokens": [added(held, len(LETTERS) + 1)]}
    opened = tokenizers.Tokenizer.from_buffer(orjson.dumps(document(model, **parts)))
    opened.encode_special_tokens = True
    return [ids.ids for ids in opened.encode_batch(WITH_UNKNOWN, add_special_tokens=False)]


@given(
    scores=st.tuples(SCORES, SCORES, SCORES), held=TEXTS, pieces=st.dictionaries(TEXTS, SCORES, max_size=4)
)
def test_unused_piece_never_occurs_in_a_text(
    scores: tuple[float, ...], held: str, pieces: dict[str, float]
) -> None:
    pieces.pop(held, None)
    letters = list(zip(LETTERS, scores, strict=True))
    known = letters + list(pieces.items())
    low = unused_score([held], ScoredGrowing(dict(known)))
    moved = [[id + (id > len(LETTERS)) for id in each] for each in ids(known, held)]
    assert ids([*letters, (held, low), *pieces.items()], held) == moved


def test_unused_piece_with_an_unknown_character_is_refused() -> None:
    pieces = ScoredGrowing({"a": -1.0, "b": -2.0})
    with pytest.raises(
        SurgeryError, match=r"'a<' would have to be a piece.*its character '<' is not a piece"
    ):
        unused_score(["ab", "a<"], pieces)
    pieces.add_word("<")
    assert unused_score(["ab", "a<"], pieces) <= -4


def test_character_inside_a_piece_without_a_piece_of_its_own_is_refused() -> None:
    """The piece "ax" competes with "a" and an unknown x: a lower score of x would change the segmentation of axb."""
    with pytest.raises(
        SurgeryError, match="text with 'x' is cut: it is in the piece 'ax', but not a piece itself"
    ):
        unused_score(["ab"], ScoredGrowing({"a": -1.0, "b": -2.0, "ax": -20.0}))
