"""Tests for the tokens that two vocabularies share and the parts of the others, worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.huggingface import added
from support.lint import byte_level, target_of
from support.model_folders import put

import tokbench
from tokbench.surgery.id_map import InitialRows
from tokbench.surgery.shared_tokens import OldTokens, shared_tokens

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer


@pytest.fixture
def old(tmp_path: Path) -> Tokenizer:
    """A tokenizer with 256 ab, 257 abc, 258 ca, 259 <s>, which begins a text, and 260 <pad>."""
    specials = [added("<s>", 259), added("<pad>", 260)]
    document = byte_level(("a", "b"), ("ab", "c"), ("c", "a"), added_tokens=specials)
    config = {"tokenizer_config.json": {"bos_token": "<s>", "pad_token": "<pad>"}}
    return target_of(document, tmp_path / "old", beside=config).tokenizer


@pytest.fixture
def new(tmp_path: Path) -> Tokenizer:
    """A tokenizer with 256 ab, 257 ca, 258 cab, 259 the bytes D0 D0, 260 <pad>, 261 <|begin|>, which begins a text."""
    specials = [added("<pad>", 260), added("<|begin|>", 261)]
    document = byte_level(("a", "b"), ("c", "a"), ("ca", "b"), (b"\xd0", b"\xd0"), added_tokens=specials)
    config = {"tokenizer_config.json": {"bos_token": "<|begin|>", "pad_token": "<pad>"}}
    return target_of(document, tmp_path / "new", beside=config).tokenizer


def test_tokens_are_shared_by_bytes_text_or_role(old: Tokenizer, new: Tokenizer) -> None:
    shared = shared_tokens(old, new)
    assert (shared.same_id, shared.moved, shared.by_role) == (258, 1, {"bos": (259, 261)})
    assert (shared.only_old, shared.only_new) == (1, (258, 259))
    assert shared.id_map.old_to_new[255:] == (255, 256, -1, 257, 261, 260)
    assert shared.id_map.new_to_old[255:] == (255, 256, 258, -1, -1, 260, 259)


def test_special_token_is_not_shared_with_an_ordinary_one(tmp_path: Path, old: Tokenizer) -> None:
    """The other vocabulary has abc as a special token and <s> as an ordinary one."""
    merges = [("<", "s"), ("<s", ">")]
    other = target_of(byte_level(*merges, added_tokens=[added("abc", 258)]), tmp_path / "other").tokenizer
    shared = shared_tokens(old, other)
    assert (shared.same_id, shared.only_old, shared.only_new) == (256, 5, (256, 257, 258))


def test_new_tokens_are_initialized_from_their_old_encoding(old: Tokenizer, new: Tokenizer) -> None:
    """cab is c + ab, as "ab" merges first; bytes that are not valid text are encoded one by one."""
    sources = OldTokens(old).making({258: b"cab", 259: b"\xd0\xd0"})
    assert sources == {258: [99, 256], 259: [0xD0, 0xD0]}
    rows = InitialRows.of(shared_tokens(old, new).id_map, sources)
    assert rows.ids[257:] == ((258,), (99, 256), (0xD0, 0xD0), (260,), (259,))
    assert rows.weights[258] == (0.5, 0.5)


def test_normalized_new_tokens_are_initialized_from_longest_matches(tmp_path: Path) -> None:
    """BERT lower-cases text, so that "caB" is matched by its longest tokens instead; the x of "cabx" is unknown."""
    folder = put(
        tmp_path / "bert", {"vocab.txt": "[UNK]\n[CLS]\n[SEP]\n[PAD]\n[MASK]\nc\nca\ncab\nB\nb\n##b\n"}
    )
    tokens = OldTokens(tokbench.load(folder))
    ids = {name: place for place, name in enumerate(["c", "ca", "cab", "B"], start=5)}
    sources = tokens.making({0: b"cab", 1: b"cabx", 2: b"caB", 3: b"xyz"})
    assert sources == {0: [ids["cab"]], 1: [ids["cab"]], 2: [ids["ca"], ids["B"]], 3: []}
