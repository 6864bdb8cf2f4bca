"""Tampering: swapped ids, other tokens and changed merges are found; equal tokenizers give nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.lint import byte_level, findings_of, outcome_of, target_of

if TYPE_CHECKING:
    from pathlib import Path

MERGES = (("a", "b"), ("c", "d"), ("ab", "cd"))


def test_the_same_tokenizer_has_no_findings(tmp_path: Path) -> None:
    target = target_of(byte_level(*MERGES), tmp_path, reference=byte_level(*MERGES))
    for rule in ("swapped-id", "other-token", "changed-merge"):
        assert findings_of(rule, target) == ()


def test_swapped_ids_are_named(tmp_path: Path) -> None:
    document = byte_level(*MERGES)
    vocab = document["model"]["vocab"]
    vocab["ab"], vocab["cd"] = vocab["cd"], vocab["ab"]
    first, second = findings_of("swapped-id", target_of(document, tmp_path, reference=byte_level(*MERGES)))
    assert (first.subject, first.token_ids) == ('token 256 "cd"', (256, 257))
    assert first.evidence.endswith('"ab"')
    assert second.token_ids == (257, 256)


def test_many_moved_ids_are_one_finding(tmp_path: Path) -> None:
    document = byte_level(*MERGES)
    vocab = document["model"]["vocab"]
    for piece in vocab:
        vocab[piece] += 1
    vocab["new"] = 0
    [finding] = findings_of("swapped-id", target_of(document, tmp_path, reference=byte_level(*MERGES)))
    assert finding.subject == "259 tokens"


def test_tokens_of_one_alone_are_named(tmp_path: Path) -> None:
    target = target_of(
        byte_level(*MERGES, tokens=["new"]), tmp_path, reference=byte_level(*MERGES, tokens=["old"])
    )
    added, missing = findings_of("other-token", target)
    assert (added.token_ids, '"old"' in missing.evidence) == ((259,), True)


def test_a_merge_in_another_place_is_found(tmp_path: Path) -> None:
    target = target_of(byte_level(MERGES[1], MERGES[0], MERGES[2]), tmp_path, reference=byte_level(*MERGES))
    [finding] = findings_of("changed-merge", target)
    assert finding.details == {"rank": 0, "added": 0, "missing": 0, "moved": 1}
    assert '"c" + "d"' in finding.evidence


def test_a_missing_merge_is_found(tmp_path: Path) -> None:
    target = target_of(byte_level(*MERGES[:2], tokens=["abcd"]), tmp_path, reference=byte_level(*MERGES))
    [finding] = findings_of("changed-merge", target)
    assert finding.details == {"rank": 2, "added": 0, "missing": 1, "moved": 0}


def test_without_a_reference_nothing_is_compared(tmp_path: Path) -> None:
    assert outcome_of("swapped-id", target_of(byte_level(), tmp_path)).skipped == "it needs --reference"
