"""Pruning of a WordPiece: it removes the same pieces as the textbook, and words without them keep their pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tokbench.surgery import reference
from tokbench.surgery.matched_pieces import MatchedPieces, MatchLosses, pieces_of_document

LETTERS = "abc"
TEXTS = st.text(LETTERS, min_size=2, max_size=4)


@st.composite
def vocabularies(draw: st.DrawFn) -> MatchedPieces:
    """Draw pieces of words, usually including all letters, both at the beginning and inside."""
    inside = draw(st.lists(st.tuples(st.sampled_from(["", "##"]), TEXTS), max_size=10, unique=True))
    letters = [*LETTERS, *(f"##{letter}" for letter in LETTERS)]
    missing = draw(st.sets(st.sampled_from(letters), max_size=1))
    pieces = draw(
        st.permutations(
            [*(letter for letter in letters if letter not in missing), *("".join(each) for each in inside)]
        )
    )
    vocab = {"[UNK]": 0} | {piece: id for id, piece in enumerate(pieces, start=1)}
    return pieces_of_document({"model": {"unk_token": "[UNK]", "vocab": vocab}})


WORDS = st.dictionaries(st.text(LETTERS, min_size=1, max_size=6), st.integers(1, 4), max_size=6)


@given(vocabularies(), WORDS, st.data())
def test_removed_pieces_equal_the_reference(
    pieces: MatchedPieces, words: dict[str, int], data: st.DataObject
) -> None:
    selected = data.draw(st.sets(st.sampled_from(sorted(pieces.ids))))
    size = data.draw(st.none() | st.integers(len(pieces.kept), len(pieces.ids)))
    min_count = data.draw(st.none() | st.integers(0, 9))
    expected = reference.prune_matches(
        pieces.texts,
        words,
        kept=pieces.kept | pieces.needed,
        selected=selected,
        most=None if size is None else size - 1,
        min_count=min_count,
    )
    removal = MatchLosses(pieces, words).choose(selected=selected, size=size, min_count=min_count)
    assert list(removal.ids) == expected.removed
    assert removal.frequencies == {0: 0, **expected.frequencies}
    assert {*removal.needed, *removal.fixed} == selected - {*expected.removed}


@given(vocabularies(), WORDS, st.data())
def test_word_of_kept_pieces_is_matched_alike(
    pieces: MatchedPieces, words: dict[str, int], data: st.DataObject
) -> None:
    size = data.draw(st.integers(len(pieces.kept), len(pieces.ids)))
    gone = set(MatchLosses(pieces, words).choose(size=size).ids)
    left = {id: text for id, text in pieces.texts.items() if id not in gone}
    for word in words:
        before = reference.longest_matches(word, pieces.texts)
        after = reference.longest_matches(word, left)
        if before is not None:  # a removed piece may have made a word unknown
            assert after is not None
            assert after == before or not gone.isdisjoint(before)
