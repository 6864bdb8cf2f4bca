"""Tests for repairs: a repair is certain only if it is proved to change no ids."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support import sentencepiece_models
from support.lint import byte_level, findings_of, target_of

from tokbench.errors import ConfigError, ConversionError
from tokbench.lint.catalogue import all_rules
from tokbench.lint.findings import Finding
from tokbench.lint.fixing import check_same_ids, repaired_files, why_left

if TYPE_CHECKING:
    from pathlib import Path


def test_repair_that_changes_ids_is_refused(tmp_path: Path) -> None:
    one = target_of(byte_level(("a", "b")), tmp_path / "one").tokenizer
    other = target_of(byte_level(("b", "a")), tmp_path / "other").tokenizer
    assert check_same_ids(one, one, ["ab", "ba"]) == 2
    with pytest.raises(ConversionError, match="different ids"):
        check_same_ids(one, other, ["x", "ab"])


def test_repair_of_other_formats_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    path.write_bytes(
        sentencepiece_models.written(
            [sentencepiece_models.unknown(), *sentencepiece_models.scored({"a": -1.0})]
        )
    )
    with pytest.raises(ConfigError, match="only a tokenizer that is opened"):
        repaired_files(target_of(path, tmp_path), [])


def test_without_findings_the_files_are_unchanged(tmp_path: Path) -> None:
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


def test_every_unfixable_rule_has_a_reason() -> None:
    for rule in all_rules().values():
        if not rule.needs_reference:
            finding = Finding(rule.name, rule.severity, "it", "seen", "mend it")
            assert why_left(finding)


def test_settings_and_programs_are_repaired(tmp_path: Path) -> None:
    config = {"add_prefix_space": True, "auto_map": {"AutoTokenizer": ["x.Y", None], "AutoConfig": "x.Z"}}
    beside = {"tokenizer_config.json": config, "x.py": b"1", "tokenizer.pkl": b"1"}
    target = target_of(byte_level(), tmp_path, beside=beside)
    rules = ("settings-disagree", "program-beside")
    findings = [finding for rule in rules for finding in findings_of(rule, target)]
    files, repairs = repaired_files(target, findings)
    assert len(repairs) == len(findings) == 4
    assert set(files) == {"tokenizer.json", "tokenizer_config.json"}
    assert json.loads(files["tokenizer_config.json"]) == {
        "add_prefix_space": False,
        "auto_map": {"AutoConfig": "x.Z"},
        "tokenizer_class": "PreTrainedTokenizerFast",
    }


@pytest.mark.parametrize(
    ("config", "found", "repaired"),
    [
        ({"tokenizer_class": "PreTrainedTokenizerFast", "extra_special_tokens": {"image": "<i>"}}, 0, None),
        ({"tokenizer_class": "PreTrainedTokenizerFast", "additional_special_tokens": ["<i>"]}, 0, None),
        ({"tokenizer_class": "TokenizersBackend"}, 1, {"tokenizer_class": "PreTrainedTokenizerFast"}),
        (
            {"tokenizer_class": "TokenizersBackend", "extra_special_tokens": ["<i>", "<j>"]},
            2,
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "additional_special_tokens": ["<i>", "<j>"],
            },
        ),
        (
            {"tokenizer_class": "GPT2Tokenizer", "extra_special_tokens": []},
            1,
            {"tokenizer_class": "GPT2Tokenizer", "additional_special_tokens": []},
        ),
        ({"extra_special_tokens": None}, 1, {}),
    ],
    ids=["object", "older name", "class", "class and list", "list", "null"],
)
def test_files_that_only_transformers_5_opens_are_found_and_repaired(
    tmp_path: Path, config: dict[str, object], found: int, repaired: dict[str, object] | None
) -> None:
    target = target_of(byte_level(), tmp_path, beside={"tokenizer_config.json": config})
    findings = findings_of("needs-transformers-5", target)
    assert len(findings) == found
    files, repairs = repaired_files(target, findings)
    assert len(repairs) == found
    assert json.loads(files["tokenizer_config.json"]) == (config if repaired is None else repaired)


def test_contradictory_setting_is_found(tmp_path: Path) -> None:
    for said, count in ((True, 1), (False, 0)):
        beside = {"tokenizer_config.json": {"add_prefix_space": said}}
        target = target_of(byte_level(), tmp_path / str(said), beside=beside)
        assert len(findings_of("settings-disagree", target)) == count
