"""Tests that white space, digits and indentation that are lost or split unevenly are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support import huggingface
from support.lint import GPT2_SPLIT, byte_level, findings_of, outcome_of, target_of

from tokbench.lint.findings import Severity

if TYPE_CHECKING:
    from pathlib import Path

COLLAPSE = {"type": "Replace", "pattern": {"Regex": " +"}, "content": " "}
DIGITS = [(str(left), str(right)) for left in range(10) for right in range(10)]


def test_collapsed_spaces_are_found(tmp_path: Path) -> None:
    [finding] = findings_of("lost-white-space", target_of(byte_level(normalizer=COLLAPSE), tmp_path))
    assert '"a  b" as "a b"' in finding.evidence
    assert "a\tb" not in finding.details["texts"]


def test_loss_by_the_decoder_is_reported_separately(tmp_path: Path) -> None:
    document = byte_level(("a", "b"))
    document["decoder"] = {"type": "Replace", "pattern": {"String": "b"}, "content": "c"}
    [finding] = findings_of("lost-white-space", target_of(document, tmp_path))
    assert finding.evidence == 'even "ab", without white space, decodes to "ac"'
    assert finding.severity is Severity.WARNING


def test_clip_word_end_suffixes_are_a_note(tmp_path: Path) -> None:
    document = byte_level(("a", "b</w>"), tokens=["b</w>"], model={"end_of_word_suffix": "</w>"})
    beside = {"tokenizer_config.json": {"tokenizer_class": "CLIPTokenizer"}}
    [finding] = findings_of("lost-white-space", target_of(document, tmp_path, beside=beside))
    assert finding.severity is Severity.NOTE
    assert "CLIPTokenizer of transformers removes the end-of-word suffixes" in finding.evidence


def test_preserved_white_space_has_no_finding(tmp_path: Path) -> None:
    assert findings_of("lost-white-space", target_of(byte_level(), tmp_path)) == ()


def test_special_token_that_strips_spaces_is_found(tmp_path: Path) -> None:
    tokens = [huggingface.added("<a>", 256, lstrip=True), huggingface.added("<b>", 257)]
    document = byte_level(tokens=["<a>", "<b>"], added_tokens=tokens)
    [finding] = findings_of("space-at-special-token", target_of(document, tmp_path))
    assert finding.token_ids == (256,)
    assert finding.severity is Severity.WARNING
    assert '"a X" as "aX"' in finding.evidence


def test_space_added_after_a_special_token_is_found(tmp_path: Path) -> None:
    document = byte_level(
        (" ", "b"),
        tokens=["<a>"],
        added_tokens=[huggingface.added("<a>", 257)],
        pre_tokenizer={**GPT2_SPLIT, "add_prefix_space": True},
    )
    [finding] = findings_of("space-at-special-token", target_of(document, tmp_path))
    assert '"aXb" as " aX b"' in finding.evidence


def test_rule_is_skipped_without_special_tokens(tmp_path: Path) -> None:
    outcome = outcome_of("space-at-special-token", target_of(byte_level(), tmp_path))
    assert outcome.skipped == "it has no special tokens"


def test_partially_covered_numbers_are_uneven(tmp_path: Path) -> None:
    [finding] = findings_of("uneven-digits", target_of(byte_level(*DIGITS[:7]), tmp_path / "some"))
    assert finding.details == {"tokens_by_digits": {"2": 7}}
    assert finding.evidence.startswith("7 of 100 with 2 digits are a token")
    assert findings_of("uneven-digits", target_of(byte_level(*DIGITS), tmp_path / "all")) == ()
    assert findings_of("uneven-digits", target_of(byte_level(("a", "b")), tmp_path / "none")) == ()


def test_indentation_by_single_spaces_is_found(tmp_path: Path) -> None:
    [finding] = findings_of("indentation-by-space", target_of(byte_level(), tmp_path / "single"))
    assert finding.details["tokens_by_spaces"]["16"] >= 15
    runs = byte_level((" ", " "), ("  ", "  "), ("    ", "    "))
    assert findings_of("indentation-by-space", target_of(runs, tmp_path / "runs")) == ()
