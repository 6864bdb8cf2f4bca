"""Tests that each proof notices the fault that it looks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.huggingface import added
from support.lint import byte_level, target_of

from tokbench.errors import ConversionError
from tokbench.surgery.bpe_document import read_bpe
from tokbench.surgery.documents import pruned_document
from tokbench.surgery.id_map import IdMap
from tokbench.surgery.proofs import check_reachable, check_segmentations, check_tokens

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer
    from tokbench.surgery.proofs import SegmentationProof

MERGES = (("a", "b"), ("ab", "c"), ("b", "c"))
OLD = byte_level(*MERGES)  # 256 ab, 257 abc, 258 bc
MAP = IdMap.closing_up([*range(257), 258], size=259)
NEW = pruned_document(OLD, MAP, path="new")
TEXTS = ["abc bc", "cab", "xyz"]


def opened(document: dict[str, Any], folder: Path) -> Tokenizer:
    return target_of(document, folder).tokenizer


def segmented(
    folder: Path, *, new: dict[str, Any] = NEW, id_map: IdMap = MAP, old: dict[str, Any] = OLD
) -> SegmentationProof:
    return check_segmentations(
        TEXTS,
        tokenizers=(opened(old, folder / "old"), opened(new, folder / "new")),
        documents=(read_bpe(old, path="old"), read_bpe(NEW, path="new")),
        new_document=NEW,
        id_map=id_map,
    )


def test_correct_pruning_is_counted(tmp_path: Path) -> None:
    """Of the pre-tokens "abc", " bc", "cab" and "xyz" only the first has a removed token."""
    assert check_tokens(opened(OLD, tmp_path / "old"), opened(NEW, tmp_path / "new"), MAP) == 258
    assert check_reachable(read_bpe(OLD, path="old"), read_bpe(NEW, path="new")) == 2
    proof = segmented(tmp_path)
    assert (proof.texts, proof.unchanged, proof.changed) == (3, 3, 1)


def test_texts_with_added_tokens_are_skipped(tmp_path: Path) -> None:
    old = byte_level(*MERGES, added_tokens=[added("xy", 259, special=False)])
    assert segmented(tmp_path, old=old).texts == 2


def test_changed_token_of_an_id_is_detected(tmp_path: Path) -> None:
    wrong = IdMap.closing_up([*range(256), 257, 258], size=259)
    with pytest.raises(ConversionError, match="token 257, b'abc', would be b'ab' with the id 256"):
        check_tokens(opened(OLD, tmp_path / "old"), opened(NEW, tmp_path / "new"), wrong)


def test_byte_without_a_token_is_detected(tmp_path: Path) -> None:
    new = byte_level(*MERGES, without=[0])
    id_map = IdMap.closing_up(range(1, 259), size=259)
    with pytest.raises(ConversionError, match="byte 0x00 would have no token"):
        check_tokens(opened(OLD, tmp_path / "old"), opened(new, tmp_path / "new"), id_map)


def test_token_without_its_merge_is_detected() -> None:
    """The merge that makes abc is missing though its parts stay, or it joins other parts."""
    lost = byte_level(MERGES[0], MERGES[2], ("abc", "a"), tokens=["abc"])
    with pytest.raises(ConversionError, match="merging would no longer make the token 'abc'"):
        check_reachable(
            read_bpe(OLD, path="old"), read_bpe({**lost, "model": with_alternative(lost)}, path="new")
        )
    others = byte_level(MERGES[2], ("a", "bc"), MERGES[0])
    with pytest.raises(ConversionError, match="build the token 'abc' from other parts than before"):
        check_reachable(read_bpe(OLD, path="old"), read_bpe(others, path="new"))


def with_alternative(document: dict[str, Any]) -> dict[str, Any]:
    """Return the model with a merge a + bc, which never applies, as a + b merges first."""
    return {**document["model"], "merges": [["a", "b"], ["b", "c"], ["a", "bc"]]}


def test_changed_segmentations_are_detected(tmp_path: Path) -> None:
    other = byte_level(("b", "c"), ("a", "b"))
    with pytest.raises(ConversionError, match="the surviving merges give different ids"):
        segmented(tmp_path, new=other)


def test_changed_pretokens_of_kept_tokens_are_detected(tmp_path: Path) -> None:
    """The map says that abc stays, but the document lacks it."""
    with pytest.raises(
        ConversionError, match="the pre-token 'abc' gets different tokens, although all of its tokens remain"
    ):
        segmented(tmp_path, id_map=IdMap.closing_up(range(259), size=259))
