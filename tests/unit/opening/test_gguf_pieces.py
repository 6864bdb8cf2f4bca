"""Tests for GGUF files of SentencePiece's kinds, of Gemma 4's BPE over characters, and of WordPiece."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.gguf_files import gguf
from support.small_files import opened

import tokbench
from tokbench import SpecialPolicy
from tokbench.formats.sentencepiece.pieces import BYTE_PIECES

if TYPE_CHECKING:
    from pathlib import Path

PIECES = ["<unk>", "<s>", "</s>", *BYTE_PIECES]


@pytest.mark.parametrize(
    ("model", "changes", "expected"),
    [
        ("llama", {}, [1, 259]),
        ("llama", {"add_eos_token": True}, [1, 259, 2]),
        ("llama", {"add_bos_token": False}, [259]),
        ("t5", {}, [259, 2]),
        ("t5", {"add_eos_token": False, "add_bos_token": True}, [1, 259]),
    ],
)
def test_gguf_of_pieces_puts_bos_and_eos_around_a_text_as_llama_cpp(
    tmp_path: Path, model: str, changes: dict[str, Any], expected: list[int]
) -> None:
    pieces = [*PIECES, "▁a"]
    fields = {
        "model": model.encode(),
        "tokens": [piece.encode() for piece in pieces],
        "scores": [0.0] * 259 + [-1.0],
        "token_type": [2, 3, 3, *[6] * 256, 1],
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    tokenizer: Any = tokbench.load(gguf(tmp_path, fields | changes))
    assert tokenizer.encode("a") == [259]
    assert tokenizer.with_template("a") == expected


@pytest.mark.parametrize("model", ["llama", "t5"])
def test_gguf_of_pieces_finds_the_unknown_token_as_llama_cpp(tmp_path: Path, model: str) -> None:
    fields = {
        "model": model.encode(),
        "tokens": [piece.encode() for piece in [*PIECES, "▁", "a"]],
        "scores": [0.0] * 259 + [-1.0, -2.0],
        "token_type": [2, 3, 3, *[6] * 256, 1, 1],
    }
    tokenizer = tokbench.load(gguf(tmp_path, fields))
    assert tokenizer.encode("a<unk>", special=SpecialPolicy.ENCODE) == [259, 260, 0]
    assert 0 not in tokenizer.encode("a<unk>")
    assert tokenizer.decode([260, 0]) == "a<unk>"
    tokenizer.save(tmp_path / "saved")
    saved = tokbench.load(tmp_path / "saved")
    assert saved.encode("a<unk>", special=SpecialPolicy.ENCODE) == [259, 260, 0]


def test_gguf_of_gemma_4_always_begins_with_bos(tmp_path: Path) -> None:
    pieces = ["<unk>", "<bos>", *BYTE_PIECES, "▁", "a", "b", "ab"]
    fields = {
        "model": b"gemma4",
        "tokens": [piece.encode() for piece in pieces],
        "token_type": [2, 3, *[6] * 256, *[1] * 4],
        "merges": [b"a b"],
        "bos_token_id": 1,
        "add_bos_token": False,
    }
    tokenizer: Any = tokbench.load(gguf(tmp_path, fields))
    assert tokenizer.with_template("ab") == [1, 261]


@pytest.mark.parametrize(
    "named",
    [
        {"model": b"gemma4"},
        *(
            {"model": b"gpt2", "pre": name}
            for name in (b"gemma4", b"sarvam-moe", b"granite-embed-multi-311m")
        ),
    ],
)
def test_gguf_of_gemma_4_merges_characters_and_has_an_ordinary_eos(
    tmp_path: Path, named: dict[str, bytes]
) -> None:
    pieces = ["<unk>", "<eos>", "</s>", "<|tool_response>", *BYTE_PIECES]
    pieces += ["▁", "l", "o", "w", "\n", "lo", "low", "▁low", "\n\n", "<", "/", "s", ">", "</", "s>", "<b>"]
    merges = ["l o", "lo w", "▁ low", "\n \n", "< /", "s >", "</ s>"]
    fields = {
        **named,
        "tokens": [piece.encode() for piece in pieces],
        "token_type": [2, 3, 1, 4, *[6] * 256, *[1] * 15, 4],
        "merges": [merge.encode() for merge in merges],
        "unknown_token_id": 0,
    }
    model = opened(gguf(tmp_path, fields))
    assert model.engine == "native"
    tokenizer, ids = model.tokenizer, {piece: id for id, piece in enumerate(pieces)}

    def encoded(*expected: str) -> list[int]:
        return [ids[piece] for piece in expected]

    assert tokenizer.encode("low  low\n\n\n") == encoded("low", "▁", "▁low", "\n\n", "\n")
    assert tokenizer.encode("é<b>") == encoded("<0xC3>", "<0xA9>", "<b>")
    assert tokenizer.encode("</s>", special=SpecialPolicy.ENCODE) == encoded("</s>")
    assert set(tokenizer.info.special_tokens) == {"<eos>", "<|tool_response>"}
    assert tokenizer.decode(tokenizer.encode(" low é")) == " low é"


@pytest.mark.parametrize(
    ("said", "pieces"),
    [
        ({}, [0, 0, 0]),
        ({"normalizer.lowercase": True}, [1, 2, 2]),
        ({"normalizer.lowercase": False}, [0, 0, 0]),
        ({"normalizer.lowercase": False, "normalizer.strip_accents": True}, [0, 2, 0]),
        ({"normalizer.lowercase": True, "normalizer.strip_accents": False}, [1, 0, 0]),
    ],
)
def test_gguf_of_bert_normalizes_as_its_metadata_says(
    tmp_path: Path, said: dict[str, bool], pieces: list[int]
) -> None:
    tokens = ["[UNK]", "▁low", "▁e", "▁[CLS]", "▁[SEP]"] + (["▁Up"] if not said else [])
    fields = {
        "model": b"bert",
        "tokens": [token.encode() for token in tokens],
        "token_type": [3] + [1] * (len(tokens) - 1),
        **said,
    }
    tokenizer = opened(gguf(tmp_path, fields)).tokenizer
    assert tokenizer.encode("LOW é É") == pieces


def test_gguf_of_a_sentencepiece_model_opens(tmp_path: Path) -> None:
    pieces = [*PIECES, "▁", "l", "o", "w", "lo", "low", "▁low"]
    path = gguf(
        tmp_path,
        {
            "model": b"llama",
            "tokens": [piece.encode() for piece in pieces],
            "scores": [0.0] * 259 + [-float(rank) for rank in range(7, 0, -1)],
            "token_type": [2, 3, 3] + [6] * 256 + [1] * 7,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "unknown_token_id": 0,
        },
    )
    model = opened(path)
    assert model.composition.model == "SentencePiece bpe, with byte fallback"
    assert model.tokenizer.encode("low low") == [265, 265]
    assert model.tokenizer.encode("é") == [259, 3 + 0xC3, 3 + 0xA9]


def test_gguf_of_sentencepiece_with_padding_entries_opens(tmp_path: Path) -> None:
    """As in Phi-3's file, <unk> is a control piece and the tokens that pad the vocabulary have the type unknown."""
    pieces = [*PIECES, "▁", "a", "▁a", "[PAD1]", "[PAD2]"]
    path = gguf(
        tmp_path,
        {
            "model": b"llama",
            "tokens": [piece.encode() for piece in pieces],
            "scores": [0.0] * 259 + [-2.0, -3.0, -1.0, -1e4, -1e4],
            "token_type": [3, 3, 4, *[6] * 256, 1, 1, 1, 2, 2],
            "unknown_token_id": 0,
        },
    )
    tokenizer = tokbench.load(path)
    assert tokenizer.encode("a a") == [261, 261]
    assert tokenizer.encode("a</s>") == [261, *(3 + byte for byte in b"</s>")]
    assert {262, 263}.isdisjoint(tokenizer.encode("[PAD1] [PAD2]"))
    assert dict(tokenizer.info.special_tokens) == {"<s>": 1, "</s>": 2, "[PAD1]": 262, "[PAD2]": 263} | {
        "<unk>": 0
    }


def test_gguf_of_wordpiece_opens(tmp_path: Path) -> None:
    path = gguf(
        tmp_path,
        {
            "model": b"bert",
            "tokens": [b"[PAD]", b"[UNK]", "▁low".encode(), b"er"],
            "token_type": [3, 3, 1, 1],
        },
    )
    assert tokbench.load(path).encode("Lower zzz") == [2, 3, 1]


def test_gguf_spells_a_bracket_inside_a_word_without_its_prefix(tmp_path: Path) -> None:
    tokens = [b"[PAD]", b"[UNK]", "▁[".encode(), b"[", b"]", "▁low".encode()]
    path = gguf(tmp_path, {"model": b"bert", "tokens": tokens, "token_type": [3, 3, 1, 1, 1, 1]})
    assert tokbench.load(path).encode("low [") == [5, 2]
