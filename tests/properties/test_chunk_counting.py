"""Counting words by chunks gives the words of whole texts, whatever happens to spaces and line ends."""

from __future__ import annotations

import base64
from collections import Counter
from functools import cache
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from support.huggingface import added, document
from support.sentencepiece_models import charsmap, scored, unknown, written

from tokbench.core.progress import no_progress
from tokbench.formats.sentencepiece.model import parse_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.surgery.chunk_counting import document_is_local, model_is_local
from tokbench.surgery.piece_words import MatchedWords, normalizer_of, words_of_document, words_of_model

LETTERS = " \n\t\r\u00a0\u3000\u200b\u0301\u2581aeé１ﬁ漢Σ,<x>"
TEXTS = st.lists(
    st.lists(st.sampled_from([*LETTERS, "  ", "<x>", "ab"]), max_size=14).map("".join), max_size=3
)
SYMBOLS = [ModelPiece(text, 0.0, PieceType.USER_DEFINED) for text in ("▁▁", "\n\n", "ab", "▁<")]
PIECES = [unknown(), *scored({"▁": -1.0, "a": -2.0})]
SPACING = [
    {"add_dummy_prefix": prefix, "remove_extra_whitespaces": collapse}
    for prefix in (False, True)
    for collapse in (False, True)
]


@cache
def models() -> list[bytes]:
    return [
        *(
            written(pieces, normalizer=spacing)
            for spacing in SPACING
            for pieces in (PIECES, PIECES + SYMBOLS)
        ),
        *(
            written(PIECES, normalizer={**spacing, "name": rule, "precompiled_charsmap": charsmap(rule)})
            for spacing in SPACING
            if spacing["remove_extra_whitespaces"]
            for rule in ("nmt_nfkc", "nfkc_cf")
        ),
    ]


def steps(kind: str, key: str, *inner: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, key: list(inner)}


METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
RUNS = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
TO_MARK = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}


@cache
def documents() -> list[dict[str, Any]]:
    table = base64.b64encode(charsmap("nmt_nfkc")).decode()
    precompiled = {"type": "Precompiled", "precompiled_charsmap": table}
    whole = {"type": "Strip", "strip_left": True, "strip_right": True}
    model = {
        "type": "Unigram",
        "unk_id": 0,
        "vocab": [["<unk>", 0.0], ["a", -1.0], ["▁a", -2.0], ["ab", -2.0]],
    }
    by_spaces = steps("Sequence", "pretokenizers", {"type": "WhitespaceSplit"}, METASPACE)
    llama = steps("Sequence", "normalizers", {"type": "Prepend", "prepend": "▁"}, TO_MARK)
    deberta = steps("Sequence", "normalizers", whole, precompiled, RUNS)
    shapes: list[dict[str, Any]] = [
        {"normalizer": llama},
        {"normalizer": precompiled, "pre_tokenizer": by_spaces},
        {"normalizer": deberta, "pre_tokenizer": METASPACE},
        {"normalizer": {"type": "NFC"}, "pre_tokenizer": {**METASPACE, "prepend_scheme": "first"}},
    ]
    tokens = {"added_tokens": [added("<x>", 4), added("é", 5, special=False)]}
    return [document(model, **shape, **tokens) for shape in shapes]


@given(number=st.integers(0, 11), texts=TEXTS)
@example(number=0, texts=["a▁ a\na\n a▁ a", "  a"])
@example(number=8, texts=["\n\u0301", " \u200b\n\n a\n", "\u3000 a▁ a\na", "a\na▁\n \na"])
@example(number=2, texts=["\t\n ▁"])
def test_words_of_a_model_by_chunks_equal_the_definition(*, number: int, texts: list[str]) -> None:
    proto = models()[number]
    model = parse_model(proto)
    assert model_is_local(model)
    words = words_of_model(model, normalizer_of(proto))
    expected = Counter(word for text in texts for word in words._words_of(text))
    assert words.count(texts, threads=1, progress=no_progress) == _segments(words, expected)


@given(number=st.integers(0, 3), texts=TEXTS)
def test_words_of_a_document_by_chunks_equal_the_definition(*, number: int, texts: list[str]) -> None:
    found = documents()[number]
    assert document_is_local(found)
    words = words_of_document(found, ["a", "▁a", "ab"])
    expected = Counter(word for text in texts for part in words.parts(text) for word in words._words_of(part))
    assert words.count(texts, threads=1, progress=no_progress) == _segments(words, expected)


@given(texts=TEXTS, lowercase=st.booleans(), is_listed=st.booleans())
def test_words_of_a_wordpiece_by_its_kernel_equal_the_definition(
    *, texts: list[str], lowercase: bool, is_listed: bool
) -> None:
    """If the unknown token is not an added token, a text that spells it consists of words, but the kernel of training
    would cut it out.
    """
    options = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
    normalizer = {"type": "BertNormalizer", "lowercase": lowercase, **options}
    vocab = {"[UNK]": 0, "a": 1}
    model: dict[str, Any] = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "vocab": vocab,
    }
    model["max_input_chars_per_word"] = 3
    tokens = {"added_tokens": [added("<x>", 2), *([added("[UNK]", 0)] if is_listed else [])]}
    words = MatchedWords(
        document(model, normalizer=normalizer, pre_tokenizer={"type": "BertPreTokenizer"}, **tokens)
    )
    assert (words._kernel_counting() is not None) == is_listed
    texts = [*texts, "a [UNK] a"]
    expected = Counter(word for text in texts for word in words.of_text(text) if len(word) <= 3)
    assert words.count(texts, threads=1, progress=no_progress) == expected


def test_context_dependent_steps_are_not_local() -> None:
    """Spaces made of other characters must be collapsed with their neighbours, and a table must not join lines."""
    [local, *_] = documents()
    wide = {"type": "NFKC"}
    assert not document_is_local({**local, "normalizer": wide, "pre_tokenizer": METASPACE})
    assert not document_is_local({**local, "pre_tokenizer": {"type": "UnicodeScripts"}})
    other = {**TO_MARK, "pattern": {"Regex": "a b"}}
    assert not document_is_local({**local, "normalizer": other})
    widened = {"remove_extra_whitespaces": False, "precompiled_charsmap": charsmap("nmt_nfkc")}
    assert not model_is_local(parse_model(written(PIECES, normalizer=widened)))
    across = [ModelPiece("a▁b", 0.0, PieceType.USER_DEFINED)]
    assert not model_is_local(parse_model(written(PIECES + across)))
    after = {"treat_whitespace_as_suffix": True}
    assert not model_is_local(parse_model(written(PIECES, trainer=after)))


def _segments(words: Any, expected: Counter[str]) -> Counter[str]:
    from tokbench.backends.sentencepiece.reference import segments_of

    del expected["▁"]
    return segments_of(expected, words.rules)
