"""Tests that llama2.c's tokenizer.bin opens as the SentencePiece model that it was written from."""

from __future__ import annotations

import struct
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sentencepiece_models import variant
from support.texts import texts

import tokbench
from tokbench.errors import ModelFormatError
from tokbench.formats.llama2c import (
    EXCLUDED,
    Llama2cTokenizer,
    dump_llama2c,
    looks_like_llama2c,
    model_of_llama2c,
)
from tokbench.formats.sentencepiece.model import parse_model
from tokbench.libraries.sentencepiece.models import open_model
from tokbench.opening.open import open_found
from tokbench.opening.recognition import Format, recognize
from tokbench.opening.request import OpenRequest
from tokbench.workbench.convert import convert

if TYPE_CHECKING:
    from pathlib import Path


@cache
def binary() -> bytes:
    """Return a tokenizer.bin of a trained BPE."""
    return dump_llama2c(parse_model(variant("bpe").description().proto))


@cache
def both() -> tuple[Any, Llama2cTokenizer]:
    return open_model(model_of_llama2c(binary()), name="mine"), Llama2cTokenizer(binary())


def test_llama2c_file_is_recognized_by_content_and_by_folder(tmp_path: Path) -> None:
    (tmp_path / "tok512.bin").write_bytes(binary())
    opened = open_found(recognize(tmp_path / "tok512.bin"), OpenRequest())
    assert opened.source.format is Format.LLAMA2C
    assert "without U+0000" in opened.warnings[0]
    assert dict(opened.tokenizer.info.special_tokens) == {"<s>": 1, "</s>": 2}
    (tmp_path / "tokenizer.bin").write_bytes(binary())
    assert tokbench.load(tmp_path).encode("the cat") == Llama2cTokenizer(binary()).encode("the cat")


@given(text=st.one_of(texts, st.text("the catsé東 \n", max_size=40)))
def test_encoding_and_decoding_agree_with_llama2c(text: str) -> None:
    text = text.translate({ord(character): None for character in EXCLUDED})
    ours, theirs = both()
    ids = ours.encode(text)
    assert ids == theirs.encode(text)
    assert ours.decode(ids) == theirs.decode(ids)


def test_equal_scores_merge_from_the_left(tmp_path: Path) -> None:
    pieces = [(b" ", -9.0), (b"a", -9.0), (b"aa", -1.0), (b" a", -2.0)]
    opened = tokbench.load(_file(tmp_path, pieces))
    assert [opened.token_bytes(id) for id in opened.encode("aaa")] == [b" ", b"aa", b"a"]


@pytest.mark.slow
def test_llama2c_file_converts_to_itself_and_to_other_formats(tmp_path: Path) -> None:
    (tmp_path / "mine.bin").write_bytes(binary())
    opened = tokbench.load(tmp_path / "mine.bin")
    convert(opened, to="llama2c", out=tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == binary()
    for target in ("sentencepiece", "tokbin"):
        convert(opened, to=target, out=tmp_path / target)
        assert tokbench.load(tmp_path / target).encode("the cats") == opened.encode("the cats")


def _entry(score: float, text: bytes, *, length: int | None = None) -> bytes:
    return struct.pack("<fi", score, len(text) if length is None else length) + text


def _file(folder: Path, pieces: list[tuple[bytes, float]], *, longest: int = 8, tail: bytes = b"") -> Path:
    controls = [(b"<unk>", 0.0), (b"\n<s>\n", 0.0), (b"\n</s>\n", 0.0)]
    byte_pieces = [(b"<0x%02X>" % byte, 0.0) for byte in range(256)]
    body = b"".join(_entry(score, text) for text, score in [*controls, *byte_pieces, *pieces])
    path = folder / "tokenizer.bin"
    path.write_bytes(struct.pack("<i", longest) + body + tail)
    return path


SPACE = (b" ", -1.0)


@pytest.mark.parametrize(
    ("pieces", "tail", "reason"),
    [
        ([SPACE, (b"a", -1.0)], b"\0\0", "a score, a length and a token"),
        ([SPACE], _entry(0.0, b"ab", length=7), "at most 8 bytes, found one of 7"),
        ([SPACE], _entry(0.0, b"ab", length=-1), "found one of -1"),
        ([SPACE], _entry(0.0, b"ab", length=2**31 - 1), "at most 8 bytes"),
        ([SPACE, (b"\xff\xfe", -1.0)], b"", "token 260: expected UTF-8"),
        ([SPACE, (b"a", -1.0), (b"a", -2.0)], b"", "both 'a'"),
        ([SPACE, (b"a", float("nan"))], b"", "a score that is not a number"),
        ([(b"a", -1.0)], b"", "begins every text with the piece of a space"),
        ([], b"", "the 256 byte pieces, and more, found 259"),
        ([SPACE, (b"", -1.0)], b"", "piece 260 is empty"),
    ],
)
def test_damaged_file_is_refused_with_its_position(
    pieces: list[tuple[bytes, float]], tail: bytes, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelFormatError, match=reason):
        tokbench.load(_file(tmp_path, pieces, tail=tail))


@given(data=st.data())
def test_changed_byte_or_truncation_raises_only_a_format_error(data: st.DataObject) -> None:
    changed = bytearray(binary())
    place = data.draw(st.integers(0, len(changed) - 1))
    changed[place] = data.draw(st.integers(0, 255))
    cut = bytes(changed[: data.draw(st.sampled_from([place, len(changed)]))])
    looks_like_llama2c(cut)
    try:
        proto = model_of_llama2c(cut)
    except ModelFormatError:
        return
    assert dump_llama2c(parse_model(proto))[4:] == cut[4:]
