"""Tests on the page for BPE over characters: made-up documents, compared with their library on any text."""

from __future__ import annotations

import copy
import json
from functools import cache, partial
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

PREPEND = {"type": "Prepend", "prepend": "▁"}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
GEMMA_SPLIT = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
ALWAYS = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": False}
FIRST = ALWAYS | {"prepend_scheme": "first"}
DIGITS = {"type": "Digits", "individual_digits": True}
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
SPECIAL = ("<unk>", "<s>", "</s>")


token = partial(huggingface.added, special=False)


def document(*, vocab: list[str], merges: list[list[str]], **parts: Any) -> dict[str, Any]:
    """Return a document as Llama 2's, changed by `parts`, with further fields of `model` and tokens in `added`."""
    own = [token(text, id, special=True) for id, text in enumerate(SPECIAL)]
    texts = [*SPECIAL, *BYTES, *vocab]
    model = {
        "type": "BPE",
        "vocab": {text: id for id, text in enumerate(texts)},
        "merges": merges,
        "unk_token": "<unk>",
        "fuse_unk": True,
        "byte_fallback": True,
        **parts.pop("model", {}),
    }
    more = [token(text, len(texts) + at, **flags) for at, (text, flags) in enumerate(parts.pop("added", []))]
    normalizer = {"type": "Sequence", "normalizers": [PREPEND, REPLACE]}
    return huggingface.document(model, **{"added_tokens": own + more, "normalizer": normalizer} | parts)


@cache
def learned() -> tuple[list[str], list[list[str]]]:
    """Return the vocabulary and merges that a BPE of `tokenizers` learns from a text."""
    from tokenizers import Tokenizer, models, normalizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.train_from_iterator([TEXT[:400]], trainers.BpeTrainer(vocab_size=150, show_progress=False))
    model = json.loads(tokenizer.to_str())["model"]
    return list(model["vocab"]), model["merges"]


def changed(**parts: Any) -> dict[str, Any]:
    vocab, merges = learned()
    return document(vocab=vocab, merges=merges, **copy.deepcopy(parts))


ADDED = [("<sep>", {}), ("\n\n", {}), ("é", {}), ("  ", {})]
STRIPPING = [("<sep>", {}), ("<b>", {"lstrip": True, "rstrip": True})]
DOCUMENTS: dict[str, dict[str, Any]] = {
    "as llama": {},
    "as gemma": {"normalizer": REPLACE, "pre_tokenizer": GEMMA_SPLIT, "added": ADDED},
    "as mistral now": {"normalizer": None, "pre_tokenizer": FIRST, "added": ADDED},
    "a space in front of parts": {"normalizer": None, "pre_tokenizer": ALWAYS, "added": ADDED},
    "tokens that take white space": {"normalizer": None, "pre_tokenizer": FIRST, "added": STRIPPING},
    "words": {"normalizer": None, "pre_tokenizer": ALWAYS | {"split": True}},
    "digits": {"pre_tokenizer": DIGITS},
    "spaces as they are": {"normalizer": None},
    "unknown together": {"model": {"byte_fallback": False}},
    "unknown apart": {"model": {"byte_fallback": False, "fuse_unk": False}},
}


def written(path: Path, fields: dict[str, Any]) -> Opened:
    path.write_text(json.dumps(fields), encoding="utf-8")
    return opened(path)


def kept(engine: Engine, path: Path, fields: dict[str, Any]) -> Opened:
    """Write and open a document, and register it with the engine as "mine"."""
    tokenizer = written(path, fields)
    engine.call("keep", "mine", tokenizer_data(tokenizer, name="mine").to_json())
    return tokenizer


@pytest.fixture(scope="module", params=DOCUMENTS)
def tokenizer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, engine: Engine
) -> Opened:
    path = tmp_path_factory.mktemp("characters") / "tokenizer.json"
    return kept(engine, path, changed(**DOCUMENTS[request.param]))


PIECES = st.sampled_from(
    [" ", "▁", "\t", "the", "é", "<sep>", " <b> ", "</s>", "\n\n", "<0x41>", "中x", "12"]
)


@given(
    text=st.one_of(HARD_TEXTS, st.lists(PIECES).map("".join)),
    policy=st.sampled_from([SpecialPolicy.TEXT, SpecialPolicy.ENCODE]),
)
def test_ids_equal_the_librarys(engine: Engine, tokenizer: Opened, text: str, policy: SpecialPolicy) -> None:
    ids = engine.call("encode", "mine", text, policy.value)["ids"]
    assert ids == tokenizer.tokenizer.encode(text, special=policy)


LETTERS = st.text("ab▁", min_size=1, max_size=3)


@given(
    pairs=st.lists(st.tuples(LETTERS, LETTERS), max_size=12, unique=True),
    texts=st.lists(st.text("ab cé", max_size=14), min_size=1, max_size=4),
)
def test_any_merges_encode_as_in_the_library(
    engine: Engine, tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]], texts: list[str]
) -> None:
    vocab = dict.fromkeys(["a", "b", "▁"])
    merges = []
    for left, right in pairs:
        if left in vocab and right in vocab:
            merges.append([left, right])
            vocab[left + right] = None
    path = tmp_path_factory.mktemp("made-up") / "tokenizer.json"
    mine = written(path, document(vocab=list(vocab), merges=merges))
    data = tokenizer_data(mine, name="mine").to_json()
    for text in texts:
        assert engine.call("encode", data, text, "text")["ids"] == mine.tokenizer.encode(text)


def test_only_listed_pairs_are_merged_in_their_order(engine: Engine, tmp_path: Path) -> None:
    fields = document(vocab=["▁", "a", "b", "ab", "aba"], merges=[["a", "b"], ["ab", "a"]])
    mine = kept(engine, tmp_path / "tokenizer.json", fields)
    first = len(SPECIAL) + len(BYTES)
    encoded = engine.call("encode", "mine", "aba é", "text")
    assert encoded["ids"] == [first, first + 4, first, 3 + 0xC3, 3 + 0xA9] == mine.tokenizer.encode("aba é")
    assert encoded["spans"] == [[0, 0], [0, 3], [3, 4], [4, 5], [5, 6]]
    assert engine.call("steps", "mine", "aba") == [
        ["its characters", "a|b|a"],
        ["rank 0", "ab|a"],
        ["rank 1", "aba"],
    ]
    fields["model"]["merges"] = [
        ["b", "a"],
        ["a", "b"],
        ["ab", "a"],
    ]  # b and a merge first, so aba is not made
    fields["model"]["vocab"]["ba"] = first + 5
    kept(engine, tmp_path / "tokenizer.json", fields)
    assert engine.call("encode", "mine", "aba", "text")["ids"] == [first, first + 1, first + 5]


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"normalizer": {"type": "NFKC"}}, "it normalizes by NFKC"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "it splits by Whitespace"),
        ({"model": {"end_of_word_suffix": "</w>"}}, "its model asks for end_of_word_suffix"),
    ],
)
def test_unsupported_settings_are_refused_with_the_reason(
    tmp_path: Path, parts: dict[str, Any], why: str
) -> None:
    with pytest.raises(PageError, match=f"this BPE: {why}"):
        tokenizer_data(written(tmp_path / "tokenizer.json", changed(**parts)), name="mine")


@pytest.mark.slow
def test_ten_thousand_generated_texts_have_the_same_ids(engine: Engine, tokenizer: Opened) -> None:
    texts = [text for seed in range(4) for text in generated_texts(["</s>"], seed=100 + seed)]
    assert len(texts) >= 10_000
    assert_same_ids(engine, tokenizer, texts)
