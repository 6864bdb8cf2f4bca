"""Batches: rows of equal length for a model, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokbench
from tokbench.core.truncation import TruncationPlan, text_windows
from tokbench.errors import ConfigError, TextError, TokbenchError

PAD = 256


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tokbench.train([], backend="byte", special_tokens=["<pad>"], roles={"pad": "<pad>"})


def test_batch_has_padded_arrays(tokenizer: Any) -> None:
    batch = tokenizer.batch(["abc", "", "d"])
    assert batch.ids.tolist() == [[97, 98, 99], [PAD] * 3, [100, PAD, PAD]]
    assert batch.attention_mask.tolist() == [[1, 1, 1], [0, 0, 0], [1, 0, 0]]
    assert batch.type_ids.tolist() == [[0] * 3] * 3
    assert batch.documents.tolist() == [0, 1, 2]
    assert {array.dtype for array in batch.model_inputs().values()} == {np.dtype("int64")}
    assert repr(batch) == "<3 rows of 3 tokens, int64>"
    assert len(batch) == 3


def test_padding_side_length_and_dtype_are_options(tokenizer: Any) -> None:
    batch = tokenizer.pad([[1], [2, 3]], to=4, side="left", dtype="uint16")
    assert batch.ids.tolist() == [[PAD, PAD, PAD, 1], [PAD, PAD, 2, 3]]
    assert batch.ids.dtype == batch.attention_mask.dtype == np.uint16
    assert tokenizer.pad([[1], [2, 3, 4]], multiple_of=4).ids.shape == (2, 4)
    assert tokenizer.pad(tokenizer.encode_batch(["ab", "c"])).ids.tolist() == [[97, 98], [99, PAD]]
    assert tokenizer.pad([np.array([5, 6], np.uint32), (7,)]).ids.tolist() == [[5, 6], [7, PAD]]


def test_pairs_have_type_ids(tokenizer: Any) -> None:
    batch = tokenizer.batch(["ab", "c"], ["d", "efg"])
    assert batch.ids.tolist() == [[97, 98, 100, PAD], [99, 101, 102, 103]]
    assert batch.type_ids.tolist() == [[0, 0, 1, 0], [0, 1, 1, 1]]


def test_empty_batch_is_valid(tokenizer: Any) -> None:
    assert tokenizer.batch([]).ids.shape == (0, 0)
    assert tokenizer.pad([], to=5).ids.shape == (0, 5)
    assert tokenizer.pad([[]]).ids.shape == (1, 0)


def test_windows_have_the_index_of_their_text(tokenizer: Any) -> None:
    batch = tokenizer.batch(["abcdefg", "xy"], max_length=4, stride=1, overflow=True)
    assert [bytes(row[row < PAD].tolist()) for row in batch.ids] == [b"abcd", b"defg", b"xy"]
    assert batch.documents.tolist() == [0, 0, 1]
    batch = tokenizer.batch(["abcdefg"], max_length=4, stride=1, overflow=True, truncate_side="left")
    assert [bytes(row.tolist()) for row in batch.ids] == [b"defg", b"abcd"]


def test_rows_of_equal_length_need_no_pad_token() -> None:
    plain = tokbench.train([], backend="byte")
    assert plain.batch(["ab", "cd"]).ids.tolist() == [[97, 98], [99, 100]]
    with pytest.raises(ConfigError, match="none has the role pad") as caught:
        plain.batch(["ab", "c"])
    assert "--special-token" in caught.value.hint
    with pytest.raises(ConfigError) as caught:
        tokbench.train([], backend="byte", special_tokens=["<end>"]).pad([[1], []])
    assert "--role 'pad=<end>'" in caught.value.hint


@given(
    size=st.integers(0, 40),
    length=st.integers(1, 12),
    stride=st.integers(0, 11),
    side=st.sampled_from(["left", "right"]),
)
def test_windows_equal_their_definition(size: int, length: int, stride: int, side: str) -> None:
    stride = min(stride, length - 1)
    tokens = list(range(size)) if side == "right" else list(range(size))[::-1]
    expected, start = [tokens[:length]], length - stride
    while expected[-1] and expected[-1][-1] != tokens[-1]:
        expected.append(tokens[start : start + length])
        start += length - stride
    windows = text_windows(size, length=length, stride=stride, side=side)
    assert [sorted(row) for row in expected] == [list(window) for window in windows]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_length": -1}, "max_length is -1"),
        ({"max_length": True}, "max_length is True"),
        ({"max_length": 2.5}, "max_length is 2.5"),
        ({"stride": -1}, "stride is -1"),
        ({"stride": 2}, "need a length"),
        ({"overflow": True}, "need a length"),
        ({"max_length": 5, "stride": 2}, "no effect without overflow"),
        ({"max_length": 5, "stride": 5, "overflow": True}, "the largest stride is 4"),
        ({"max_length": 0, "overflow": True}, "no room for text"),
        ({"strategy": "longest"}, "did you mean 'longest_first'"),
        ({"truncate_side": "middle"}, "there is no side 'middle'"),
        ({"pad_side": "Left"}, "there is no side 'Left'"),
        ({"pad_to": -3}, "the length to pad to is -3"),
        ({"pad_to": "max"}, "the length to pad to is 'max'"),
        ({"pad_to": 10**12}, "it must be at most"),
        ({"multiple_of": 0}, "multiple_of is 0"),
        ({"pad_to": 3}, "more than the 3 to pad to"),
        ({"dtype": "float32"}, "there is no dtype"),
        ({"max_length": 3, "strategy": "only_second"}, "the second text has too few tokens"),
    ],
)
def test_invalid_options_are_refused(tokenizer: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(TokbenchError) as caught:
        tokenizer.batch(["abcdefgh"], **options)
    assert words in f"{caught.value.message} {caught.value.hint}"


def test_invalid_batches_are_refused(tokenizer: Any) -> None:
    with pytest.raises(TextError, match="needs the ids of several texts"):
        tokenizer.pad([1, 2])
    with pytest.raises(TextError, match="needs the ids of several texts"):
        tokenizer.pad(["text"])
    for wrong in (None, 3, 1.5, "text", b"text", tokenizer.batch(["a"])):
        with pytest.raises(TextError, match="needs the ids of several texts"):
            tokenizer.pad(wrong)
    with pytest.raises(TextError, match="a list of texts"):
        tokenizer.batch("text")
    with pytest.raises(TextError, match="1 first texts of pairs, but 2 second"):
        tokenizer.batch(["a"], ["b", "c"])
    with pytest.raises(TextError, match="surrogate"):
        tokenizer.batch(["a\ud800"])


@pytest.mark.parametrize(
    ("id", "dtype"), [(70_000, "uint16"), (-1, "uint32"), (2**31, "int32"), (2**63, "int64")]
)
def test_pad_refuses_ids_beyond_the_dtype(tokenizer: Any, id: int, dtype: str) -> None:
    with pytest.raises(ConfigError, match=f"the id {id} of text 1 does not fit into {dtype}"):
        tokenizer.pad([[1, 2], [3, id]], dtype=dtype)


def test_numpy_integers_are_accepted_as_numbers(tokenizer: Any) -> None:
    two = np.int64(2)
    assert tokenizer.batch(["abc"], max_length=two, pad_to=np.uint8(4)).ids.tolist() == [[97, 98, PAD, PAD]]
    assert tokenizer.pad([[1]], to=two, multiple_of=two).ids.tolist() == [[1, PAD]]
    assert tokenizer.truncate("abc", two) == "ab"
    assert [chunk.text for chunk in tokenizer.chunk("abc", max_tokens=two)] == ["ab", "c"]
    assert len(tokenizer.encode_batch(["a"], threads=two)) == 1


def test_ids_beyond_the_dtype_are_refused() -> None:
    large = tokbench.train(["".join(map(chr, range(0x10000, 0x20010)))], backend="char", vocab_size=70_000)
    with pytest.raises(ConfigError, match=r"65,\d\d\d ids do not fit into uint16"):
        large.batch(["a"], dtype="uint16")


def test_template_tokens_count_towards_max_length(tokenizer: Any) -> None:
    TruncationPlan(max_length=3, overflow=True).check_room(2)
    with pytest.raises(ConfigError, match="the template alone adds 2"):
        TruncationPlan(max_length=1).check_room(2)
    TruncationPlan(max_length=2).check_room(2)
