"""A Unigram with exact scores is segmented the same by SentencePiece, by tokenizers and by the definition.

The definition adds whole numbers: of the segmentations with the highest sum it takes the one whose last piece is
the longest, then compares the pieces before it. Both libraries are compared to it on random scores with many ties.
"""

from __future__ import annotations

import random
from functools import cache
from itertools import cycle
from typing import TYPE_CHECKING, Any

import pytest
import sentencepiece
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from support.sentencepiece_models import scored, training_text, unknown, written
from support.texts import bundled_texts

import tokbench
from tokbench.convert.conversion import Source, target_named
from tokbench.errors import TrainingError
from tokbench.formats.sentencepiece.charsmap import normalization_of, rules_of
from tokbench.formats.sentencepiece.model import parse_model
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.formats.sentencepiece.tokenizer_json import dump_sentencepiece
from tokbench.formats.sentencepiece.unigram_scores import UNKNOWN_PENALTY, exact_sums, normal_scores

if TYPE_CHECKING:
    from collections.abc import Mapping

STEPS = 32
ALPHABET = "abc"


def by_definition(text: str, steps: Mapping[str, int]) -> list[str]:
    """Segment a normalized text with scores in whole steps; an unknown character is a piece of its own.

    >>> by_definition("aab", {"a": -2, "b": -2, "ab": -4, "aa": -4})
    ['a', 'ab']
    """
    unknown_ = min(steps.values()) - int(UNKNOWN_PENALTY * STEPS)
    best: list[tuple[int, int]] = [(0, 0)]
    for end in range(1, len(text) + 1):
        found = [
            (best[start][0] + steps[text[start:end]], start)
            for start in range(end)
            if text[start:end] in steps
        ]
        if text[end - 1] not in steps:
            found.append((best[end - 1][0] + unknown_, end - 1))
        best.append(max(found, key=lambda each: (each[0], -each[1])))
    pieces, end = [], len(text)
    while end:
        start = best[end][1]
        pieces.append(text[start:end])
        end = start
    return pieces[::-1]


def libraries(proto: bytes) -> tuple[Any, Any]:
    return opened(proto, dump_sentencepiece(parse_model(proto)))


def opened(proto: bytes, tokenizer_json: bytes) -> tuple[Any, Any]:
    made = tokenizers.Tokenizer.from_str(tokenizer_json.decode())
    made.encode_special_tokens = True
    return sentencepiece.SentencePieceProcessor(model_proto=proto), made


scores_of_pieces = st.dictionaries(
    st.text(ALPHABET + "▁", min_size=1, max_size=5), st.integers(-400, 0), min_size=2, max_size=16
)


@given(steps=scores_of_pieces, text=st.text(ALPHABET + "d", max_size=60))
def test_both_libraries_segment_as_the_definition(steps: dict[str, int], text: str) -> None:
    steps = {"▁": -100} | steps | {"c": -50}
    scores = {piece: score / STEPS for piece, score in steps.items()}
    assert exact_sums(scores) is not None
    ids = {piece: id for id, piece in enumerate(steps, start=1)}
    processor, made = libraries(written([unknown(), *scored(scores)], normalizer={"add_dummy_prefix": False}))
    fused: list[int] = []
    for piece in by_definition(text, steps):
        id = ids.get(piece, 0)
        if id or not fused or fused[-1]:  # adjacent unknown characters are one piece
            fused.append(id)
    assert processor.encode(text) == fused
    assert made.encode(text).ids == fused


def test_sums_are_exact_beyond_sentencepieces_restart() -> None:
    source = random.Random(5)
    steps = {"▁": -3, "a": -700, "b": -701, "ab": -1401, "ba": -1402, "aba": -2101, "bb": -1403}
    text = "".join(source.choice("abd") for _ in range(60_000))
    scores = {piece: score / STEPS for piece, score in steps.items()}
    processor, made = libraries(written([unknown(), *scored(scores)], normalizer={"add_dummy_prefix": False}))
    total = sum(scores.get(piece, -53.8) for piece in by_definition(text[:500], steps)) * 120
    assert total < -1_000_000  # ten times what fits before SentencePiece starts a new sum
    assert processor.encode(text) == made.encode(text).ids


OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "no extra spaces": {"remove_extra_whitespaces": True},
    "without bytes": {"byte_fallback": False},
    "as t5": {
        "byte_fallback": False,
        "remove_extra_whitespaces": True,
        "allow_whitespace_only_pieces": False,
    },
    "without prefix": {"add_dummy_prefix": False},
    "digits": {"split_digits": True, "special_tokens": ("<|a|>", "[X]")},
}


@cache
def trained(name: str) -> tuple[Any, Any, Any]:
    tokenizer: Any = tokbench.train(training_text(), backend="unigram", vocab_size=700, **OPTIONS[name])
    return (tokenizer, *libraries(tokenizer.proto))


texts_with_runs = st.lists(
    st.sampled_from(
        [" ", "   ", "\n", "\t", "1", "1" * 40, "▁", "<s>", "<unk>", "<0x41>", "</s>", "日本", "\0"]
    )
    | st.text(max_size=6)
    | st.sampled_from(training_text()),
    max_size=6,
).map("".join)


