"""Tests for the rules on bytes and characters that a vocabulary cannot encode: only planted gaps are found."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from support import huggingface
from support.lint import byte_level, findings_of, outcome_of, target_of

from tokbench.lint.findings import Severity

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.lint.target import LintTarget


def wordpiece(folder: Path, *pieces: str, **parts: object) -> LintTarget:
    vocab = {piece: id for id, piece in enumerate(["[UNK]", *pieces])}
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": vocab,
    }
    document = huggingface.document(model, pre_tokenizer={"type": "BertPreTokenizer"}, **parts)
    return target_of(document, folder)


def test_missing_byte_is_an_error(tmp_path: Path) -> None:
    [finding] = findings_of("missing-byte", target_of(byte_level(without=[0xE4, 0xC0]), tmp_path))
    assert finding.severity is Severity.ERROR
    assert finding.details["bytes"] == [0xE4]


def test_missing_control_bytes_are_a_warning(tmp_path: Path) -> None:
    """As in Falcon: control characters, and F2, the first byte of characters in the unassigned planes 8 to 11."""
    controls = [0x03, 0x1C, 0x7F, 0xF2]
    [finding] = findings_of("missing-byte", target_of(byte_level(without=controls), tmp_path / "controls"))
    assert (finding.severity, finding.details["bytes"]) == (Severity.WARNING, controls)
    [finding] = findings_of("missing-byte", target_of(byte_level(without=[0x03, 0x0A]), tmp_path / "lines"))
    assert finding.severity is Severity.ERROR


def test_bytes_that_never_occur_in_utf8_may_be_missing(tmp_path: Path) -> None:
    assert findings_of("missing-byte", target_of(byte_level(without=[0xFF]), tmp_path)) == ()


def test_complete_bytes_have_no_finding(tmp_path: Path) -> None:
    assert findings_of("missing-byte", target_of(byte_level(("a", "b")), tmp_path)) == ()


def test_missing_byte_of_byte_fallback_is_an_error(tmp_path: Path) -> None:
    document = json.loads(huggingface.byte_fallback())
    assert findings_of("missing-byte", target_of(document, tmp_path / "whole")) == ()
    id = document["model"]["vocab"].pop("<0xC3>")
    document["model"]["vocab"]["other"] = id
    [finding] = findings_of("missing-byte", target_of(document, tmp_path / "less"))
    assert finding.details["bytes"] == [0xC3]


def test_character_rules_are_skipped_for_word_models_without_letters(tmp_path: Path) -> None:
    """A word that WordPiece does not know is one unknown token, whichever characters it has."""
    linted = wordpiece(tmp_path, "low", "lower")
    for rule in ("vanishing-character", "lost-white-space"):
        assert "cannot encode the letters" in (outcome_of(rule, linted).skipped or "")


def test_missing_byte_rule_is_skipped_for_wordpiece(tmp_path: Path) -> None:
    assert outcome_of("missing-byte", wordpiece(tmp_path, "a")).skipped is not None


def test_character_without_a_continuation_piece_is_found(tmp_path: Path) -> None:
    [finding] = findings_of("missing-continuation", wordpiece(tmp_path, "a", "b", "##a", "."))
    assert finding.details["characters"] == ["b"]
    assert findings_of("missing-continuation", wordpiece(tmp_path / "whole", "a", "##a", ".")) == ()


def test_vanishing_characters_are_found(tmp_path: Path) -> None:
    strip = {"type": "Replace", "pattern": {"String": "\u200d"}, "content": ""}
    [finding] = findings_of(
        "vanishing-character", target_of(byte_level(normalizer=strip), tmp_path / "strips")
    )
    assert finding.details["code_points"] == [0x200D]
    assert findings_of("vanishing-character", target_of(byte_level(), tmp_path / "keeps")) == ()
