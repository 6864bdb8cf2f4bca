"""Tests for the self-test of a saved tokenizer: the texts whose ids are recorded, and the first difference."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from support.byte_tokenizer import MANIFEST, ByteTokenizer

from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import SelfTestError, TextError
from tokbench.store import SelfTestSample, read_manifest
from tokbench.store.saveable import self_test, self_test_texts

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Changed(ByteTokenizer):
    """A tokenizer with other ids for one character, as if a library had changed."""

    def encode(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> list[int]:
        return list(text.replace("東", "东").encode())


@dataclass(frozen=True)
class Broken(ByteTokenizer):
    def encode(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> list[int]:
        raise TextError("no text is good enough")


def test_first_text_with_different_ids_is_named(saved: Path) -> None:
    with pytest.raises(SelfTestError) as caught:
        self_test(Changed(), read_manifest(saved), path=saved)
    assert caught.value.expected == (
        "ids [230, 157, 177, 228, 186, 172, 227, 130 …] for the text "
        "'東京タワーは高い。价格：¥１２３，안녕하세요 세계'"
    )
    assert caught.value.found == "ids [228, 184, 156, 228, 186, 172, 227, 130 …]"
    assert caught.value.hint is not None
    assert "saved with regex 2025.9.1, tokbench 0.1.0" in caught.value.hint


def test_difference_far_into_a_text_is_shown(saved: Path) -> None:
    manifest = replace(MANIFEST, self_test=(SelfTestSample("x" * 1000, (120,) * 999 + (121,)),))
    with pytest.raises(SelfTestError) as caught:
        self_test(ByteTokenizer(), manifest, path=saved)
    assert caught.value.expected == f"ids [… 120, 120, 121] for the text '{'x' * 39}…'"
    assert caught.value.found == "ids [… 120, 120, 120]"


def test_missing_ids_are_a_difference(saved: Path) -> None:
    manifest = replace(MANIFEST, self_test=(SelfTestSample("abc", (97, 98)),))
    with pytest.raises(SelfTestError, match=re.escape("found ids [97, 98, 99]")):
        self_test(ByteTokenizer(), manifest, path=saved)


def test_tokenizer_that_cannot_encode_fails_its_self_test(saved: Path) -> None:
    with pytest.raises(SelfTestError, match="found no text is good enough"):
        self_test(Broken(), MANIFEST, path=saved)


def test_self_test_texts_are_varied_and_depend_on_the_seed_only() -> None:
    texts = self_test_texts(seed=7)
    assert texts == self_test_texts(seed=7)
    assert texts[:8] == self_test_texts(seed=8)[:8]
    assert texts[8:] != self_test_texts(seed=8)[8:]
    assert len(set(texts)) == 12
    for seed in range(50):
        "".join(self_test_texts(seed=seed)).encode()  # raises if there is a lone surrogate
    everything = "".join(texts)
    for awkward in ("\n\t\t", "\r\n", "東", "\u200d", "\u0301", "\u3000", "٣", "ſ", "🇩🇪", "'"):
        assert awkward in everything
