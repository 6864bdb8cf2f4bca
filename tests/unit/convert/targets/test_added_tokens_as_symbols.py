"""A tokenizer.json whose added tokens are found in every text, such as Gemma's, converted to a SentencePiece model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import sentencepiece
from hypothesis import assume, given
from hypothesis import strategies as st
from support import huggingface
from tokenizers import Tokenizer

from tokbench.errors import ConversionError
from tokbench.formats.sentencepiece.bpe import model_of_bpe
from tokbench.formats.sentencepiece.model import parse_model
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.libraries.huggingface.tokenizer_json import parse_tokenizer_json
from tokbench.opening.native_bpe import merge_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.formats.sentencepiece.bpe import BpeModel

SPACES = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
AT_SPACES = {
    "type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False
}  # fmt: skip
SPECIAL = "<s>"


def gemma(merges: Sequence[tuple[str, str]], found: Sequence[str], **flags: Any) -> dict[str, Any]:
    """Return a file like Gemma's: no dummy prefix, and added tokens that are not special."""
    texts = ["<unk>", SPECIAL, *"▁ab\n<>", *(left + right for left, right in merges), *found]
    vocab = {text: id for id, text in enumerate(dict.fromkeys(texts))}
    return huggingface.document(
        {
            "type": "BPE",
            "unk_token": "<unk>",
            "fuse_unk": True,
            "vocab": vocab,
            "merges": [list(pair) for pair in merges],
        },
        added_tokens=[
            huggingface.added(SPECIAL, 1),
            *(huggingface.added(text, vocab[text], special=False, **flags) for text in found),
        ],
        normalizer=SPACES,
        pre_tokenizer=AT_SPACES,
        decoder={"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "Fuse"},
        ]},
    )  # fmt: skip


def model_of(document: dict[str, Any]) -> BpeModel:
    parsed = parse_tokenizer_json(json.dumps(document).encode(), source="gemma")
    return model_of_bpe(parsed, merges=merge_pairs(parsed["model"], path="gemma"))


def both(document: dict[str, Any], text: str) -> tuple[list[int], list[int]]:
    """Return the ids of a text in tokenizers, and in SentencePiece after the conversion."""
    source = Tokenizer.from_str(json.dumps(document))
    source.encode_special_tokens = True
    made = sentencepiece.SentencePieceProcessor(model_proto=model_of(document).proto)
    return source.encode(text, add_special_tokens=False).ids, made.encode(text)


def test_added_tokens_become_symbols_and_runs_of_spaces_stay_pieces() -> None:
    # As in Gemma's file, a run has a merge for each way to divide it, the longest first.
    merges = [("▁▁", "▁"), ("\n", "\n"), ("▁", "▁▁"), ("▁", "▁"), ("▁", "a")]
    document = gemma(merges, ["\n\n", "<a>", "▁▁", "▁▁▁"])
    made = model_of(document)
    assert made.excluded == "▁"
    pieces = {piece.text: piece for piece in parse_model(made.proto).pieces}
    assert {text for text, piece in pieces.items() if piece.type is PieceType.USER_DEFINED} == {"\n\n", "<a>"}
    assert pieces["▁▁▁"].score > pieces["▁▁"].score > pieces["▁a"].score > pieces["a"].score
    for text in ("a<a>a", "<a> a", "\n\n\na", "    a", "  a     b", "", "<s><a>", "c <a>c"):
        expected, found = both(document, text)
        assert found == expected, text


def test_piece_that_neither_makes_stays() -> None:
    # In "▁aaaa" ▁ + a merges first and then a + a, which leaves an a: no merge makes it, with scores or without.
    document = gemma([("▁", "a"), ("a", "a"), ("aa", "aa"), ("▁", "aaaa")], ["<a>"])
    for text in (" aaaa", "aaaa", " aaaaa<a>aaaa<a> aaaa"):
        expected, found = both(document, text)
        assert found == expected, text


def test_piece_that_only_scores_make_is_refused() -> None:
    # In "aab" a + b merges first; then scores merge a + ab, which no merge lists.
    with pytest.raises(ConversionError, match="the piece 'aab' would be merged differently"):
        model_of(gemma([("a", "b"), ("a", "a"), ("aa", "b")], ["<a>"]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, SPACES]}},
         "is not special"),
        ({"pre_tokenizer": AT_SPACES | {"pattern": {"String": "a"}}}, "splits them in another way"),
        ({"pre_tokenizer": AT_SPACES | {"invert": True}}, "splits them in another way"),
    ],
)  # fmt: skip
def test_other_preparation_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConversionError, match=message):
        model_of(gemma([("a", "b")], ["<a>"]) | changes)


def test_tokens_that_are_found_otherwise_are_refused() -> None:
    with pytest.raises(ConversionError, match="'<a>' has the flag lstrip"):
        model_of(gemma([("a", "b")], ["<a>"], lstrip=True))
    with pytest.raises(ConversionError, match="contains a space"):
        model_of(gemma([("a", "b")], ["a b"]))
    for text in ("<", "s>", ">a"):
        with pytest.raises(ConversionError, match="may begin inside the text of '<s>'"):
            model_of(gemma([("a", "b")], [text]))
    document = gemma([("a", "b")], ["<a>", "<b>"])
    document["added_tokens"][-1]["normalized"] = True
    with pytest.raises(ConversionError, match="some added tokens are found before"):
        model_of(document)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    texts = ["▁", "a", "b", "\n", "<", ">"]
    merges: list[tuple[str, str]] = []
    for _ in range(draw(st.integers(0, 10))):
        pair = draw(st.sampled_from(texts)), draw(st.sampled_from(texts))
        merges.insert(draw(st.integers(0, len(merges))), pair)
        texts.append(pair[0] + pair[1])
    merges = list(dict.fromkeys(merges))
    alphabet = "ab<>\n"
    found = draw(
        st.lists(st.text(st.sampled_from(alphabet), min_size=1, max_size=3), max_size=4, unique=True)
    )
    made = [text for text in texts if len(text) > 1 and " " not in text]
    found += draw(st.lists(st.sampled_from(made), max_size=2, unique=True)) if made else []
    return gemma(merges, list(dict.fromkeys(found)), normalized=draw(st.booleans()))


TEXTS = st.lists(st.text(st.sampled_from("aab \n<>c"), max_size=16), min_size=1, max_size=20)


@given(documents(), TEXTS)
def test_converted_models_encode_the_same(document: dict[str, Any], texts: list[str]) -> None:
    try:
        made = model_of(document)
    except ConversionError:
        assume(False)
    source = Tokenizer.from_str(json.dumps(document))
    source.encode_special_tokens = True
    library = sentencepiece.SentencePieceProcessor(model_proto=made.proto)
    symbols = [token["content"] for token in document["added_tokens"]]
    for text in [*texts, "".join(symbols).join(texts), *(symbol.join(texts) for symbol in symbols)]:
        if not made.excluded or made.excluded not in text:
            assert library.encode(text) == source.encode(text, add_special_tokens=False).ids, text
