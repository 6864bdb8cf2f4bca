"""A tokenizer.json with a Unigram as a SentencePiece model: the way back, equal results, and refusals."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import sentencepiece
from hypothesis import given
from support import huggingface
from support.sentencepiece_models import training_text, variant
from support.texts import texts

import tokbench
from tokbench.errors import ConversionError
from tokbench.formats.sentencepiece.model import parse_model
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.formats.sentencepiece.tokenizer_json import dump_sentencepiece
from tokbench.formats.sentencepiece.unigram import model_of_unigram
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.libraries.huggingface.tokenizer_json import parse_tokenizer_json
from tokbench.workbench.convert import convert

if TYPE_CHECKING:
    from pathlib import Path

METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
SPLIT = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, METASPACE]}
FOLD = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}


def back(data: bytes) -> Any:
    return model_of_unigram(parse_tokenizer_json(data, source="mine"))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"remove_extra_whitespaces": True},
        {"add_dummy_prefix": False, "byte_fallback": False},
        {"special_tokens": ("<|a|>", "[X]"), "pad_id": 3},
    ],
)
def test_roundtrip_keeps_model_and_options(options: dict[str, Any]) -> None:
    source: Any = tokbench.train(training_text(), backend="unigram", vocab_size=700, **options)
    restored = back(dump_sentencepiece(source.model))
    assert restored.excluded == ""
    after = parse_model(restored.proto)
    assert after.pieces == source.model.pieces == restored.pieces
    for option in ("byte_fallback", "unk_id", "bos_id", "eos_id", "pad_id"):
        assert after.trainer[option] == source.model.trainer[option]
    for option in ("add_dummy_prefix", "remove_extra_whitespaces", "precompiled_charsmap"):
        assert after.normalizer[option] == source.model.normalizer[option]


@cache
def as_t5(style: str = "split") -> bytes:
    """Return a Unigram document in the style of T5 ("split") or of XLM-RoBERTa ("strip")."""
    model = variant("unigram as t5").model
    document = json.loads(dump_sentencepiece(model))
    table = base64.b64encode(model.normalizer["precompiled_charsmap"]).decode()
    steps = [{"type": "Precompiled", "precompiled_charsmap": table}]
    if style == "strip":
        steps += [{"type": "Strip", "strip_left": False, "strip_right": True}, FOLD]
    document["normalizer"] = {"type": "Sequence", "normalizers": steps}
    document["pre_tokenizer"] = SPLIT if style == "split" else METASPACE
    document["decoder"] = METASPACE
    document["added_tokens"].append(huggingface.added("<unk>", 2))
    return huggingface.dump(document)


@cache
def both(style: str) -> tuple[HuggingFaceTokenizer, Any, str]:
    restored = back(as_t5(style))
    source = HuggingFaceTokenizer(as_t5(style), name="t5", backend="unigram")
    return source, sentencepiece.SentencePieceProcessor(model_proto=restored.proto), restored.excluded


@pytest.mark.slow
@pytest.mark.parametrize("style", ["split", "strip"])
@given(text=texts)
def test_t5_and_xlm_roberta_files_encode_as_their_source(style: str, text: str) -> None:
    source, processor, excluded = both(style)
    text = text.translate(dict.fromkeys(map(ord, excluded)))
    assert processor.encode(text) == source.encode(text)


def test_combining_characters_are_excluded() -> None:
    _, _, excluded = both("split")
    assert set("\u0301\u200d\u3099\u1161\u11a8\r\x85") <= set(excluded)
    assert set("a é日ह한👩") & set(excluded) == set()


@pytest.mark.usefixtures("short_proofs")
def test_conversion_reports_its_limits(tmp_path: Path) -> None:
    source = HuggingFaceTokenizer(as_t5(), name="t5", backend="unigram")
    result = convert(source, to="sentencepiece", out=tmp_path / "mine.model")
    assert result.rounding is None
    assert any("grapheme clusters" in limit for limit in result.proof.limits)
    assert any("multiples of 1/32" in limit for limit in result.proof.limits)


def changed(*more_pieces: list[Any], **parts: Any) -> bytes:
    document = json.loads(as_t5())
    document["model"]["vocab"] += more_pieces
    document["model"] |= parts.pop("model", {})
    return huggingface.dump(document | parts)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"normalizer": {"type": "NFKC"}}, "does not support: NFKC"),
        ({"normalizer": None}, "splits at line ends, too"),
        ({"pre_tokenizer": METASPACE}, "prepares or splits texts"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "prepares or splits texts"),
        ({"pre_tokenizer": None}, "prepares or splits texts"),
        ({"model": {"unk_id": None}}, "needs an unknown piece"),
        ({"added_tokens": [huggingface.added("new", 500, special=False)]}, "is not special"),
        ({"added_tokens": [huggingface.added("<x>", 999)]}, "have a gap"),
        ({"added_tokens": [huggingface.added("<x>", 3)]}, "has the id of another piece"),
        ({"added_tokens": []}, "the source encodes the text '<unk>' as that piece"),
        ({"model": {"byte_fallback": True}}, "all 256 bytes or to none"),
    ],
)
def test_settings_without_a_sentencepiece_equivalent_are_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(ConversionError, match=message):
        back(changed(**parts))


def test_pieces_without_a_sentencepiece_equivalent_are_refused() -> None:
    with pytest.raises(ConversionError, match="a piece contains one"):
        back(changed(["a▁b", -3.0]))
    with pytest.raises(ConversionError, match="the piece 'twice' is listed twice"):
        back(changed(["twice", -3.0], ["twice", -4.0]))
    with pytest.raises(ConversionError, match="lowest score"):
        back(changed(["<s2>", -99.0], added_tokens=[huggingface.added("<s2>", 500)]))


def test_special_tokens_become_control_symbols() -> None:
    special = [huggingface.added("<unk>", 2), *map(huggingface.added, ("<pad>", "</s>", "<x>"), (0, 1, 500))]
    pieces = parse_model(back(changed(added_tokens=special)).proto).pieces
    assert pieces[500].text == "<x>"
    assert pieces[500].type is PieceType.CONTROL
