"""Tests for the rules on added and special tokens: overlaps, flags that take spaces, and texts that become them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support import huggingface
from support.lint import NO_SPLIT, byte_level, findings_of, outcome_of, target_of

from tokbench.lint.findings import Severity

if TYPE_CHECKING:
    from pathlib import Path

RULES = (
    *("overlapping-added-token", "indistinct-added-token", "added-token-takes-space"),
    *("special-token-from-text", "plain-special-token", "byte-characters-in-added-token"),
)


def with_added(*texts: str, special: bool = True, flags: Any = None, **parts: Any) -> dict[str, Any]:
    tokens = [
        huggingface.added(text, 256 + n, special=special, **(flags or {})) for n, text in enumerate(texts)
    ]
    return byte_level(added_tokens=tokens, **parts)


@pytest.mark.parametrize("rule", RULES)
def test_valid_vocabulary_has_no_findings(tmp_path: Path, rule: str) -> None:
    document = with_added("<|a|>", "<|b|>", flags={"normalized": True})
    assert findings_of(rule, target_of(document, tmp_path)) == ()


@pytest.mark.parametrize("rule", RULES)
def test_rules_are_skipped_without_added_tokens(tmp_path: Path, rule: str) -> None:
    assert "it has no" in str(outcome_of(rule, target_of(byte_level(), tmp_path)).skipped) or rule.startswith(
        "added-token"
    )


def test_tokens_that_can_match_overlapping_text_are_found(tmp_path: Path) -> None:
    [finding] = findings_of("overlapping-added-token", target_of(with_added("[xy]", "y]z"), tmp_path))
    assert finding.token_ids == (256, 257)
    assert finding.severity is Severity.WARNING
    assert finding.details["text"] == "[xy]z"
    [finding] = findings_of("overlapping-added-token", target_of(with_added("<a<", "<b>"), tmp_path / "one"))
    assert finding.severity is Severity.NOTE


def test_prefix_tokens_and_runs_of_spaces_do_not_overlap(tmp_path: Path) -> None:
    target = target_of(with_added("<a", "<a>", "  ", "   ", "    "), tmp_path)
    assert findings_of("overlapping-added-token", target) == ()


def test_tokens_that_are_the_same_in_lower_case_are_found(tmp_path: Path) -> None:
    """The library finds one of them by the order of a hash table with a random seed."""
    document = with_added("Go", "GO", "on", flags={"normalized": True}, normalizer={"type": "Lowercase"})
    target = target_of(document, tmp_path)
    [finding] = findings_of("indistinct-added-token", target)
    assert (finding.token_ids, finding.severity) == ((256, 257), Severity.ERROR)
    [warning] = [each for each in target.opened.warnings if "run to run" in each]
    assert "the added tokens 'Go' and 'GO' have the same normalized text" in warning
    raw = with_added("Go", "GO", flags={"normalized": False}, normalizer={"type": "Lowercase"})
    assert findings_of("indistinct-added-token", target_of(raw, tmp_path / "raw")) == ()


def test_normalized_token_that_takes_a_space_is_found(tmp_path: Path) -> None:
    prepend = {"type": "Replace", "pattern": {"Regex": " ?<t>"}, "content": "<t>"}
    document = with_added("<t>", flags={"normalized": True}, normalizer=prepend)
    [finding] = findings_of("added-token-takes-space", target_of(document, tmp_path))
    assert finding.severity is Severity.WARNING
    assert finding.evidence.startswith('with normalized, it takes the space before it in "a Xb"')
    assert "'aXb'" not in finding.evidence


def test_single_word_token_that_letters_hide_is_noted(tmp_path: Path) -> None:
    document = with_added("tok", flags={"single_word": True})
    [finding] = findings_of("added-token-takes-space", target_of(document, tmp_path))
    assert 'it is not found in "aXb"' in finding.evidence
    assert finding.severity is Severity.NOTE


def test_special_token_that_merges_produce_is_found(tmp_path: Path) -> None:
    document = byte_level(
        ("<", "x"), ("<x", ">"), added_tokens=[huggingface.added("<x>", 257)], pre_tokenizer=NO_SPLIT
    )
    [finding] = findings_of("special-token-from-text", target_of(document, tmp_path))
    assert (finding.token_ids, finding.severity) == ((257,), Severity.ERROR)


def test_special_token_that_the_pattern_splits_is_not_found(tmp_path: Path) -> None:
    document = byte_level(("<", "x"), ("<x", ">"), added_tokens=[huggingface.added("<x>", 257)])
    assert findings_of("special-token-from-text", target_of(document, tmp_path)) == ()


def test_special_tokens_of_plain_words_and_tags_are_found(tmp_path: Path) -> None:
    words, tag = findings_of("plain-special-token", target_of(with_added("user", "</s>", "<|x|>"), tmp_path))
    assert words.token_ids == (256,)
    assert (tag.token_ids, tag.severity) == ((257,), Severity.NOTE)


def test_byte_characters_in_an_added_token_are_found(tmp_path: Path) -> None:
    document = with_added("<|aĠb|>", "<|ā|>", "<｜a▁b｜>")
    [finding] = findings_of("byte-characters-in-added-token", target_of(document, tmp_path))
    assert finding.token_ids == (256,)
    assert finding.details == {"meant": "<|a b|>"}


def test_rule_is_skipped_for_byte_fallback(tmp_path: Path) -> None:
    outcome = outcome_of("byte-characters-in-added-token", target_of(huggingface.byte_fallback(), tmp_path))
    assert outcome.skipped == "its pieces are not written in byte-level characters"
