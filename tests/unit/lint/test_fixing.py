"""Repairs: only what changes no ids is certain, and that is proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support import sentencepiece_models
from support.lint import byte_level, target_of

from tokbench.errors import ConfigError, ConversionError
from tokbench.lint.fixing import check_same_ids, repaired_files

if TYPE_CHECKING:
    from pathlib import Path


def test_other_ids_are_refused(tmp_path: Path) -> None:
    one = target_of(byte_level(("a", "b")), tmp_path / "one").tokenizer
    other = target_of(byte_level(("b", "a")), tmp_path / "other").tokenizer
    assert check_same_ids(one, one, ["ab", "ba"]) == 2
    with pytest.raises(ConversionError, match="other ids"):
        check_same_ids(one, other, ["x", "ab"])


def test_only_a_tokenizer_json_is_repaired(tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    path.write_bytes(
        sentencepiece_models.written(
            [sentencepiece_models.unknown(), *sentencepiece_models.scored({"a": -1.0})]
        )
    )
    with pytest.raises(ConfigError, match="folders with"):
        repaired_files(target_of(path, tmp_path), [])


def test_without_findings_the_files_are_the_same(tmp_path: Path) -> None:
    beside = {
        "tokenizer_config.json": {"clean_up_tokenization_spaces": True},
        "model.safetensors": b"weights",
    }
    target = target_of(byte_level(), tmp_path, beside=beside)
    files, repairs = repaired_files(target, [])
    assert repairs == ()
    assert target.folder is not None
    assert set(files) == {"tokenizer.json", "tokenizer_config.json"}
    assert all((target.folder / name).read_bytes() == data for name, data in files.items())
