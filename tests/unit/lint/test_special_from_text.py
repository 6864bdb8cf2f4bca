"""Tests for special tokens that the model itself produces from plain text, for each family of files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support import huggingface
from support.lint import findings_of, outcome_of, target_of
from support.sentencepiece_models import variant as trained

from tokbench.lint.findings import Severity

if TYPE_CHECKING:
    from pathlib import Path

RULE = "special-token-from-text"
ADDED = [huggingface.added("<x>", 2)]


def wordpiece(splitter: str) -> dict[str, Any]:
    model = {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1, "<x>": 2}, "unk_token": "[UNK]"}
    return huggingface.document(
        {**model, "continuing_subword_prefix": "##", "max_input_chars_per_word": 100},
        pre_tokenizer={"type": splitter},
        added_tokens=ADDED,
    )


def test_special_wordpiece_token_between_spaces_is_found(tmp_path: Path) -> None:
    [finding] = findings_of(RULE, target_of(wordpiece("WhitespaceSplit"), tmp_path))
    assert (finding.token_ids, finding.severity) == ((2,), Severity.ERROR)


def test_special_wordpiece_token_that_is_split_is_not_found(tmp_path: Path) -> None:
    assert findings_of(RULE, target_of(wordpiece("BertPreTokenizer"), tmp_path)) == ()


def test_special_unigram_piece_is_a_note(tmp_path: Path) -> None:
    vocab = [["<unk>", 0.0], ["a", -1.0], ["<x>", 0.0]]
    document = huggingface.document({"type": "Unigram", "vocab": vocab, "unk_id": 0}, added_tokens=ADDED)
    [finding] = findings_of(RULE, target_of(document, tmp_path))
    assert (finding.token_ids, finding.severity) == ((2,), Severity.NOTE)


@pytest.mark.parametrize(("name", "named"), [("bpe with symbols", ["<sep>"]), ("bpe", [])])
def test_user_defined_symbols_of_sentencepiece_are_found(tmp_path: Path, name: str, named: list[str]) -> None:
    path = tmp_path / "m.model"
    path.write_bytes(trained(name).description().proto)
    target = target_of(path, tmp_path)
    findings = findings_of(RULE, target)
    assert [
        target.tokenizer.token_bytes(id).decode() for finding in findings for id in finding.token_ids
    ] == named
    assert all(finding.severity is Severity.WARNING for finding in findings)


def test_rule_is_skipped_without_special_tokens(tmp_path: Path) -> None:
    document = {**wordpiece("WhitespaceSplit"), "added_tokens": []}
    assert outcome_of(RULE, target_of(document, tmp_path)).skipped == "it has no special tokens"
