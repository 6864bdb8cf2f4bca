"""Tests for the texts that get more tokens, counted by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.lint import byte_level, target_of

from tokbench.corpus import Document
from tokbench.workbench.migrate import FEWEST_TOKENS, losing_texts

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_texts_that_grow_most_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old tokenizer has "ab" and the new one "cd": eight tokens become sixteen, twelve or four."""
    old = target_of(byte_level(("a", "b")), tmp_path / "old").tokenizer
    new = target_of(byte_level(("c", "d")), tmp_path / "new").tokenizer
    texts = {
        "twice": "ab" * 8,
        "half": "ab" * 4 + "x" * 4,
        "less": "cd" * 4,
        "same": "x" * 8,
        "few": "ab" * 7,
    }
    documents = [Document(text, "en", name) for name, text in texts.items()]
    losing = losing_texts(old, new, documents)
    assert [(text.source, text.old_tokens, text.new_tokens) for text in losing] == [
        ("twice", 8, 16),
        ("half", FEWEST_TOKENS, 12),
    ]
    assert [text.ratio for text in losing] == [2.0, 1.5]
    monkeypatch.setattr("tokbench.workbench.migrate._MOST", 1)
    assert [text.source for text in losing_texts(old, new, documents)] == ["twice"]
