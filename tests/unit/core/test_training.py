"""Rules that all trainings share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tokbench
from tokbench.core.training import early_end, identity_of, refuse_one_text
from tokbench.errors import TrainingError
from tokbench.registry import get_backend

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("text", ["a text", b"a text"])
def test_one_text_is_refused_and_texts_are_not(text: str | bytes) -> None:
    with pytest.raises(TrainingError, match="an iterable of texts is needed") as failed:
        refuse_one_text(text)
    assert "open_corpus" in str(failed.value.hint)
    refuse_one_text([text])


@pytest.mark.parametrize("backend", ["bpe", "char", "wordpiece", "unigram"])
def test_every_backend_refuses_one_text(backend: str) -> None:
    chosen = get_backend(backend)
    with pytest.raises(TrainingError, match="an iterable of texts is needed"):
        chosen.train("a text", chosen.config_type())


def test_a_corpus_knows_which_documents_it_has(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a text", encoding="utf-8")
    corpus = tokbench.open_corpus(tmp_path)
    identity = identity_of(corpus)
    assert identity is not None
    assert identity().fingerprint == corpus.fingerprint()


def test_an_end_is_early_where_less_was_learned_than_wanted() -> None:
    assert early_end("no more", learned=9, wanted=10, unit="merges") == "no more: 9 of 10 merges were learned"
    assert early_end("no more", learned=10, wanted=10) is None
