"""The ids of a model's merges as the compiled module reads them from Python's objects."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.errors import ModelFormatError
from tokbench.opening.native_bpe import CheckedMerges, check_bpe, merge_ids, merge_pairs, repeats_a_merge

PARTS = ["a", "é", "文", "🙂", "ab", "\ud800", "", " "]
part = st.lists(st.sampled_from(PARTS), max_size=3).map("".join)
vocabularies = st.dictionaries(
    part | st.sampled_from(["aé", "éa", "a文", "文🙂"]), st.integers(0, 2**32 - 2), max_size=30
)
merges = st.lists(
    st.tuples(part, part).map(" ".join)
    | st.tuples(part, part).map(list)
    | st.sampled_from([None, 7, ["a"], ["a", "b", "c"], ["a", 1], "a", "a b c", " a", "a "])
)


def by_definition(listed: list[Any], vocab: dict[str, int]) -> list[int] | None:
    """Return the ids of merges; None if one is no pair of pieces, or does not belong to the vocabulary."""
    try:
        pairs = merge_pairs({"merges": listed}, path="")
    except ModelFormatError:
        return None
    ids = [vocab.get(piece) for left, right in pairs for piece in (left, right, left + right)]
    return [id for id in ids if id is not None] if None not in ids else None


@pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")
@given(vocab=vocabularies, listed=merges)
@example(vocab={"a": 1, "é": 2, "aé": 3, "éa": 0}, listed=["a é", ["é", "a"]])
@example(vocab={"a": 0, "": 1}, listed=["a "])
@example(vocab={"a": 0, "": 1}, listed=[["", "a"]])
@example(vocab={"a": 0, "b c": 1, "ab c": 2}, listed=["a b c"])
@example(vocab={"文": 5, "🙂": 6, "文🙂": 7, "a": 1, "a文": 2}, listed=[["文", "🙂"], "a 文"])
def test_ids_are_those_of_the_pieces(vocab: dict[str, int], listed: list[Any]) -> None:
    from tokbench.native import _bpe

    found, expected = _bpe.merge_ids(listed, vocab), by_definition(listed, vocab)
    if any("\ud800" in piece for piece in vocab):  # which has no UTF-8
        assert found is None
    else:
        assert (None if found is None else found.tolist()) == expected


@pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")
@pytest.mark.parametrize("id", [-1, 2**32 - 1, 2**64, 1.0, "1", None, True])
def test_numbers_that_are_no_ids_are_left_to_python(id: Any) -> None:
    from tokbench.native import _bpe

    assert _bpe.merge_ids([], {"a": id}) is None


def test_merges_belong_to_each_vocabulary_that_they_are_read_with() -> None:
    vocab = {"a": 0, "b": 1, "ab": 2, "c": 3}
    model = {"vocab": vocab, "merges": check_bpe({"vocab": vocab, "merges": ["a b"]}, path="")}
    assert isinstance(model["merges"], CheckedMerges)
    assert merge_pairs(model, path="") == [("a", "b")]
    assert merge_ids(model).tolist() == [[0, 1, 2]]
    other = {"ab": 0, "b": 1, "a": 2}
    assert merge_ids({**model, "vocab": other}).tolist() == [[2, 1, 0]]
    with pytest.raises(ModelFormatError, match="merge 0"):
        merge_ids({**model, "vocab": {"a": 0, "b": 1}})


@given(rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3))))
def test_repeated_pairs_are_found(rows: list[tuple[int, int]]) -> None:
    vocab = {letter: id for id, letter in enumerate("abcd")}
    letters = list(vocab)
    vocab |= {
        one + other: 4 + place for place, (one, other) in enumerate((x, y) for x in letters for y in letters)
    }
    listed = [f"{letters[left]} {letters[right]}" for left, right in rows]
    assert repeats_a_merge(merge_ids({"vocab": vocab, "merges": listed})) == (len(set(rows)) != len(rows))
