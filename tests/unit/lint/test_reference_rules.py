"""Tests that tampering is found (swapped ids, changed tokens and merges) and that equal tokenizers give no findings."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest
from support import huggingface
from support.lint import NO_SPLIT, byte_level, findings_of, outcome_of, target_of

from tokbench.lint import reference_rules
from tokbench.lint.findings import Severity

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.lint.target import LintTarget

TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [259], "tokens": ["<s>"]}},
}
MERGES = (("a", "b"), ("c", "d"), ("ab", "cd"))


def test_identical_tokenizer_has_no_findings(tmp_path: Path) -> None:
    target = target_of(byte_level(*MERGES), tmp_path, reference=byte_level(*MERGES))
    for rule in ("swapped-id", "other-token", "changed-merge", "changed-setting", "other-ids"):
        assert findings_of(rule, target) == ()


def test_swapped_ids_are_found(tmp_path: Path) -> None:
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


def test_tokens_of_only_one_tokenizer_are_found(tmp_path: Path) -> None:
    target = target_of(
        byte_level(*MERGES, tokens=["new"]), tmp_path, reference=byte_level(*MERGES, tokens=["old"])
    )
    added, missing = findings_of("other-token", target)
    assert (added.token_ids, '"old"' in missing.evidence) == ((259,), True)


def test_moved_merge_is_found(tmp_path: Path) -> None:
    target = target_of(byte_level(MERGES[1], MERGES[0], MERGES[2]), tmp_path, reference=byte_level(*MERGES))
    [finding] = findings_of("changed-merge", target)
    assert finding.details == {"rank": 0, "added": 0, "missing": 0, "moved": 1}
    assert '"c" + "d"' in finding.evidence


def test_missing_merge_is_found(tmp_path: Path) -> None:
    target = target_of(byte_level(*MERGES[:2], tokens=["abcd"]), tmp_path, reference=byte_level(*MERGES))
    [finding] = findings_of("changed-merge", target)
    assert finding.details == {"rank": 2, "added": 0, "missing": 1, "moved": 0}


def test_rules_are_skipped_without_a_reference(tmp_path: Path) -> None:
    assert outcome_of("swapped-id", target_of(byte_level(), tmp_path)).skipped == "it needs --reference"


REFERENCE_RULES = [rule.name for rule in reference_rules.RULES]


def outcomes(target: LintTarget) -> dict[str, tuple[str, ...]]:
    """Return the subjects of the findings of each rule that has findings."""
    by_rule = {rule: outcome_of(rule, target).findings for rule in REFERENCE_RULES}
    return {
        rule: tuple(finding.subject for finding in findings) for rule, findings in by_rule.items() if findings
    }


@pytest.mark.parametrize(
    ("changed", "setting"),
    [
        ({"pre_tokenizer": NO_SPLIT}, "the split pattern"),
        ({"normalizer": {"type": "NFC"}}, "the normalizer"),
        ({"normalizer": {"type": "Lowercase"}}, "the normalizer.type"),
        ({"post_processor": TEMPLATE}, "the template"),
        ({"added_tokens": [huggingface.added("<s>", 259, lstrip=True)]}, 'the special token "<s>".lstrip'),
    ],
    ids=["pattern", "nfc", "lowercase", "template", "flag"],
)
def test_changed_setting_is_found_with_a_text(tmp_path: Path, changed: dict[str, Any], setting: str) -> None:
    merges = (("a", " "), ("a", "b"), ("A", "A"))
    plain = {"added_tokens": [huggingface.added("<s>", 259)]}
    document, reference = (
        byte_level(*merges, tokens=["<s>"], **{**plain, **parts}) for parts in (changed, {})
    )
    subjects = outcomes(target_of(document, tmp_path, reference=reference))
    assert subjects.keys() == {"changed-setting", "other-ids"}
    assert setting in subjects["changed-setting"]
    [finding] = findings_of("other-ids", target_of(document, tmp_path / "again", reference=reference))
    assert finding.details["here"] != finding.details["there"]


def test_setting_that_changes_no_text_is_a_note(tmp_path: Path) -> None:
    flagged = [huggingface.added("<s>", 259, normalized=True)]
    document = byte_level(*MERGES, tokens=["<s>"], added_tokens=flagged)
    reference = byte_level(*MERGES, tokens=["<s>"], added_tokens=[huggingface.added("<s>", 259)])
    [finding] = findings_of("changed-setting", target_of(document, tmp_path, reference=reference))
    assert finding.severity is Severity.NOTE


def test_changed_scores_are_found(tmp_path: Path) -> None:
    def unigram(score: float) -> dict[str, Any]:
        vocab = [["<unk>", 0.0], ["a", -1.0], ["b", -1.0], ["ab", score]]
        return huggingface.document({"type": "Unigram", "vocab": vocab, "unk_id": 0})

    subjects = outcomes(target_of(unigram(-9.0), tmp_path, reference=unigram(-1.5)))
    assert subjects.keys() == {"changed-score", "other-ids"}
    assert subjects["changed-score"] == ("1 score",)


def test_merges_of_ranks_and_of_a_list_are_compared_as_bytes(tmp_path: Path) -> None:
    ranks = [bytes([byte]) for byte in range(256)] + [b"ab", b"cd", b"abcd"]
    lines = b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(ranks))
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(lines)
    same = target_of(path, tmp_path, pattern="gpt2", reference=byte_level(*MERGES))
    assert findings_of("changed-merge", same) == ()
    reordered = byte_level(MERGES[1], MERGES[0], MERGES[2])
    other = target_of(path, tmp_path / "other", pattern="gpt2", reference=reordered)
    [finding] = findings_of("changed-merge", other)
    assert finding.subject == "merges from rank 0 on"
