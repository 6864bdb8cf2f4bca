"""Tests for user-defined symbols of SentencePiece models in a `tokenizer.json`: isolated, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import sentencepiece
from support.sentencepiece_models import charsmap, scored, unknown, written
from tokenizers import Tokenizer

from tokbench.errors import ConversionError
from tokbench.formats.sentencepiece.model import ModelType, parse_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.formats.sentencepiece.symbols import isolated_symbols, overlap, pattern_of, protected_symbols
from tokbench.formats.sentencepiece.tokenizer_json import dump_sentencepiece

if TYPE_CHECKING:
    from collections.abc import Sequence


def model_with(
    symbols: Sequence[str], scores: dict[str, float], *, type: ModelType = ModelType.BPE, **normalizer: Any
) -> bytes:
    """Return a model with these symbols, and pieces with these scores."""
    pieces = [
        unknown(),
        *(ModelPiece(text, 0.0, PieceType.USER_DEFINED) for text in symbols),
        *scored(scores),
    ]
    normalizer = {"add_dummy_prefix": True, "remove_extra_whitespaces": False} | normalizer
    return written(pieces, trainer={"model_type": int(type)}, normalizer=normalizer)


def both(proto: bytes, text: str) -> tuple[list[str], list[str]]:
    """Return the pieces of a text in SentencePiece, and in tokenizers after the conversion."""
    made = Tokenizer.from_buffer(dump_sentencepiece(parse_model(proto)))
    library = sentencepiece.SentencePieceProcessor(model_proto=proto)
    return [library.id_to_piece(id) for id in library.encode(text)], made.encode(text).tokens


SCORES = {"▁a": -1.0, "aa": -2.0, "▁": -3.0, "a": -4.0, "b": -5.0}


def test_longest_symbol_is_matched_and_never_merged() -> None:
    proto = model_with(["<x>", "<x><y>", "b▁"], SCORES)
    expected, found = both(proto, "<x>aa<x><y> ab aab")
    assert expected == ["▁", "<x>", "aa", "<x><y>", "▁a", "b▁", "aa", "b"]
    assert found == expected


def test_symbols_are_kept_from_the_table_and_normalized_texts_contain_them() -> None:
    # The table makes ≯ of > and U+0338, and <x> of the wide characters.
    proto = model_with(["<x>"], SCORES, precompiled_charsmap=charsmap("nmt_nfkc"))
    expected, found = both(proto, "<x>\u0338a＜x＞")
    assert expected == ["▁", "<x>", "<unk>", "a", "<x>"]
    assert found == expected


def test_symbols_that_the_table_changes_are_kept() -> None:
    proto = model_with(["\n", "ﬁ", "\t\t"], SCORES, precompiled_charsmap=charsmap("nmt_nfkc"))
    expected, found = both(proto, "a\nﬁ \n\n aﬁa\t\t\ta")
    assert expected == ["▁a", "\n", "ﬁ", "▁", "\n", "\n", "▁a", "ﬁ", "a", "\t\t", "▁a"]
    assert found == expected


def test_symbol_that_the_table_changes_and_a_key_may_contain_is_refused() -> None:
    # The table makes ά of α and U+0301, and a space and U+0301 of ´.
    for symbols in (["\u0301\u00b4"], ["ﬁ", "ﬁx"], ["xﬁ", "yx"]):
        proto = model_with(symbols, SCORES, precompiled_charsmap=charsmap("nmt_nfkc"))
        with pytest.raises(ConversionError, match="would change the user-defined symbol"):
            dump_sentencepiece(parse_model(proto))


def test_symbols_with_a_space_are_in_no_normalized_text() -> None:
    model = parse_model(model_with(["a b", "▁"], {"a": -1.0, "b": -2.0}))
    assert isolated_symbols(model) == ("▁",)
    assert protected_symbols(model) == ("a b", "▁")
    assert pattern_of(["a", "a.b", "a+"]) == r"a\.b|a\+|a"


def test_symbol_that_keeps_its_spaces_is_refused_where_others_are_removed() -> None:
    for symbol, is_refused in (("a b", False), ("a  b", True), (" a", True), ("a ", True)):
        model = parse_model(model_with([symbol], SCORES, remove_extra_whitespaces=True))
        if is_refused:
            with pytest.raises(ConversionError, match="keeps its spaces"):
                protected_symbols(model)
        else:
            assert protected_symbols(model) == (symbol,)


def test_symbol_of_spaces_is_refused_where_decoding_removes_some() -> None:
    proto = model_with(["▁▁"], SCORES, remove_extra_whitespaces=True)
    library = sentencepiece.SentencePieceProcessor(model_proto=proto)
    symbol, space, letter = map(library.piece_to_id, ("▁▁", "▁", "a"))
    assert library.decode([symbol, letter]) == " a"
    assert library.decode([space, space, letter]) == "a"
    with pytest.raises(ConversionError, match="without its first space"):
        protected_symbols(parse_model(proto))


def test_more_nested_symbols_than_the_library_tries_are_refused() -> None:
    symbols = ["<" * count for count in range(1, 66)]
    assert len(isolated_symbols(parse_model(model_with(symbols[:-1], SCORES)))) == 64
    with pytest.raises(ConversionError, match="more than 64 user-defined symbols"):
        isolated_symbols(parse_model(model_with(symbols, SCORES)))


def test_text_between_symbols_that_no_merge_produces_is_refused() -> None:
    proto = model_with(["<x>"], {**SCORES, "aab": -9.0, "bb": -10.0, "abb": -11.0, "bbb": -12.0})
    # aab is aa + b, and bbb is bb + b; the last merge of abb would be of a + bb, but a + b is no piece.
    dump_sentencepiece(parse_model(proto))
    proto = model_with(["<x>"], {**SCORES, "baab": -9.0})
    with pytest.raises(ConversionError, match="no merge produces the piece 'baab'"):
        dump_sentencepiece(parse_model(proto))
    dump_sentencepiece(parse_model(model_with(["<x>", "ba"], {**SCORES, "baab": -9.0})))


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        # ab is worth 0.1, and y -1; a is worth -1, and by -0.5.
        ({"▁": -1.0, "a": -1.0, "b": -2.0, "y": -1.0, "by": -0.5}, ["▁", "ab", "y"]),
        # y is worth -3: a and by, -1.1 in all, are better than ab and y, -2.9.
        ({"▁": -1.0, "a": -1.0, "b": -2.0, "y": -3.0, "by": -0.1}, ["▁", "a", "by"]),
        # b and y are unknown, and a piece contains the symbol.
        ({"▁": -1.0, "a": -1.0, "▁aby": -1.5}, ["▁aby"]),
    ],
)
def test_unigram_is_refused_if_other_pieces_may_be_better(
    scores: dict[str, float], expected: list[str]
) -> None:
    proto = model_with(["ab"], scores, type=ModelType.UNIGRAM)
    library = sentencepiece.SentencePieceProcessor(model_proto=proto)
    assert library.encode_as_pieces("aby") == expected
    if "ab" in expected:
        assert both(proto, "aby") == (expected, expected)
    else:
        with pytest.raises(ConversionError, match="other pieces may be better"):
            dump_sentencepiece(parse_model(proto))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("ab", "b", True),
        ("b", "ab", False),
        ("ab", "bc", True),
        ("bc", "ab", False),
        ("aba", "aba", True),
        ("ab", "ab", False),
    ],
)
def test_overlap(first: str, second: str, expected: bool) -> None:
    assert overlap(first, second) == expected


def test_unigram_with_symbols_that_overlap_is_refused() -> None:
    scores = {"▁": -1.0, "a": -1.0, "b": -2.0}
    for symbols, whom in ((["ab", "ba"], "'ba'"), (["aba"], "itself")):
        with pytest.raises(ConversionError, match=f"overlaps with {whom}"):
            dump_sentencepiece(parse_model(model_with(symbols, scores, type=ModelType.UNIGRAM)))
