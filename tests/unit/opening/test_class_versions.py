"""Tests for differences of versions and of classes from each other, which are told where files leave them open."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from support.small_files import opened
from support.vocab_and_merges import BYTES, END, MERGES, PIECES, folder_of

import tokbench
from tokbench.formats.tokenizer_config.fields import TokenizerConfig
from tokbench.opening import tokenizer_classes
from tokbench.opening.tokenizer_classes import Declared, class_tokenizer_json, known_class

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


def warned(folder: Path, pieces: Iterable[str], merges: Sequence[str], **settings: Any) -> list[str]:
    made = opened(folder_of(folder, pieces, merges, tokenizer_config=settings))
    return [each for each in made.warnings if "transformers" in each or "Tokenizer" in each]


SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


@pytest.mark.parametrize("name", ["RobertaTokenizer", "BartTokenizerFast", "GPT2Tokenizer"])
def test_the_space_before_a_mask_is_told_of_unless_a_file_sets_its_flags(tmp_path: Path, name: str) -> None:
    said = [
        each
        for each in warned(tmp_path, [*SPECIAL, *PIECES], MERGES, tokenizer_class=name)
        if "<mask>" in each
    ]
    assert len(said) == (name != "GPT2Tokenizer")
    assert all(
        "5 leaves the white space before it, and one of version 4 takes it, as here" in each for each in said
    )
    flags = {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "normalized": False}
    assert warned(tmp_path, [*SPECIAL, *PIECES], MERGES, tokenizer_class=name, mask_token=flags) == []


def test_what_versions_of_blenderbot_do_at_the_ends_is_told_of(tmp_path: Path) -> None:
    name = "BlenderbotTokenizer"
    said = warned(tmp_path, [*SPECIAL, *PIECES], MERGES, tokenizer_class=name)
    assert [each[:70] for each in said] == [
        "no file sets add_prefix_space: a BlenderbotTokenizer of transformers 4",
        "a BlenderbotTokenizer of transformers 5 puts nothing after a text, and",
    ]
    assert (
        len(warned(tmp_path, [*SPECIAL, *PIECES], MERGES, tokenizer_class=name, add_prefix_space=True)) == 1
    )


def test_well_known_merges_of_a_class_that_is_not_known_are_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = hashlib.sha256("".join(f"{merge}\n" for merge in MERGES).encode()).hexdigest()
    monkeypatch.setitem(tokenizer_classes._KNOWN_MERGES, digest, "GPT2Tokenizer")
    [said] = warned(tmp_path, PIECES, MERGES, tokenizer_class="GPTNeoXTokenizer")
    assert said.startswith("the files name a GPTNeoXTokenizer, whose rules are not known here: by its merges")
    assert warned(tmp_path, PIECES, MERGES, tokenizer_class="PreTrainedTokenizerFast") == []


def test_what_clip_does_to_decoded_texts_is_told_of(tmp_path: Path) -> None:
    pieces = [*BYTES, *(f"{byte}</w>" for byte in BYTES), "lo", "low</w>", "<|startoftext|>", END]
    [said] = warned(tmp_path, pieces, ["l o", "lo w</w>"], tokenizer_class="CLIPTokenizer")
    assert said.endswith("not done here: 'a</w>b</w>' is 'a b' there")
    tokenizer = tokbench.load(tmp_path)
    assert tokenizer.decode(tokenizer.encode("low low")) == "low</w>low</w>"
    clip, declared = known_class("CLIPTokenizer"), Declared(config=TokenizerConfig())
    assert clip is not None
    vocab = {piece: id for id, piece in enumerate(pieces)}
    made = class_tokenizer_json(clip, vocab, [["l", "o"], ["lo", "w</w>"]], declared=declared, specials={})
    for name in ("vocab.json", "merges.txt"):
        (tmp_path / name).unlink()
    (tmp_path / "tokenizer.json").write_text(json.dumps(made), encoding="utf-8")
    assert said in opened(tmp_path).warnings
    (tmp_path / "tokenizer_config.json").unlink()
    assert not [each for each in opened(tmp_path).warnings if "CLIP" in each]


def test_deberta_numbers_two_texts_as_version_4_does(tmp_path: Path) -> None:
    special = ["[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]"]
    flags = {"__type": "AddedToken", "content": "[MASK]", "lstrip": True, "normalized": False}
    name = "DebertaTokenizer"
    [said] = warned(tmp_path, [*special, *PIECES], MERGES, tokenizer_class=name, mask_token=flags)
    assert said.startswith("a DebertaTokenizer of transformers 5 puts two sep between two texts")
    row = tokbench.load(tmp_path).model_input("low", "low")
    assert (list(row.ids), list(row.type_ids)) == ([0, 262, 1, 262, 1], [0, 0, 0, 1, 1])
