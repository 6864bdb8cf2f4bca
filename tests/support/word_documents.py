"""Randomly drawn `tokenizer.json` documents whose pre-tokenizers split text into words, and texts for them."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from support.byte_level_documents import LLAMA3, sequence, split
from support.huggingface import added, document, dump
from support.sentencepiece_models import charsmap
from support.texts import texts

if TYPE_CHECKING:
    from collections.abc import Sequence

WHITESPACE, WHITESPACE_SPLIT, BERT = (
    {"type": kind} for kind in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer")
)
BERT_NORMALIZER = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}
DIGITS = {"type": "Digits", "individual_digits": True}
PUNCTUATION = {"type": "Punctuation", "behavior": "MergedWithPrevious"}


def metaspace(scheme: str, *, cuts: bool = True, mark: str = "▁") -> dict[str, Any]:
    """Build a pre-tokenizer that replaces spaces by a mark."""
    return {"type": "Metaspace", "replacement": mark, "prepend_scheme": scheme, "split": cuts}


METASPACES = [
    *[metaspace("never"), metaspace("always", cuts=False), metaspace("always", mark="_"), metaspace("first")],
    *[sequence(metaspace("first"), DIGITS), sequence(metaspace("always"), PUNCTUATION)],
    *[sequence(splitter, metaspace("always")) for splitter in (WHITESPACE_SPLIT, PUNCTUATION)],
    *[sequence(metaspace(scheme, cuts=False), split("the|ab|▁▁")) for scheme in ("always", "first")],
]
CUTTING_WORDS = [
    *[WHITESPACE, WHITESPACE_SPLIT, BERT, sequence(WHITESPACE, DIGITS)],
    *[sequence(WHITESPACE_SPLIT, PUNCTUATION), split(LLAMA3), split(r"\s+", "Removed")],
    *[split(r"\w+|[^\w\s]+", "MergedWithNext", invert=True), split("a", "Contiguous")],
    *[{"type": "CharDelimiterSplit", "delimiter": "_"}, split("")],
]
SPLITTING = [*CUTTING_WORDS, sequence(DIGITS, PUNCTUATION)]
PREPEND = {"type": "Prepend", "prepend": "É字"}
REPLACE = [
    {"type": "Replace", "pattern": {"String": "the"}, "content": "ab, a"},
    {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
]
STRIP = {"type": "Strip", "strip_left": True, "strip_right": True}
STRIP_SPACES = {"type": "Replace", "pattern": {"Regex": r"\A +| +\z"}, "content": ""}
AS_CONVERTED = [
    STRIP_SPACES,
    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    {"type": "Replace", "pattern": {"Regex": r"\A▁"}, "content": "▁▁"},
]
"""The normalizers that transformers writes for a SentencePiece model without a class of its own."""
NORMALIZERS: list[dict[str, Any] | None] = [
    *[None, None, {"type": "NFC"}, {"type": "Lowercase"}, {"type": "NFKC"}],
    *[
        BERT_NORMALIZER,
        BERT_NORMALIZER | {"lowercase": False},
        BERT_NORMALIZER | {"strip_accents": True, "clean_text": False},
    ],
    {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}, {"type": "StripAccents"}]},
    {"type": "Sequence", "normalizers": [PREPEND, {"type": "Lowercase"}, {"type": "NFC"}, *REPLACE]},
    {"type": "Sequence", "normalizers": [STRIP, {"type": "NFKC"}, REPLACE[0], STRIP]},
    {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}, {"type": "StripAccents"}]},
    *[{"type": "Sequence", "normalizers": AS_CONVERTED[:size]} for size in (1, 3, 4)],
]


def table_of(rule: str) -> dict[str, Any]:
    """Build a normalizer by SentencePiece's table of a rule."""
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap(rule)).decode()}


TABLE = table_of("nmt_nfkc")
REPLACES_TWO = {"type": "Replace", "pattern": {"Regex": r"(?<!a)[^\s\w]{2}|b(?=1)|^c"}, "content": "é "}
NORMALIZERS_OF_THE_LIBRARY: list[dict[str, Any] | None] = [
    *[{"type": "Nmt"}, REPLACES_TWO, {"type": "Sequence", "normalizers": [REPLACES_TWO, TABLE]}, TABLE],
]
"""Normalizers that have a step for which the kernel calls the library."""
LETTERS = [*"abcthe1É字.,_▁", "\u0301", "\u200d", "²"]
TOKENS = ["<s>", "<S>", "[UNK]", "the", "a", "É", "  ", "ab", "字字"]
_flag = st.sampled_from([False, False, False, True])


