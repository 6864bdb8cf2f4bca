"""Tests on the page for Unigram of a tokenizer.json: a made-up document, compared with its library on any text."""

from __future__ import annotations

import json
from base64 import b64decode
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import huggingface
from support.byte_level_documents import sequence
from support.huggingface import added
from support.page_tokenizers import assert_same_ids, opened
from support.segmentations import HARD_TEXTS
from support.word_documents import TABLE, WHITESPACE_SPLIT, metaspace

from tokbench.convert.proof_texts import generated_texts
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import PageError
from tokbench.play_page import unigram_document
from tokbench.play_page.tokenizer_data import tokenizer_data

if TYPE_CHECKING:
    from pathlib import Path

    from support.page_engine import Engine

    from tokbench.opening.request import Opened

SCORES = {
    "<unk>": 0.0,
    "</s>": 0.0,
    "▁": -2.1,
    "▁the": -3.3,
    "▁cat": -4.7,
    "s": -3.01,
    "at": -4.003,
    "the": -6.1,
    "안": -7.7,
    "á": -8.1,
    "fi": -5.5,
    "▁1": -4.4,
    "23": -5.05,
    "ca": -6.6,
    **{letter: -9.0 - place / 7 for place, letter in enumerate("abcdefghilnortu12345.,<>/")},
}
CLUSTERS = st.text("aﬁ\u0301\u0300\u0308\u200d\u0600ª© \u2581\r\n가ᄀ\u0e33\U0001f3fb\xad\u0340", max_size=10)


def document(**fields: Any) -> dict[str, Any]:
    model = {"type": "Unigram", "unk_id": 0, "vocab": [list(piece) for piece in SCORES.items()]}
    parts = {
        "added_tokens": [added("<unk>", 0), added("</s>", 1)],
        "normalizer": TABLE,
        "pre_tokenizer": sequence(WHITESPACE_SPLIT, metaspace("always")),
    }
    return huggingface.document(model, **parts | fields)


def written(path: Path, **fields: Any) -> Opened:
    path.write_text(json.dumps(document(**fields)), encoding="utf-8")
    return opened(path)


@pytest.fixture(scope="module", params=["nmt_nfkc", "none"])
def tokenizer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, engine: Engine
) -> Opened:
    fields = {} if request.param == "nmt_nfkc" else {"normalizer": None}
    opened = written(tmp_path_factory.mktemp("unigram") / "tokenizer.json", **fields)
    engine.call("keep", "mine", tokenizer_data(opened, name="mine").to_json())
    return opened


def test_each_word_is_segmented_separately_with_a_prefix_space(engine: Engine, tokenizer: Opened) -> None:
    ids = {piece: id for id, piece in enumerate(SCORES)}
    encoded = engine.call("encode", "mine", "the  cats", "text")
    assert encoded["ids"] == [ids["▁the"], ids["▁cat"], ids["s"]] == tokenizer.tokenizer.encode("the  cats")
    assert encoded["spans"] == [[0, 3], [5, 8], [8, 9]]
    assert engine.call("steps", "mine", "▁cats".encode().decode("latin-1"), encoded["ids"][1:]) == [
        ["the best segmentation: -7.710", "▁cat|s".encode().decode("latin-1")],
        ["-4.700", "▁cat".encode().decode("latin-1")],
        ["-3.010", "s"],
    ]


def test_joined_characters_are_the_same_if_each_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block of which no character joins a neighbour is passed over as a whole."""
    charsmap = b64decode(TABLE["precompiled_charsmap"])
    monkeypatch.setattr(
        unigram_document, "code_points", lambda: chain(range(0x3100), range(0x1F000, 0x1F800))
    )
    found = unigram_document.joined_characters(charsmap)
    monkeypatch.setattr(unigram_document, "_is_plain", lambda *_: False)
    assert unigram_document.joined_characters(charsmap) == found
    assert all(found.values())


@given(
    text=st.one_of(
        HARD_TEXTS,
        CLUSTERS,
        st.text("the cats</s><unk>123 á안", max_size=30),
        st.text("＜／s＞</s> a", max_size=12),
    ),
    policy=st.sampled_from([SpecialPolicy.TEXT, SpecialPolicy.ENCODE]),
)
def test_ids_equal_the_librarys(engine: Engine, tokenizer: Opened, text: str, policy: SpecialPolicy) -> None:
    ids = engine.call("encode", "mine", text, policy.value)["ids"]
    assert ids == tokenizer.tokenizer.encode(text, special=policy)


def test_special_token_in_normalized_text_is_matched(engine: Engine, tokenizer: Opened) -> None:
    """NFKC turns full-width letters into </s>, which the library takes for the special token if these are encoded."""
    text = "a ＜／s＞ b"
    for policy in (SpecialPolicy.TEXT, SpecialPolicy.ENCODE):
        ids = engine.call("encode", "mine", text, policy.value)["ids"]
        assert ids == tokenizer.tokenizer.encode(text, special=policy)
    error = engine.call("encode", "mine", text, "raise").get("error")
    assert error == ("the text has the special token </s> at byte 2" if 1 in ids else None)


@pytest.mark.parametrize(
    "text", ["ª\u302a", "ﬁ\u302a", "ﬁ\u0300", "a\u0301\u0301", "a\u0301\u0301\u0301", "\u0600ª"]
)
def test_short_clusters_are_replaced_as_a_whole(engine: Engine, tokenizer: Opened, text: str) -> None:
    assert engine.call("encode", "mine", text, "text")["ids"] == tokenizer.tokenizer.encode(text)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"normalizer": {"type": "NFC"}}, "it normalizes by NFC"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "it does not split by WhitespaceSplit"),
    ],
)
def test_unsupported_settings_are_refused_with_the_reason(
    tmp_path: Path, fields: dict[str, Any], why: str
) -> None:
    with pytest.raises(PageError, match=f"this Unigram: {why}"):
        tokenizer_data(written(tmp_path / "tokenizer.json", **fields), name="mine")


@pytest.mark.slow
def test_ten_thousand_generated_texts_have_the_same_ids(engine: Engine, tokenizer: Opened) -> None:
    texts = [text for seed in range(4) for text in generated_texts(["</s>"], seed=100 + seed)]
    assert len(texts) >= 10_000
    assert_same_ids(engine, tokenizer, texts)
