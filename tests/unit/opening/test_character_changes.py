"""Tests for the table of normalized characters, which grows with the texts and normalizes each block once."""

from __future__ import annotations

import unicodedata
from functools import partial

import pytest

from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.opening.character_changes import ChangesByNeed

pytestmark = pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")

TEXTS = ["AbÀ", "e\u0323\u0301 ẛ̣", "ДЖ Ά", "각 豈", "Ⅷ ﬁ", "\U0001d400", "\u0344\u0f73"]
decompose = partial(unicodedata.normalize, "NFKD")


def test_table_filled_text_by_text_equals_table_filled_at_once() -> None:
    by_text, at_once = (ChangesByNeed([decompose], [str.lower], orders=True) for _ in range(2))
    for text in TEXTS:
        assert by_text.of([text]).of(text) == decompose(text).lower()
    together = at_once.of(TEXTS)
    for text in TEXTS:
        assert by_text.of([]).of(text) == together.of(text) == decompose(text).lower()
        assert by_text.of([]).origins(text).tolist() == together.origins(text).tolist()


def test_each_character_is_normalized_once() -> None:
    asked: list[str] = []

    def lower(text: str) -> str:
        asked.extend(text)
        return text.lower()

    changes = ChangesByNeed([lower], [], orders=False)
    for block in range(0x20):
        changes.of([chr(block * 0x100 + 0x41)])
    assert asked.count("A") == asked.count("Ā") == asked.count("\u1f41") == 1
    assert len(asked) < 2.1 * 0x20 * 0x100  # every character of the blocks, with separators in between
