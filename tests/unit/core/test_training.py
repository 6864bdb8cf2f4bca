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
def test_single_string_instead_of_texts_is_refused(text: str | bytes) -> None:
    with pytest.raises(TrainingError, match="an iterable of texts is needed") as failed:
        refuse_one_text(text)
    assert "open_corpus" in str(failed.value.hint)
    refuse_one_text([text])


@pytest.mark.parametrize("backend", ["bpe", "char", "wordpiece", "unigram"])
def test_every_backend_refuses_a_single_string(backend: str) -> None:
    chosen = get_backend(backend)
    with pytest.raises(TrainingError, match="an iterable of texts is needed"):
        chosen.train("a text", chosen.config_type())


def test_corpus_has_an_identity(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a text", encoding="utf-8")
    corpus = tokbench.open_corpus(tmp_path)
    identity = identity_of(corpus)
    assert identity is not None
    assert identity().fingerprint == corpus.fingerprint()


def test_early_end_is_reported_if_less_was_learned() -> None:
    assert early_end("no more", learned=9, wanted=10, unit="merges") == "no more: 9 of 10 merges were learned"
    assert early_end("no more", learned=10, wanted=10) is None
