"""Tests for the rules on vocabulary use: planted waste is found, and ordinary tokens are not."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.lint import byte_level, findings_of, outcome_of, target_of

from tokbench.core.result_json import json_bytes
from tokbench.lint import vocabulary_rules
from tokbench.lint.vocabulary_rules import formed_counts

if TYPE_CHECKING:
    from pathlib import Path


def test_composed_and_decomposed_tokens_are_duplicates(tmp_path: Path) -> None:
    document = byte_level(("a", "b"), tokens=["é", "e\u0301", "ë"])
    [finding] = findings_of("duplicate-token", target_of(document, tmp_path))
    assert finding.token_ids == (257, 258)
    assert finding.evidence == (
        r'they have the same characters, composed differently: token 257 "\xe9" and token 258 "e\u0301"'
    )


def test_many_duplicates_are_one_finding(tmp_path: Path) -> None:
    pairs = [("é", "e\u0301"), ("è", "e\u0300"), ("ê", "e\u0302"), ("à", "a\u0300")]
    document = byte_level(tokens=[form for pair in pairs for form in pair])
    [finding] = findings_of("duplicate-token", target_of(document, tmp_path))
    assert finding.subject == "4 groups of tokens"
    assert finding.token_ids == tuple(range(256, 264))
    assert finding.details["groups"] == [[256, 257], [258, 259], [260, 261], [262, 263]]


def test_valid_vocabulary_has_no_duplicates(tmp_path: Path) -> None:
    assert (
        findings_of("duplicate-token", target_of(byte_level(("a", "b"), tokens=["é", "e"]), tmp_path)) == ()
    )


def test_tokens_across_partial_characters_are_found(tmp_path: Path) -> None:
    document = byte_level((b"\xe4", b"\xb8"), (b" ", b"\xe4"), (b"\xb8", b"\xe4"), ("a", "b"))
    [finding] = findings_of("straddling-token", target_of(document, tmp_path))
    assert finding.token_ids == (257, 258)


JUNK = {
    "-" * 40: "repeats",
    "=-" * 20: "repeats",
    " 3f2504e04f8911d39a0c": "hexadecimal",
    "dGhpcyBpcyBhIHRlc3Q1MjM": "encoded",
    " Leave a comment below or subscribe to our newsletter": "boilerplate",
}
CLEAN = (
    *("understanding", "        ", "-" * 8, "internationalization", "0000000000000000"),
    "isEqualToIgnoringCase",
)


@pytest.mark.parametrize(("token", "reason"), JUNK.items())
def test_junk_token_is_found_with_its_reason(token: str, reason: str, tmp_path: Path) -> None:
    [finding] = findings_of("junk-token", target_of(byte_level(tokens=[token, *CLEAN]), tmp_path))
    assert finding.token_ids == (256,)
    assert reason in finding.evidence


def test_ordinary_tokens_are_not_junk(tmp_path: Path) -> None:
    assert findings_of("junk-token", target_of(byte_level(tokens=CLEAN), tmp_path)) == ()


def test_unused_early_merges_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary_rules, "_LEAST_TOKENS", 10)
    merges = [("a", "b"), ("q", "x"), *((chr(code), "z") for code in range(100, 120))]
    document = byte_level(*merges, without=range(128, 256))
    target = target_of(
        document, tmp_path, corpus=["ab " * 20 + " ".join(f"{chr(code)}z" for code in range(100, 120))]
    )
    findings = findings_of("unused-token", target)
    assert findings == ()  # the first half of the vocabulary is bytes
    assert outcome_of("unused-token", target).figures["never_used"] > 0
    monkeypatch.setattr(vocabulary_rules, "_LEAST_TOKENS", 10_000)
    assert "fewer than 10,000" in (outcome_of("unused-token", target).skipped or "")


def test_unused_token_of_the_first_half_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary_rules, "_LEAST_TOKENS", 10)
    merges = [("q", "x"), *((chr(left), chr(right)) for left in range(97, 113) for right in range(97, 123))]
    target = target_of(byte_level(*merges), tmp_path, corpus=[" ".join("".join(pair) for pair in merges[1:])])
    [finding] = findings_of("unused-token", target)
    assert finding.token_ids == (256,)


def test_token_used_only_inside_another_is_intermediate(tmp_path: Path) -> None:
    document = byte_level(("t", "h"), ("th", "e"), ("a", "n"))
    target = target_of(document, tmp_path, corpus=["the " * 200 + "an " * 200])
    [finding] = findings_of("intermediate-token", target)
    assert finding.token_ids == (256,)
    assert orjson.loads(json_bytes(finding.details)) == {"survival": {"256": 0.0}}
    kept = target_of(document, tmp_path / "kept", corpus=["the " * 200 + "th " * 50])
    assert findings_of("intermediate-token", kept) == ()


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=6),
    st.lists(st.integers(0, 9), min_size=10),
)
def test_formed_counts_equal_those_of_unmerging(pairs: list[tuple[int, int]], uses: list[int]) -> None:
    merges = [(left % new, right % new, new) for new, (left, right) in enumerate(pairs, 4)]
    frequencies = np.array(uses[: 4 + len(merges)], np.int64)
    ways = {new: (left, right) for left, right, new in merges}

    def inside(id: int) -> Counter[int]:
        counted = Counter([id])
        for part in ways.get(id, ()):
            counted.update(inside(part))
        return counted

    expected: Counter[int] = Counter()
    for id, uses_of_id in enumerate(frequencies.tolist()):
        for part, times in inside(id).items():
            expected[part] += times * uses_of_id
    counts = formed_counts(frequencies, merges).tolist()
    assert counts == [expected[id] for id in range(len(frequencies))]