@st.composite
def bpe_models(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a BPE over characters, with affixes or bytes."""
    prefix, suffix = draw(st.sampled_from([("", ""), ("", ""), ("##", ""), ("", "</w>"), ("##", "</w>")]))
    has_bytes = not (prefix or suffix) and draw(_flag)
    vocab = ["[UNK]", "<s>", *([f"<0x{byte:02X}>" for byte in range(256)] if has_bytes else [])]
    letters = draw(st.lists(st.sampled_from(LETTERS), min_size=3, unique=True))
    forms = [(first, last) for first in {"", prefix} for last in {"", suffix}]
    vocab += [first + letter + last for letter in letters for first, last in sorted(forms)]
    merges: list[list[str]] = []
    for _ in range(draw(st.integers(0, 12))):
        left, right = draw(st.sampled_from(vocab[2:])), draw(st.sampled_from(vocab[2:]))
        merged = left + right[len(prefix) :]
        ends = bool(suffix) and left.endswith(suffix)
        if right.startswith(prefix) and not ends and [left, right] not in merges and "<0x" not in merged:
            merges.append([left, right])
            vocab += [merged] * (merged not in vocab)
    return {
        "type": "BPE",
        "vocab": {piece: id for id, piece in enumerate(vocab)},
        "merges": merges,
        "unk_token": draw(st.sampled_from(["[UNK]", "[UNK]", None])),
        "fuse_unk": draw(st.booleans()),
        "byte_fallback": has_bytes,
        "continuing_subword_prefix": prefix or None,
        "end_of_word_suffix": suffix or None,
        "ignore_merges": draw(_flag),
    }


@st.composite
def _pieces(draw: st.DrawFn) -> dict[str, Any]:
    prefix = draw(st.sampled_from(["##", ""]))
    words = draw(st.lists(st.text("abcthe1É字▁", min_size=1, max_size=3), unique=True))
    vocab = dict.fromkeys(["[UNK]", "<s>", *words, *(prefix + word for word in words)])
    ids = {piece: id for id, piece in enumerate(vocab)}
    if draw(st.booleans()):
        return {"type": "WordLevel", "vocab": ids, "unk_token": "[UNK]"}
    most = draw(st.sampled_from([100, 3]))
    return {
        "type": "WordPiece",
        "vocab": ids,
        "unk_token": "[UNK]",
        "continuing_subword_prefix": prefix,
        "max_input_chars_per_word": most,
    }


@st.composite
def _scored(draw: st.DrawFn) -> dict[str, Any]:
    words = draw(st.lists(st.text("abcthe1É字▁", min_size=1, max_size=3), unique=True))
    has_bytes = draw(_flag)
    vocab = [*dict.fromkeys(["[UNK]", "<s>", *words, *(f"▁{word}" for word in words)])]
    bytes_spelled = [f"<0x{byte:02X}>" for byte in range(256)] if has_bytes else []
    score = st.sampled_from([-1.0, -2.0, -2.5, -7.25, 0.0])
    pieces = [[piece, draw(score)] for piece in vocab] + [[piece, -3.0] for piece in bytes_spelled]
    return {"type": "Unigram", "vocab": pieces, "unk_id": 0, "byte_fallback": has_bytes}


def _ids_of(model: dict[str, Any]) -> dict[str, int]:
    vocab = model["vocab"]
    return {piece: id for id, (piece, _) in enumerate(vocab)} if isinstance(vocab, list) else vocab


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """Draw a document that the native kernel runs."""
    return draw(
        _documents(
            models=bpe_models() | _pieces() | _scored(),
            normalizers=[*NORMALIZERS, *NORMALIZERS_OF_THE_LIBRARY],
            splitting=[*SPLITTING, *METASPACES],
        )
    )


@st.composite
def documents_of_words(draw: st.DrawFn) -> bytes:
    """Draw a document that also runs without the native kernel."""
    return draw(_documents(models=bpe_models() | _pieces(), normalizers=NORMALIZERS, splitting=SPLITTING))


@st.composite
def _documents(
    draw: st.DrawFn,
    *,
    models: st.SearchStrategy[dict[str, Any]],
    normalizers: Sequence[dict[str, Any] | None],
    splitting: Sequence[dict[str, Any]],
) -> bytes:
    model = draw(models)
    vocab = _ids_of(model)
    tokens = ["[UNK]", "<s>", *draw(st.lists(st.sampled_from(TOKENS[3:]), max_size=3, unique=True))]
    size = len(model["vocab"])
    return dump(
        document(
            model,
            normalizer=draw(st.sampled_from(normalizers)),
            pre_tokenizer=draw(st.sampled_from(splitting)),
            added_tokens=[
                added(
                    text,
                    vocab.get(text, size + place),
                    special=place < 2 or draw(_flag),
                    **{name: draw(_flag) for name in ("lstrip", "rstrip", "single_word", "normalized")},
                )
                for place, text in enumerate(tokens)
            ],
        )
    )


mixed_texts = st.lists(
    st.sampled_from(
        [
            *(*TOKENS, *LETTERS),
            *[" ", "\t", "\r\n", "\u3000", "\x85", "the abc, the É", "ſ", "e\u0301", "\x00", "a b c the"],
        ]
    )
    | texts,
    max_size=12,
).map("".join)
