"""A `vocab.json` beside a SentencePiece model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.model_folders import put
from support.sentencepiece_models import scored, unknown, written
from support.small_files import opened

import tokbench
from tokbench.errors import ModelFormatError

if TYPE_CHECKING:
    from pathlib import Path

HI = [unknown(), *scored({"▁": -2.0, "hi": -1.0})]
M2M = {"tokenizer_config.json": {"tokenizer_class": "M2M100Tokenizer"}}


def test_a_folder_whose_class_takes_ids_from_a_vocabulary_beside_the_model_is_refused(
    tmp_path: Path,
) -> None:
    put(tmp_path, {"m.model": written(HI), "vocab.json": {"<s>": 0, "<unk>": 1, "hi": 2, "▁": 3}, **M2M})
    with pytest.raises(ModelFormatError, match="from which a M2M100Tokenizer takes them: '<unk>' is 1 there"):
        tokbench.load(tmp_path)
    made = opened(tmp_path / "m.model")
    assert made.tokenizer.encode("hi") == [1, 2]
    assert "vocab.json says that '<unk>' is 1, and m.model 0, which is used" in made.warnings


@pytest.mark.parametrize(
    ("beside", "warnings"),
    [
        ({"vocab.json": {"<unk>": 0, "▁": 1, "hi": 2, "more": 3}, **M2M}, ()),
        ({"vocab.json": {"hi": 0}}, ("vocab.json says that 'hi' is 0, and m.model 2, which is used",)),
        ({"vocab.json": {"model": {}}, **M2M}, ()),
        ({"vocab.json": ["hi"], **M2M}, ()),
    ],
)
def test_a_folder_with_another_vocabulary_beside_its_model_opens(
    tmp_path: Path, beside: dict[str, Any], warnings: tuple[str, ...]
) -> None:
    made = opened(put(tmp_path, {"m.model": written(HI), **beside}))
    assert made.tokenizer.encode("hi") == [1, 2]
    assert made.warnings == warnings
