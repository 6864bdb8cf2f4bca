"""Tests that hidden characters in tokens are found where they are planted and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.lint import byte_level, findings_of, target_of

from tokbench.lint.findings import Severity

if TYPE_CHECKING:
    from pathlib import Path

RULES = {"bidi-in-token": "\u202e", "invisible-in-token": "\u200b", "control-in-token": "\x1b"}


@pytest.mark.parametrize(("rule", "character"), RULES.items())
def test_hidden_character_in_a_token_is_found(rule: str, character: str, tmp_path: Path) -> None:
    target = target_of(byte_level(("a", "b"), tokens=[f"x{character}"]), tmp_path)
    [finding] = findings_of(rule, target)
    assert finding.token_ids == (257,)
    assert f"U+{ord(character):04X}" in finding.evidence
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize("rule", RULES)
def test_valid_vocabulary_has_no_findings(rule: str, tmp_path: Path) -> None:
    document = byte_level(("a", "b"), ("\n", "\n"), tokens=["é", "\u200b", "\x1b", "日本"])
    assert findings_of(rule, target_of(document, tmp_path)) == ()
