"""Tests for a pruned `tokenizer.json`: everything that names an id names the new id."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
import tokenizers
from support.huggingface import added
from support.lint import byte_level

from tokbench.errors import ConfigError, ConversionError, SurgeryError
from tokbench.surgery.bpe_document import read_bpe
from tokbench.surgery.documents import extended_document, pruned_document
from tokbench.surgery.id_map import IdMap

PATH = "tokenizer.json"
# 256 ab, 257 abc, 258 bc, 259 <s> (in the vocabulary), 260 </s> (added after it)
SPECIALS = [added("<s>", 259), added("</s>", 260)]


def small(**parts: Any) -> dict[str, Any]:
    merges = (("a", "b"), ("ab", "c"), ("b", "c"))
    return byte_level(*merges, tokens=["<s>"], added_tokens=SPECIALS, **parts)


def without(document: dict[str, Any], *ids: int) -> dict[str, Any]:
    kept = [id for id in range(261) if id not in ids]
    return pruned_document(document, IdMap.closing_up(kept, size=261), path=PATH)


def test_ids_of_pieces_and_added_tokens_close_up() -> None:
    changed = without(small(), 257)
    model = changed["model"]
    assert [model["vocab"][piece] for piece in ("ab", "bc", "<s>")] == [256, 257, 258]
    assert "abc" not in model["vocab"]
    assert model["merges"] == [["a", "b"], ["b", "c"]]
    assert [token["id"] for token in changed["added_tokens"]] == [258, 259]


def test_merges_keep_their_spelling() -> None:
    assert without(small(model={"merges": ["a b", "ab c", "b c"]}), 258)["model"]["merges"] == ["a b", "ab c"]


def test_templates_and_padding_get_the_new_ids() -> None:
    template = {
        "type": "TemplateProcessing",
        "special_tokens": {"<s>": {"id": "<s>", "ids": [259], "tokens": ["<s>"]}},
    }
    roberta = {"type": "RobertaProcessing", "sep": ["</s>", 260], "cls": ["<s>", 259]}
    padding = {"strategy": "BatchLongest", "pad_id": 260, "pad_token": "</s>"}
    both = {"type": "Sequence", "processors": [template, roberta]}
    changed = without(small(post_processor=both, padding=padding), 257, 258)
    done = changed["post_processor"]["processors"]
    assert done[0]["special_tokens"]["<s>"]["ids"] == [257]
    assert (done[1]["sep"], done[1]["cls"]) == (["</s>", 258], ["<s>", 257])
    assert changed["padding"]["pad_id"] == 258


def test_removing_an_id_used_by_settings_is_refused() -> None:
    padding = {"strategy": "BatchLongest", "pad_id": 257, "pad_token": "abc"}
    with pytest.raises(ConversionError, match="the id 257 is used by the file's settings"):
        without(small(padding=padding), 257)


def test_bytes_and_added_tokens_are_kept() -> None:
    read = read_bpe(small(), path=PATH)
    assert read.parts.kept == {*range(256), 259, 260}
    assert read.added == {"<s>": 259, "</s>": 260}
    assert read.parts.parts == {256: (97, 98), 257: (256, 99), 258: (98, 99)}
    assert read.segment("abc") == [257]


@pytest.mark.parametrize("unknown", [None, "<s>"])
@pytest.mark.parametrize("joins", [False, True])
def test_bytes_without_a_piece_are_skipped_or_unknown(unknown: str | None, joins: bool) -> None:
    """Vocabularies that were learned without the byte alphabet lack the pieces of some bytes."""
    document = small(model={"unk_token": unknown, "fuse_unk": joins})
    for piece in "xy":
        del document["model"]["vocab"][piece]
    library = tokenizers.Tokenizer.from_str(json.dumps(document))
    read = read_bpe(document, path=PATH)
    for text in ("axb", "xxabcyx", "x", "abxcyyyab"):
        assert read.segment(text) == library.encode(text).ids


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ({"type": "WordPiece", "vocab": {}}, "only BPE merges tokens, and this is WordPiece"),
        ({"type": "BPE", "vocab": {"▁a": 0}, "merges": []}, "it is not a byte-level BPE"),
        ({"type": "BPE", "vocab": {}, "merges": [], "end_of_word_suffix": "</w>"}, "a prefix or a suffix"),
    ],
)
def test_other_models_are_refused(model: dict[str, Any], why: str) -> None:
    with pytest.raises(ConversionError, match=why):
        read_bpe({"model": model}, path=PATH)


def test_piece_that_no_text_produces_is_kept() -> None:
    """Command R's vocabulary has such a piece, U+200D as a character, besides its bytes."""
    document = small()
    document["model"]["vocab"]["\u200d"] = 261
    read = read_bpe(document, path=PATH)
    assert read.unspelled == {"\u200d"}
    assert 261 in read.parts.kept
    assert 261 not in read.token_bytes
    document["model"]["merges"].append(["a", "\u200d"])
    document["model"]["vocab"]["a\u200d"] = 262
    with pytest.raises(
        ConversionError, match="this vocabulary cannot be changed: it is not a byte-level BPE"
    ):
        read_bpe(document, path=PATH)


def document(**changes: Any) -> dict[str, Any]:
    """Return a document in which 256 is th and 257 is <eos>."""
    fields: dict[str, Any] = byte_level(("t", "h"), added_tokens=[added("<eos>", 257)])
    return fields | changes


def test_old_ids_stay_and_new_merges_come_last() -> None:
    extended = extended_document(
        document(), {"the": 258}, merges=[("th", "e")], special_tokens={"<tool>": 259}
    )
    assert extended["model"]["merges"][-1] in ("th e", ["th", "e"])
    assert len(extended["model"]["merges"]) == len(document()["model"]["merges"]) + 1
    opened = tokenizers.Tokenizer.from_buffer(orjson.dumps(extended))
    assert opened.encode("the<eos><tool>", add_special_tokens=False).ids == [258, 257, 259]
    assert (opened.token_to_id("<eos>"), opened.token_to_id("<tool>")) == (257, 259)


def test_merges_keep_the_spelling_of_the_file() -> None:
    old, new = document(), {"pieces": {"the": 258}, "merges": [("th", "e")], "special_tokens": {}}
    old["model"]["merges"] = ["t h"]
    assert extended_document(old, **new)["model"]["merges"] == ["t h", "th e"]  # type: ignore[arg-type]
    old["model"]["merges"] = [["t", "h"]]
    assert extended_document(old, **new)["model"]["merges"][1] == ["th", "e"]  # type: ignore[arg-type]


def test_existing_special_token_is_refused() -> None:
    with pytest.raises(ConfigError, match="'<eos>' is a token already"):
        extended_document(document(), {}, special_tokens={"<eos>": 258})


def test_unigram_pieces_and_special_tokens_are_appended() -> None:
    old = {"model": {"type": "Unigram", "vocab": [["a", -1.0], ["b", -2.0]]}}
    extended = extended_document(old, {"ab": 2}, scores={"ab": -2.5}, special_tokens={"<tool>": 3})
    assert extended["model"]["vocab"] == [["a", -1.0], ["b", -2.0], ["ab", -2.5]]
    assert [(token["content"], token["id"]) for token in extended["added_tokens"]] == [("<tool>", 3)]
    with pytest.raises(SurgeryError, match="no token has the id 3, so 'ba' cannot have the id 4"):
        extended_document(extended, {"ba": 4}, scores={"ba": -3.0}, special_tokens={})
