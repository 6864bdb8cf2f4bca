"""Tests that other tokenizers in the folder of a tokenizer are compared with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.lint import byte_level, findings_of, outcome_of, target_of
from support.sentencepiece_models import scored, unknown, written

from tokbench.formats.tiktoken import dump_ranks
from tokbench.lint.findings import Severity

if TYPE_CHECKING:
    from pathlib import Path

RULE = "tokenizers-disagree"
DOCUMENT = byte_level(("a", "b"), ("ab", "c"), (" ", "ab"))
RANKS = [*(bytes([byte]) for byte in range(256)), b"ab", b"abc", b" ab"]
CLASS = {"tokenizer_class": "QWenTokenizer"}


def beside(**files: Any) -> dict[str, Any]:
    return {"tokenizer_config.json": CLASS, **{name.replace("__", "."): file for name, file in files.items()}}


def test_same_tokens_in_another_format_have_no_finding(tmp_path: Path) -> None:
    target = target_of(DOCUMENT, tmp_path, beside={"other_tokenizer.json": DOCUMENT})
    outcome = outcome_of(RULE, target)
    assert outcome.skipped is None
    assert outcome.findings == ()


def test_the_only_tokenizer_of_a_folder_is_not_compared(tmp_path: Path) -> None:
    outcome = outcome_of(RULE, target_of(DOCUMENT, tmp_path, beside={"notes.txt": b"some text with spaces"}))
    assert outcome.skipped == "no other file of its folder is a tokenizer"


def test_other_tokens_are_named_with_both_spellings(tmp_path: Path) -> None:
    ranks = [*RANKS[:256], b"abc", b"ab", b" ab"]
    target = target_of(DOCUMENT, tmp_path, beside=beside(qwen__tiktoken=dump_ranks(ranks)))
    [finding] = findings_of(RULE, target)
    assert finding.subject == "qwen.tiktoken"
    assert finding.evidence == (
        '2 ids are of another token: 256 is "abc" there and "ab" in tokenizer.json, '
        '257 is "ab" there and "abc" in tokenizer.json'
    )


def test_another_split_of_the_same_tokens_is_found_on_texts(tmp_path: Path) -> None:
    document = byte_level(("a", "b"), ("ab", "c"), ("1", "2"))
    other = byte_level(("a", "b"), ("ab", "c"), ("1", "2"), pre_tokenizer=digits())
    [finding] = findings_of(RULE, target_of(document, tmp_path, beside={"other_tokenizer.json": other}))
    assert finding.severity is Severity.WARNING
    assert finding.evidence == (
        'its tokens have the same ids, and "12" is [49, 50] there and [258] by tokenizer.json'
    )


def digits() -> dict[str, Any]:
    split = {"type": "Digits", "individual_digits": True}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {"type": "Sequence", "pretokenizers": [split, level]}


def test_the_unknown_piece_is_not_compared(tmp_path: Path) -> None:
    pieces = ["<unk>", "▁", "a", "b"]
    model = {"type": "Unigram", "unk_id": 0, "vocab": [[piece, -1.0] for piece in pieces]}
    document = byte_level() | {"model": model, "pre_tokenizer": None, "decoder": None}
    spaces = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    document |= {"pre_tokenizer": spaces, "decoder": spaces}
    same = written([unknown(), *scored(dict.fromkeys(pieces[1:], -1.0))])
    assert findings_of(RULE, target_of(document, tmp_path / "same", beside={"tokenizer.model": same})) == ()
    other = written([unknown(), *scored(dict.fromkeys(["▁", "b", "a"], -1.0))])
    [finding] = findings_of(RULE, target_of(document, tmp_path / "other", beside={"tokenizer.model": other}))
    assert finding.evidence.startswith('2 ids are of another token: 2 is "b" there and "a" in tokenizer.json')


@pytest.mark.parametrize("name", ["broken.gguf", "ranks.tiktoken"])
def test_a_damaged_file_is_a_note(tmp_path: Path, name: str) -> None:
    target = target_of(DOCUMENT, tmp_path, beside={name: b"GGUF\3\0\0\0"})
    [finding] = findings_of(RULE, target)
    assert finding.severity is Severity.NOTE
    assert finding.evidence.startswith("it cannot be opened: ")