@pytest.mark.parametrize("name", OPTIONS)
@given(text=texts_with_runs)
def test_trained_unigram_has_the_same_ids_on_any_text(name: str, text: str) -> None:
    tokenizer, processor, made = trained(name)
    assert made.encode(text, add_special_tokens=False).ids == processor.encode(text) == tokenizer.encode(text)


@pytest.mark.parametrize("name", OPTIONS)
def test_trained_unigram_has_the_same_ids_on_long_texts(name: str) -> None:
    _, processor, made = trained(name)
    for text in ("1" * 999, "日" * 20_000, " " * 3000, *bundled_texts().values()):
        assert made.encode(text, add_special_tokens=False).ids == processor.encode(text)


def test_spelling_of_a_control_piece_is_encoded_alike() -> None:
    for byte_fallback in (False, True):
        tokenizer: Any = tokbench.train(
            ["abcde fghij klmno"], backend="unigram", vocab_size=300, byte_fallback=byte_fallback
        )
        processor, made = libraries(tokenizer.proto)
        for text in ("<unk>", "a<s>b", "<0x00>", "<0x0<0x00>", "<<unk>>", "<s>></s>"):
            assert made.encode(text, add_special_tokens=False).ids == processor.encode(text)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[None], [500, 1000, 2000]])
def test_every_default_training_can_be_exported(sizes: list[int | None]) -> None:
    """Train on single bundled texts with alternating sizes; every trained model becomes a tokenizer.json."""
    exported = refused = 0
    long = bundled_texts()["parallel/en.txt"] + bundled_texts()["parallel/ja.txt"] + "1" * 999
    some = list(bundled_texts().values())[::2]
    for text, size in zip(some, cycle(sizes), strict=False):
        try:
            tokenizer: Any = tokbench.train([text], backend="unigram", vocab_size=size)
        except TrainingError:
            refused += 1  # too little text or too many characters for the size
            continue
        source = Source(tokenizer=tokenizer, description=tokenizer.description())
        processor, made = opened(tokenizer.proto, target_named("tokenizers").make(source).files[""])
        for sample in (text, long):
            assert made.encode(sample, add_special_tokens=False).ids == processor.encode(sample)
        exported += 1
    assert exported > 10
    assert exported + refused == len(some)


# --- normalization ----------------------------------------------------------------------------


def replaced(text: str, rules: Mapping[str, str]) -> str:
    """Replace by definition: the longest key at each position, or else keep the character.

    >>> replaced("aab", {"a": "x", "ab": "y"})
    'xy'
    """
    parts, place = [], 0
    while place < len(text):
        key = next(
            (text[place:end] for end in range(place + 4, place, -1) if text[place:end] in rules), text[place]
        )
        parts.append(rules.get(key, key))
        place += len(key)
    return "".join(parts)


NORMALIZATIONS = [
    "nmt_nfkc",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("nfkc", "nmt_nfkc_cf")),
]


@cache
def normalized(name: str) -> tuple[dict[str, str], str, Any, Any]:
    tokenizer: Any = tokbench.train(
        training_text(), backend="unigram", vocab_size=700, normalization=name, remove_extra_whitespaces=False
    )
    charsmap = tokenizer.model.normalizer["precompiled_charsmap"]
    return (rules_of(charsmap), normalization_of(charsmap).excluded, *libraries(tokenizer.proto))


@pytest.mark.parametrize("name", NORMALIZATIONS)
def test_any_text_is_normalized_as_by_sentencepiece(name: str) -> None:
    rules, excluded, processor, made = normalized(name)
    source = random.Random(7)
    keys = sorted(rules)
    marks = "\u0300\u0301\u0308\u0323\u0345\u3099\uff9e\u1161\u11a8\u200d\ufe0f\r\n  \t\1\2\0▁\u200b\u3000～"
    characters = [chr(code) for code in range(0x20000) if not 0xD800 <= code < 0xE000]
    assert max(map(len, keys)) == 4
    for _ in range(1000):
        drawn = (source.choice(source.choice((keys, characters, marks, "aeiouAE 12"))) for _ in range(6))
        text = "".join(drawn).translate(dict.fromkeys(map(ord, excluded)))
        assert made.normalizer.normalize_str(text) == processor.normalize(text), ascii(text)
        assert "▁" + replaced(text, rules).replace(" ", "▁") == processor.normalize(text)
        assert made.encode(text, add_special_tokens=False).ids == processor.encode(text)


def test_grapheme_cluster_is_normalized_beyond_its_first_character() -> None:
    _, _, processor, made = normalized("nmt_nfkc")
    for text in ("ﬁ\u0301", "²\u20e3", "a\r\nb", "\1", "e\u0302\u0301", "ﾊﾞ", "\u1100\u1161\u11a8"):
        assert made.normalizer.normalize_str(text) == processor.normalize(text)


def test_trained_model_has_the_expected_piece_types_and_exact_scores() -> None:
    assert {piece.type for piece in trained("default")[0].model.pieces} == {
        PieceType.UNKNOWN,
        PieceType.CONTROL,
        PieceType.BYTE,
        PieceType.NORMAL,
    }
    assert exact_sums(normal_scores(trained("default")[0].model.pieces)) is not None
