"""Pruning of merges: it removes the same leaves as the textbook, and the remaining vocabulary segments like it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tokbench.surgery import reference
from tokbench.surgery.leaves import Leaves, merge_parts, merged

if TYPE_CHECKING:
    from collections.abc import Sequence

LETTERS = "abc"


class Vocabulary(NamedTuple):
    """Pieces with their ids, and pairs of pieces that merge, which `merges` gives as ids."""

    vocab: dict[str, int]
    pairs: list[tuple[str, str]]

    @property
    def merges(self) -> list[tuple[int, int, int]]:
        return [(self.vocab[one], self.vocab[other], self.vocab[one + other]) for one, other in self.pairs]


@st.composite
def vocabularies(draw: st.DrawFn) -> Vocabulary:
    """Draw merges of any two known pieces, each of which makes a new piece."""
    pieces, pairs = list(LETTERS), []
    for _ in range(draw(st.integers(0, 14))):
        pair = (draw(st.sampled_from(pieces)), draw(st.sampled_from(pieces)))
        if pair[0] + pair[1] not in pieces:
            pieces.append(pair[0] + pair[1])
            pairs.append(pair)
    return Vocabulary({piece: id for id, piece in enumerate(pieces)}, pairs)


def frequencies_of(draw: st.DrawFn, vocabulary: Vocabulary) -> dict[int, int]:
    return {id: draw(st.integers(0, 5)) for id in vocabulary.vocab.values()}


def symbols(vocabulary: Vocabulary, text: str) -> list[int]:
    return [vocabulary.vocab[letter] for letter in text]


@given(vocabularies(), st.data())
def test_removed_leaves_equal_the_reference(vocabulary: Vocabulary, data: st.DataObject) -> None:
    frequencies = frequencies_of(data.draw, vocabulary)
    ids = st.sets(st.sampled_from(sorted(vocabulary.vocab.values())))
    kept, selected = data.draw(ids), data.draw(ids)
    size = data.draw(st.none() | st.integers(len(LETTERS), len(vocabulary.vocab)))
    min_count = data.draw(st.none() | st.integers(0, 9))
    stay = kept | set(range(len(LETTERS)))
    expected = reference.prune(
        vocabulary.merges,
        frequencies,
        kept=kept,
        selected=selected,
        most=len(vocabulary.pairs) if size is None else max(size, len(stay)) - len(LETTERS),
        min_count=min_count,
    )
    removal = Leaves(merge_parts(vocabulary.vocab, vocabulary.pairs, kept=kept), frequencies).choose(
        selected=selected, size=None if size is None else max(size, len(stay)), min_count=min_count
    )
    assert list(removal.ids) == expected.removed
    assert removal.frequencies == expected.frequencies


@given(vocabularies(), st.text(LETTERS, max_size=24))
def test_merging_equals_the_reference(vocabulary: Vocabulary, text: str) -> None:
    ranks = {pair: rank for rank, pair in enumerate(vocabulary.pairs)}
    expected = reference.segment(symbols(vocabulary, text), vocabulary.merges)
    assert [vocabulary.vocab[part] for part in merged(text, ranks)] == expected


@given(vocabularies(), st.lists(st.text(LETTERS, max_size=16), max_size=8), st.data())
def test_pretoken_of_kept_tokens_is_segmented_alike(
    vocabulary: Vocabulary, texts: Sequence[str], data: st.DataObject
) -> None:
    frequencies = frequencies_of(data.draw, vocabulary)
    left = reference.prune(
        vocabulary.merges, frequencies, most=data.draw(st.integers(0, len(vocabulary.pairs)))
    )
    for text in texts:
        before = reference.segment(symbols(vocabulary, text), vocabulary.merges)
        if not set(before) & set(left.removed):
            assert reference.segment(symbols(vocabulary, text), left.merges) == before


@given(vocabularies(), st.data())
def test_every_kept_merge_has_its_parts(vocabulary: Vocabulary, data: st.DataObject) -> None:
    tokens = merge_parts(vocabulary.vocab, vocabulary.pairs)
    removal = Leaves(tokens, frequencies_of(data.draw, vocabulary)).choose(
        size=data.draw(st.integers(len(LETTERS), len(vocabulary.vocab)))
    )
    left = removal.frequencies.keys()
    assert left | set(removal.ids) == tokens.ids
    assert all(set(tokens.parts[id]) <= left for id in left if id in tokens.parts)
