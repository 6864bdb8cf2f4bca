"""Tests for WordPiece on the page: hand-made examples, and a comparison with the tokenizers on any text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import huggingface
from support.page_tokenizers import TEXT, assert_same_ids, opened
from support.segmentations import HARD_TEXTS

from tokbench.convert.proof_texts import generated_texts
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import PageError
from tokbench.play_page.tokenizer_data import tokenizer_data

if TYPE_CHECKING:
    from pathlib import Path

    from support.page_engine import Engine

    from tokbench.opening.request import Opened

RULES = {
    "uncased": {"lowercase": True, "strip_accents": None},
    "cased": {"lowercase": False, "strip_accents": None},
    "accents_kept": {"lowercase": True, "strip_accents": False},
    "as_it_is": {
        "lowercase": False,
        "strip_accents": True,
        "clean_text": False,
        "handle_chinese_chars": False,
    },
}
MARKS = st.text("ae\u0301\u302e\u302f\U0001d165\u093c \u200d\u0327안東\x01", max_size=12)


def wordpiece(path: Path, *, added: list[dict[str, Any]] | None = None, **rules: Any) -> Opened:
    """Open a `tokenizer.json` with a few pieces."""
    usual = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True}
    pieces = ["[UNK]", "[CLS]", "the", "cat", "s", "##s", "##at", "c", "##t", "##a", "a", "na", "##ive"]
    pieces += ["東", "café"]
    characters = sorted(set(TEXT) - set(" \n"))
    spelled = [*pieces, *(c for c in characters if c not in pieces), *(f"##{c}" for c in characters)]
    vocab = {piece: id for id, piece in enumerate(dict.fromkeys(spelled))}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocab}
    model |= {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    document = huggingface.document(
        model,
        added_tokens=[
            *(huggingface.added(text, vocab[text]) for text in ("[UNK]", "[CLS]")),
            *(huggingface.added(**fields) for fields in added or []),
        ],
        normalizer={**usual, **rules},
        pre_tokenizer={"type": "BertPreTokenizer"},
    )
    path.write_bytes(huggingface.dump(document))
    return opened(path)


@pytest.fixture(scope="module", params=RULES)
def tokenizer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, engine: Engine
) -> Opened:
    opened = wordpiece(tmp_path_factory.mktemp("wordpiece") / "tokenizer.json", **RULES[request.param])
    engine.call("keep", "mine", tokenizer_data(opened, name="mine").to_json())
    return opened


@pytest.fixture(scope="module")
def uncased(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Opened:
    opened = wordpiece(tmp_path_factory.mktemp("uncased") / "tokenizer.json", **RULES["uncased"])
    engine.call("keep", "uncased", tokenizer_data(opened, name="uncased").to_json())
    return opened


def test_longest_piece_is_matched_first(engine: Engine, uncased: Opened) -> None:
    data = "uncased"
    names = tokenizer_data(uncased, name="mine").fields["pieces"]
    encoded = engine.call("encode", data, "The CATs, ¿", "text")
    assert [names[id] or id for id in encoded["ids"]] == ["the", "cat", "##s", ",", 0]
    assert encoded["spans"] == [[0, 3], [4, 7], [7, 8], [8, 9], [10, 12]]
    assert engine.call("steps", data, "cats") == [
        ["the word", "cats"],
        ["the longest match", "cat|##s"],
        ["the longest match", "cat|##s"],
    ]
    assert engine.call("steps", data, "\xc2\xbf")[-1] == ["nothing matches the rest: unknown", "\xc2\xbf"]


@pytest.mark.parametrize(("size", "ids"), [(100, 100), (101, 1)])
def test_words_of_more_than_100_characters_are_unknown(
    engine: Engine, uncased: Opened, size: int, ids: int
) -> None:
    data = "uncased"
    page_ids = engine.call("encode", data, "a" * size, "text")["ids"]
    assert len(page_ids) == ids
    assert page_ids == uncased.tokenizer.encode("a" * size)
    assert engine.call("encode", data, "\U0001f600" * size, "text")["ids"] == [0]
    assert ("more than 100" in engine.call("steps", data, "a" * size)[-1][0]) == (ids == 1)


@given(
    text=st.one_of(HARD_TEXTS, MARKS, st.text("thecats[CLS]UNK naïve É,東\n", max_size=30)),
    policy=st.sampled_from([SpecialPolicy.TEXT, SpecialPolicy.ENCODE]),
)
def test_ids_equal_the_tokenizers(
    engine: Engine, tokenizer: Opened, text: str, policy: SpecialPolicy
) -> None:
    data = "mine"
    encoded = engine.call("encode", data, text, policy.value)
    assert encoded["ids"] == tokenizer.tokenizer.encode(text, special=policy)


@given(text=st.text("thecats naive,É안東\n", max_size=30))
def test_spans_equal_the_tokenizers(engine: Engine, tokenizer: Opened, text: str) -> None:
    data = "mine"
    wanted = tokenizer.tokenizer.segment(text).tokens
    assert engine.call("encode", data, text, "text")["spans"] == [list(token.span) for token in wanted]


def test_added_tokens_match_by_their_flags(engine: Engine, tmp_path: Path) -> None:
    added = [
        {"id": 900, "content": "<m>", "special": True, "lstrip": True},
        {"id": 901, "content": "<n>", "special": False, "rstrip": True},
    ]
    mine = wordpiece(tmp_path / "tokenizer.json", added=added, **RULES["uncased"])
    data = tokenizer_data(mine, name="mine").to_json()
    for text in ["the <m> cat", "the <n>  cat <n>", "<m><n>", "<N> <m"]:
        for policy in (SpecialPolicy.TEXT, SpecialPolicy.ENCODE):
            ids = engine.call("encode", data, text, policy.value)["ids"]
            assert ids == mine.tokenizer.encode(text, special=policy)
    assert "ids" in engine.call("encode", data, "<n>", "raise")
    assert "error" in engine.call("encode", data, "<m>", "raise")


@pytest.mark.parametrize(
    ("flag", "why"), [("normalized", "in the normalized text"), ("single_word", "matches whole words only")]
)
def test_unsupported_token_flags_are_refused_with_the_reason(tmp_path: Path, flag: str, why: str) -> None:
    added = [{"id": 900, "content": "<m>", "special": True, flag: True}]
    mine = wordpiece(tmp_path / "tokenizer.json", added=added, **RULES["uncased"])
    with pytest.raises(PageError, match=f"added token '<m>'.* {why}"):
        tokenizer_data(mine, name="mine")


def test_unsupported_normalizer_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    wordpiece(path, **RULES["uncased"])
    document = json.loads(path.read_text("utf-8")) | {"normalizer": {"type": "NFKC"}}
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(PageError, match="this WordPiece: it normalizes by NFKC"):
        tokenizer_data(opened(path), name="mine")


@pytest.mark.slow
def test_ten_thousand_generated_texts_have_the_same_ids(engine: Engine, tokenizer: Opened) -> None:
    texts = [text for seed in range(4) for text in generated_texts(["[CLS]", "[UNK]"], seed=100 + seed)]
    assert len(texts) >= 10_000
    assert_same_ids(engine, tokenizer, texts)
