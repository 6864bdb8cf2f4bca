"""The pieces that extend a vocabulary are those of the textbook, for each algorithm."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tokbench.surgery import extension_reference as reference
from tokbench.surgery.growing_pieces import MatchedGrowing, MergedPieces, ScoredGrowing, by_text
from tokbench.surgery.piece_learning import UNKNOWN, PieceLearner

LETTERS = "abc"
WORDS = st.dictionaries(st.text(LETTERS + "x", min_size=1, max_size=7), st.integers(1, 5), max_size=7)
TEXTS = st.lists(st.text(LETTERS, min_size=2, max_size=4), max_size=6, unique=True)
QUARTERS = st.integers(-24, -1).map(lambda quarters: quarters / 4)
"""Scores whose sums are exact and often equal."""
MOST = st.integers(0, 12)
FREQUENCY = st.integers(1, 4)


@given(TEXTS, WORDS, MOST, FREQUENCY)
def test_merged_pieces_equal_the_reference(
    texts: list[str], words: dict[str, int], most: int, min_frequency: int
) -> None:
    ranks = {text: rank for rank, text in enumerate([*LETTERS, *texts])}
    expected = reference.extend_merged(ranks, words, most=most, min_frequency=min_frequency)
    pieces = MergedPieces(ranks, by_text(ranks))
    assert PieceLearner(pieces, words, min_frequency=min_frequency).learn(most) == expected
    grown = ranks | {text: rank for rank, text in enumerate(expected, len(ranks))}
    for word in words:
        parts = reference.merge(word, grown)
        assert [part.strip(UNKNOWN) for part in pieces.cut(word)] == parts
        before, after = (_ends(reference.merge(word, pair_ranks)) for pair_ranks in (ranks, grown))
        assert after <= before
    for text in expected:
        assert reference.merge(text, grown) == [text]
        assert len(text) == 1 or "".join(pieces.parts[text]) == text


@given(TEXTS, st.data(), WORDS, MOST, FREQUENCY)
def test_scored_pieces_equal_the_reference(
    texts: list[str], data: st.DataObject, words: dict[str, int], most: int, min_frequency: int
) -> None:
    scores = {text: data.draw(QUARTERS) for text in [*LETTERS, *texts]}
    unknown = min(scores.values()) - reference.UNKNOWN_PENALTY
    expected = reference.extend_scored(scores, words, most=most, min_frequency=min_frequency)
    pieces = ScoredGrowing(scores)
    pieces.total = max(1, sum(count * len(pieces.cut(word)) for word, count in words.items()))
    assert PieceLearner(pieces, words, min_frequency=min_frequency).learn(most) == list(expected)
    assert pieces.new == expected
    grown = scores | expected
    for word in words:
        old, new = (reference.best_cut(word, piece_scores, unknown) for piece_scores in (scores, grown))
        assert new.score >= old.score
        assert new.parts == old.parts or not expected.keys().isdisjoint(new.parts)
    for text in expected:
        assert reference.best_cut(text, grown, unknown).parts == [text]
    assert (min(grown.values()), max(grown.values())) == (min(scores.values()), max(scores.values()))


@given(TEXTS, TEXTS, st.data(), WORDS, st.tuples(MOST, FREQUENCY))
def test_matched_pieces_equal_the_reference(
    begin: list[str],
    inside: list[str],
    data: st.DataObject,
    words: dict[str, int],
    limits: tuple[int, int],
) -> None:
    most, min_frequency = limits
    letters = [*LETTERS, *(f"##{letter}" for letter in LETTERS)]
    missing = data.draw(st.sets(st.sampled_from(letters), max_size=2))
    old = [
        *(letter for letter in letters if letter not in missing),
        *begin,
        *(f"##{text}" for text in inside),
    ]
    expected = reference.extend_matched(old, words, most=most, min_frequency=min_frequency)
    pieces = MatchedGrowing(old, prefix="##")
    learner = PieceLearner(pieces, words, min_frequency=min_frequency, text_of=pieces.text_of)
    assert learner.learn(most) == expected
    saved = 0
    for word, count in words.items():
        (before, rest), (after, rest_after) = (
            reference.match(word, vocabulary) for vocabulary in (old, old + expected)
        )
        assert after == before or not set(expected).isdisjoint(after)
        assert not (rest_after and not rest)
        saved += 0 if rest else count * (len(before) - len(after))
    assert saved >= 0


@given(TEXTS, st.data(), WORDS, st.sets(st.text(LETTERS, min_size=2, max_size=6), max_size=4))
def test_words_added_to_a_unigram_stay_one_piece(
    texts: list[str], data: st.DataObject, words: dict[str, int], given_words: set[str]
) -> None:
    pieces = ScoredGrowing({text: data.draw(QUARTERS) for text in [*LETTERS, *texts]})
    single = [
        word for word in sorted(given_words, key=lambda word: (len(word), word)) if pieces.add_word(word)
    ]
    pieces.total = max(1, sum(count * len(pieces.cut(word)) for word, count in words.items()))
    PieceLearner(pieces, words, min_frequency=1).learn(8)
    assert all(pieces.cut(word) == (word,) for word in single)


def test_new_scores_are_limited_to_the_existing_range() -> None:
    """log(4 / 8) exceeds all scores and is limited to the highest, which the scores of the user's symbols depend on."""
    pieces = ScoredGrowing({"a": -2.0, "b": -3.0}, total=8)
    assert PieceLearner(pieces, {"ab": 4}).learn(1) == ["ab"]
    assert pieces.new == {"ab": -2.0}


def test_piece_that_makes_a_word_unknown_is_refused() -> None:
    """After "ab", no piece matches "##x"."""
    pieces = MatchedGrowing(["a", "##b", "##bx"], prefix="##")
    learner = PieceLearner(pieces, {"abx": 1, "ab": 5}, min_frequency=1, text_of=pieces.text_of)
    assert learner.learn(2) == ["abx"]


def _ends(parts: list[str]) -> set[int]:
    return {sum(map(len, parts[:number])) for number in range(len(parts) + 1)}
