"""Templates, truncation, windows and padding agree with `tokenizers` and `transformers` for the same file."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tokenizers
from hypothesis import assume, given
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers, processors

import tokbench
from tokbench.core.batches import PaddingPlan, pad_rows, rows_of
from tokbench.core.truncation import STRATEGIES, TruncationPlan
from tokbench.errors import ConfigError, TextError
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer

TEMPLATES = {
    "none": None,
    "bert": ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"),
    "begin": ("[CLS] $A", "[CLS] $A [CLS]:1 $B:1"),
    "swapped": ("$A [SEP]", "$B:1 [SEP] [SEP] $A [CLS]"),
}
sizes = st.integers(0, 14)
sides = st.sampled_from(["left", "right"])


@cache
def library(template: str) -> tokenizers.Tokenizer:
    words = ["[PAD]", "[CLS]", "[SEP]", *(f"{letter}{number}" for letter in "ab" for number in range(20))]
    library = tokenizers.Tokenizer(
        models.WordLevel({word: id for id, word in enumerate(words)}, unk_token="[PAD]")
    )
    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    library.add_special_tokens(["[PAD]", "[CLS]", "[SEP]"])
    parts = TEMPLATES[template]
    if parts is not None:
        library.post_processor = processors.TemplateProcessing(
            single=parts[0], pair=parts[1], special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
        )
    return library


@cache
def ours(template: str) -> Tokenizer:
    document = library(template).to_str().encode()
    tokenizer = HuggingFaceTokenizer(document, name="words", backend="word")
    tokenizer.file_roles = {"pad": "[PAD]"}
    return tokenizer


def text(letter: str, size: int) -> str:
    return " ".join(f"{letter}{number}" for number in range(size))


@given(
    template=st.sampled_from(list(TEMPLATES)),
    size=sizes,
    pair=st.none() | sizes,
    most=st.integers(0, 16),
    stride=st.integers(0, 4),
    strategy=st.sampled_from(STRATEGIES),
    side=sides,
)
def test_windows_equal_the_librarys(
    *, template: str, size: int, pair: int | None, most: int, stride: int, strategy: str, side: str
) -> None:
    texts = [text("a", size), *([] if pair is None else [text("b", pair)])]
    added = library(template).num_special_tokens_to_add(pair is not None)
    peer = tokenizers.Tokenizer.from_str(library(template).to_str())
    assume(most - added > stride)  # otherwise the library panics or truncates nothing
    peer.enable_truncation(most, stride=stride, strategy=strategy, direction=side)
    try:
        plan = TruncationPlan(max_length=most, stride=stride, strategy=strategy, side=side, overflow=True)
        columns = [[text] for text in texts]
        rows = list(rows_of(ours(template), *columns, truncation=plan, threads=1))
    except TextError as error:
        if "stride" in str(error):
            return  # the library panics then
        with pytest.raises(Exception, match=r"[Tt]runcat|too short|not provided"):
            peer.encode(*texts)
        return
    encoding = peer.encode(*texts)
    expected = [encoding, *encoding.overflowing]
    assert [row.ids for row in rows] == [each.ids for each in expected]
    assert [row.type_ids for row in rows] == [each.type_ids for each in expected]
    assert [row.window for row in rows] == list(range(len(rows)))


@given(
    template=st.sampled_from(list(TEMPLATES)),
    lengths=st.lists(sizes, min_size=1, max_size=5),
    length=st.none() | st.integers(0, 20),
    multiple=st.none() | st.integers(1, 8),
    side=sides,
)
def test_padding_equals_the_librarys(
    template: str, lengths: list[int], length: int | None, multiple: int | None, side: str
) -> None:
    texts = [text("a", size) for size in lengths]
    peer = tokenizers.Tokenizer.from_str(library(template).to_str())
    peer.enable_padding(
        direction=side, pad_id=0, pad_token="[PAD]", length=length, pad_to_multiple_of=multiple
    )
    expected = peer.encode_batch(texts)
    rows = list(rows_of(ours(template), texts, threads=1))
    plan = PaddingPlan(length=length, multiple_of=multiple, side=side)
    longest = max(len(encoding.ids) for encoding in expected)
    if length is not None and longest > plan.width([]):  # the library would return an unpadded longer text
        with pytest.raises(TextError, match="more than the"):
            pad_rows(ours(template), rows, padding=plan)
        return
    batch = pad_rows(ours(template), rows, padding=plan)
    assert batch.ids.tolist() == [encoding.ids for encoding in expected]
    assert batch.attention_mask.tolist() == [encoding.attention_mask for encoding in expected]
    assert batch.type_ids.tolist() == [encoding.type_ids for encoding in expected]


@pytest.mark.real
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("overflow", [False, True])
def test_batches_of_bert_equal_those_of_transformers(shared: Path, side: str, overflow: bool) -> None:
    transformers = pytest.importorskip("transformers")
    folder = shared / "vocab/bert-base-uncased"
    roles = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"}
    peer: Any = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"),
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **roles,
    )
    peer.padding_side = peer.truncation_side = side
    questions = ["Who wrote it, and why?", "When?"]
    answers = ["The one who had the idea wrote all of it in a week of rain. " * 3, "Long ago."]
    expected = peer(
        questions,
        answers,
        padding="longest",
        truncation="only_second",
        max_length=24,
        stride=5 if overflow else 0,
        return_overflowing_tokens=overflow,
        pad_to_multiple_of=8,
        return_tensors="np",
    )
    batch = tokbench.load(folder).batch(
        questions,
        answers,
        max_length=24,
        strategy="only_second",
        stride=5 if overflow else 0,
        overflow=overflow,
        multiple_of=8,
        pad_side=side,
        truncate_side=side,
    )
    for name, array in batch.model_inputs().items():
        assert np.array_equal(array, expected[name]), name
    if overflow:
        assert batch.documents.tolist() == expected["overflow_to_sample_mapping"].tolist()


def test_unknown_template_is_refused() -> None:
    document = tokenizers.Tokenizer.from_str(library("bert").to_str())
    template = processors.TemplateProcessing(single="[CLS] $A", pair="$A $B", special_tokens=[("[CLS]", 1)])
    document.post_processor = processors.Sequence([template, template])
    tokenizer = HuggingFaceTokenizer(document.to_str().encode(), name="twice", backend="word")
    with pytest.raises(ConfigError, match="the template of 'twice' is not known"):
        tokenizer.batch(["a1"])
    assert tokenizer.batch(["a1"], template=False).ids.tolist() == [[4]]


def test_windows_have_the_type_ids_of_the_template() -> None:
    """The library loses types in the windows of a second text if the template gives it the type of the first."""
    peer = tokenizers.Tokenizer.from_str(library("none").to_str())
    peer.post_processor = processors.TemplateProcessing(
        single="$A [SEP]", pair="$A [SEP] $B [SEP]", special_tokens=[("[SEP]", 2)]
    )
    tokenizer = HuggingFaceTokenizer(peer.to_str().encode(), name="t5", backend="word")
    peer.enable_truncation(8)
    encoding = peer.encode(text("a", 9), text("b", 9))
    plan = TruncationPlan(max_length=8, overflow=True)
    rows = list(rows_of(tokenizer, [text("a", 9)], [text("b", 9)], truncation=plan, threads=1))
    expected = [encoding, *encoding.overflowing]
    assert [row.ids for row in rows] == [each.ids for each in expected]
    assert rows[0].type_ids == expected[0].type_ids == [0] * 8
    assert {id for row in rows for id in row.type_ids} == {0}
    assert {id for each in expected[1:] for id in each.type_ids} == {0, 1}


@pytest.mark.parametrize("side", ["left", "right"])
def test_windows_of_pairs_follow_the_order_of_the_template(side: str) -> None:
    peer = tokenizers.Tokenizer.from_str(library("swapped").to_str())
    peer.enable_truncation(5, direction=side)
    encoding = peer.encode(text("a", 3), text("b", 2))
    plan = TruncationPlan(max_length=5, side=side, overflow=True)
    rows = rows_of(ours("swapped"), [text("a", 3)], [text("b", 2)], truncation=plan)
    assert [row.ids for row in rows] == [each.ids for each in [encoding, *encoding.overflowing]]
