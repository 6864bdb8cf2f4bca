"""SentencePiece models with a separate vocabulary file give the ids of the transformers classes that read both."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.model_folders import put
from support.sentencepiece_models import variant
from support.texts import characters, texts

import tokbench
from tokbench.core.tokens import SpecialPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.libraries.sentencepiece.tokenizer import SentencePieceTokenizer

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings(
    "ignore:Recommended:UserWarning"
)  # sacremoses, which encoding does not need

MODELS = {
    "MarianTokenizer": "unigram without bytes",
    "M2M100Tokenizer": "bpe with symbols",
    "Speech2TextTokenizer": "unigram with symbols",
}
SOURCE = {"MarianTokenizer": "source.spm"}
ONLY_IN_TABLE = "ЖЩ中한é🙂"
"""Characters that no model here has, some of which are in the vocabularies."""
awkward = st.text(st.sampled_from(ONLY_IN_TABLE + " the<>s/_\u00a0\n") | characters, max_size=30) | texts


def vocabulary(model: SentencePieceTokenizer) -> dict[str, int]:
    """Return a map from pieces to ids in another order, without every fifth piece, and with some more."""
    kept = [piece.text for id, piece in enumerate(model.model.pieces) if id % 5 or id == 0]
    others = [text for text in ("<pad>", "<s>", "</s>", *ONLY_IN_TABLE[::2]) if text not in kept]
    return {text: id for id, text in enumerate(sorted([*kept, *others], key=lambda text: text[::-1]))}


def listed(name: str) -> list[str]:
    """Return the special tokens that the published folders of a class list, as the class requires."""
    if name != "M2M100Tokenizer":
        return []
    from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

    return [f"__{code}__" for code in FAIRSEQ_LANGUAGE_CODES["m2m100"]]


@cache
def both(name: str) -> tuple[Any, Any]:
    """Open a folder of a class here and in transformers."""
    model = variant(MODELS[name])
    with TemporaryDirectory() as place:
        files: Mapping[str, Any] = {
            SOURCE.get(name, "sentencepiece.bpe.model"): model.proto,
            "target.spm": model.proto,
            "vocab.json": json.dumps(vocabulary(model)),
            "tokenizer_config.json": {"tokenizer_class": name, "additional_special_tokens": listed(name)},
        }
        if name != "MarianTokenizer":
            files = {key: value for key, value in files.items() if key != "target.spm"}
        folder = put(Path(place), files)
        return tokbench.load(folder), getattr(transformers, name).from_pretrained(folder)


@pytest.mark.parametrize("name", MODELS)
@given(text=awkward)
def test_ids_equal_those_of_the_class(name: str, text: str) -> None:
    ours, theirs = both(name)
    ids = theirs(text, add_special_tokens=False, split_special_tokens=True).input_ids
    if name == "MarianTokenizer" and text.startswith(">>"):
        return  # the class reads a language code, tokbench reads text
    assert ours.encode(text) == ids
    assert [token.id for token in ours.segment(text).tokens] == ids


@pytest.mark.parametrize("name", MODELS)
@given(parts=st.lists(awkward | st.sampled_from(["</s>", "<pad>", "<unk>", "__fr__"]), max_size=4))
def test_template_and_special_tokens_equal_those_of_the_class(name: str, parts: list[str]) -> None:
    ours, theirs = both(name)
    text = "".join(parts)
    if ">>" in text:
        return
    assert ours.with_template(text, special=SpecialPolicy.ENCODE) == theirs(text).input_ids


@pytest.mark.parametrize("name", MODELS)
@given(batch=st.lists(awkward, max_size=6))
def test_batches_counts_and_spans_equal_single_texts(name: str, batch: list[str]) -> None:
    ours, _ = both(name)
    encoded = ours.encode_batch(batch)
    assert [list(ids) for ids in encoded] == list(map(ours.encode, batch))
    assert ours.count_batch(batch).tolist() == [len(ours.encode(text)) for text in batch]
    spans = ours.encode_spans(batch)
    assert spans.encoded.ids.tolist() == encoded.ids.tolist()
    tokens = [token for text in batch for token in ours.segment(text).tokens]
    assert list(zip(spans.starts.tolist(), spans.stops.tolist(), strict=True)) == [t.span for t in tokens]
    kinds = [("NORMAL", "BYTE", "UNKNOWN", "SPECIAL")[number] for number in spans.kinds]
    assert kinds == [token.kind.name for token in tokens]
