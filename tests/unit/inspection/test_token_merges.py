"""Tests for the derivations and uses of tokens, worked out by hand, for merges by list, rank and score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.lint import byte_level, target_of

from tokbench.explain.causes import Symbol
from tokbench.inspection.token_merges import MergesOfList, MergesOfRanks, NoTokenMerges, token_merges
from tokbench.inspection.vocabulary_tokens import (
    VocabularyToken,
    VocabularyTokenKind,
    VocabularyTokens,
    escaped,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.explain.derivation import MergeTrace

TOKENS = (b"a", b"b", b"ab", b"ba", b"aba", b"abab")


def listed(*merges: tuple[int, int, int]) -> MergesOfList:
    return MergesOfList(merges, symbol=lambda one: Symbol(one, TOKENS[one]))


def ranked() -> MergesOfRanks[bytes]:
    ids = {token: id for id, token in enumerate(TOKENS)}
    return MergesOfRanks(ids, ids, symbol=lambda one: Symbol(one, TOKENS[one]))


def steps(trace: MergeTrace) -> list[tuple[bytes, bytes]]:
    return [(step.rule.left.data, step.rule.right.data) for step in trace.steps]


def test_listed_token_is_derived_from_its_symbols() -> None:
    merges = listed((0, 1, 2), (2, 2, 5))
    trace = merges.derivation(5)
    assert steps(trace) == [(b"a", b"b"), (b"a", b"b"), (b"ab", b"ab")]
    assert [token.id for token in trace.tokens] == [5]
    assert merges.ranks == {2: 0, 5: 1}
    assert [(rule.rank, rule.merged.id) for rule in merges.uses(2)] == [(1, 5)]
    assert merges.uses(5) == ()


def test_token_spoiled_by_an_earlier_merge_is_not_derived() -> None:
    """a + ba would make aba, but a + b merges first and leaves ab | a."""
    trace = listed((0, 1, 2), (1, 0, 3), (0, 3, 4)).derivation(4)
    assert [token.data for token in trace.tokens] == [b"ab", b"a"]


def test_token_with_two_merges_has_the_lowest_reachable_rank() -> None:
    merges = listed((0, 1, 2), (1, 0, 3), (0, 3, 4), (2, 0, 4))
    assert merges.ranks[4] == 2
    assert [token.id for token in merges.derivation(4).tokens] == [4]
    assert steps(merges.derivation(4)) == [(b"a", b"b"), (b"ab", b"a")]


def test_circular_merges_terminate() -> None:
    merges = MergesOfList([(0, 1, 2), (0, 2, 1)], symbol=lambda one: Symbol(one, b"x"))
    assert merges.derivation(2).tokens


def test_ranked_token_is_derived_from_its_bytes() -> None:
    """ab (rank 2) merges before ba (rank 3), so abab is ab + ab and aba is ab + a."""
    merges = ranked()
    assert steps(merges.derivation(5)) == [(b"a", b"b"), (b"a", b"b"), (b"ab", b"ab")]
    assert [rule.merged.data for rule in merges.uses(2)] == [b"aba", b"abab"]
    assert [rule.merged.data for rule in merges.uses(0)] == [b"ab", b"ba", b"aba"]
    assert merges.uses(3) == ()  # no token is merged from ba: a + b comes first
    assert merges.ranks == {2: 2, 3: 3, 4: 4, 5: 5}


def test_list_and_ranks_of_one_vocabulary_agree() -> None:
    of_list, of_ranks = listed((0, 1, 2), (1, 0, 3), (2, 0, 4), (2, 2, 5)), ranked()
    for id in range(len(TOKENS)):
        assert steps(of_list.derivation(id)) == steps(of_ranks.derivation(id))
        assert [rule.merged for rule in of_list.uses(id)] == [rule.merged for rule in of_ranks.uses(id)]


@pytest.mark.parametrize("engine", ["native", "library"])
def test_tokenizer_json_has_merges_on_either_engine(tmp_path: Path, engine: str) -> None:
    target = target_of(byte_level(("l", "o"), ("lo", "w")), tmp_path, engine=engine)
    merges = token_merges(target)
    assert steps(merges.derivation(257)) == [(b"l", b"o"), (b"lo", b"w")]
    assert [rule.merged.data for rule in merges.uses(256)] == [b"low"]
    assert VocabularyTokens(target)[257] == VocabularyToken(257, b"low", VocabularyTokenKind.NORMAL, rank=1)


def test_missing_merges_are_explained(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[UNK]\nlow\n##er\n", encoding="utf-8")
    target = target_of(tmp_path / "vocab.txt", tmp_path)
    with pytest.raises(NoTokenMerges, match="has no merges"):
        token_merges(target)
    token = VocabularyTokens(target)[2]
    assert (token.data, token.spelling, token.rank, token.score) == (b"er", "##er", None, None)


def test_escaping_is_unambiguous() -> None:
    blocks = [bytes([first, second]) for first in range(256) for second in (*range(0, 256, 7), 0x5C, 0x85)]
    blocks += [b"\\x85", b"\xc2\x85", b"\x85", b"\\u{85}", "\u200b".encode(), b"\\", b"\\\\", b"\n", b"\\n"]
    spelled = {block: escaped(block) for block in blocks}
    assert len(set(spelled.values())) == len(spelled)
    assert all(text.isprintable() for text in spelled.values())
