"""Tests that texts are changed before a SentencePiece model as the classes of transformers change them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.model_folders import put
from support.sentencepiece_models import variant
from support.texts import characters, texts

import tokbench
from tokbench.core.token_arrays import encode_spans
from tokbench.core.tokens import SpecialPolicy
from tokbench.opening.text_rules import rules_of_class

transformers = pytest.importorskip("transformers")

MODELS = {"SiglipTokenizer": "unigram as t5", "GPTSw3Tokenizer": "bpe as llama"}
ENDS = {"SiglipTokenizer": "</s>", "GPTSw3Tokenizer": "<s>"}
ODD = "ΣİǅAbé\u0301\u0327 \u00a0\u2009\u200b\u00ad\u0085\x1c\t\r\n\0▁.,'_!¿ㅎㅏ각\u11a8\u0fb2\u0f80"
FRAGMENTS = [*ODD, "the", " Hello", "E\u0323\u0302", "end."]


@cache
def both(name: str) -> tuple[Any, Any]:
    """Open a folder of a class here and in transformers."""
    settings = {"tokenizer_class": name, "unk_token": "<unk>", "pad_token": ENDS[name], "eos_token": "</s>"}
    files = {"spiece.model": variant(MODELS[name]).proto, "tokenizer_config.json": settings}
    with TemporaryDirectory() as place:
        folder = put(Path(place), files)
        return tokbench.load(folder), getattr(transformers, name).from_pretrained(folder)


def marked(name: str) -> st.SearchStrategy[str]:
    """Return texts with odd characters and a special token."""
    return st.lists(st.sampled_from([*FRAGMENTS, ENDS[name]]) | texts | characters, max_size=8).map("".join)


@pytest.mark.parametrize("name", MODELS)
@given(data=st.data())
def test_ids_are_those_of_the_class(name: str, data: st.DataObject) -> None:
    ours, theirs = both(name)
    text = data.draw(marked(name))
    ids = ours.encode(text, special=SpecialPolicy.ENCODE)
    assert ids == theirs(text, add_special_tokens=False).input_ids
    assert [token.id for token in ours.segment(text, special=SpecialPolicy.ENCODE).tokens] == ids


@pytest.mark.parametrize("name", MODELS)
@given(data=st.data())
def test_batches_and_spans_agree_with_single_texts(name: str, data: st.DataObject) -> None:
    ours, _ = both(name)
    batch = data.draw(st.lists(marked(name), max_size=4))
    encoded = ours.encode_batch(batch)
    assert [list(encoded[place]) for place in range(len(batch))] == [ours.encode(text) for text in batch]
    assert list(ours.count_batch(batch)) == [len(ours.encode(text)) for text in batch]
    assert list(encode_spans(ours, batch).encoded.ids) == list(encoded.ids)
    for text in batch:
        spans = [token.span for token in ours.segment(text).tokens]
        bounds = [0, *(bound for span in spans for bound in span), len(text.encode())]
        assert bounds == sorted(bounds)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("SiglipTokenizer", {}),
        ("SiglipTokenizer", {"do_lower_case": False}),
        ("GPTSw3Tokenizer", {}),
        ("DebertaV2Tokenizer", {"do_lower_case": True}),
        ("DebertaV2Tokenizer", {"do_lower_case": True, "split_by_punct": True}),
    ],
)
@given(text=st.lists(st.sampled_from(FRAGMENTS) | texts | characters, max_size=8).map("".join))
def test_each_character_of_a_part_has_an_origin(name: str, settings: dict[str, Any], text: str) -> None:
    rules = rules_of_class(name, settings, unknown="<unk>")
    assert rules is not None
    parts, origins = rules.parts(text), rules.origins(text)
    assert [len(part) for part in parts] == [len(of_part) for of_part in origins]
    bounds = [bound for of_part in origins for origin in of_part for bound in origin]
    assert all(0 <= start <= stop <= len(text) for of_part in origins for start, stop in of_part)
    assert all(later >= earlier for earlier, later in zip(bounds[::2], bounds[2::2], strict=False))
    for part, of_part in zip(parts, origins, strict=True):
        for character, (start, stop) in zip(part, of_part, strict=True):
            alone = "".join(rules.parts(text[start:stop]))
            assert character.isspace() or character in alone or "Σ" in text[start:stop]
