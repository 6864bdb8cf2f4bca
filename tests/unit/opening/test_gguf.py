"""Tests for GGUF files of byte-level BPE, the pre-tokenizers that they name, and files that are refused."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest
from support.gguf_files import gguf
from support.small_files import opened

import tokbench
from tokbench import SpecialPolicy
from tokbench.errors import ConfigError, ModelFormatError
from tokbench.explain.assembling import explain
from tokbench.formats.gguf import read_metadata
from tokbench.formats.sentencepiece.pieces import BYTE_PIECES
from tokbench.formats.tokenizer_json import to_byte_level
from tokbench.opening.gguf.pretokenizers import known_names
from tokbench.workbench.convert import convert

if TYPE_CHECKING:
    from pathlib import Path


BYTES = [bytes([byte]) for byte in range(256)]
TOKENS = [*BYTES, b"lo", b"low", b" low"]


def gguf_bpe(**changes: Any) -> dict[str, Any]:
    pieces = [to_byte_level(token).encode() for token in TOKENS]
    return {
        "model": b"gpt2",
        "pre": b"llama-bpe",
        "tokens": [*pieces, b"<|end|>"],
        "token_type": [1] * len(pieces) + [3],
        "merges": [b"l o", b"lo w", "Ġ low".encode()],
    } | changes


def test_gguf_of_byte_level_bpe_opens_on_the_kernel(tmp_path: Path) -> None:
    model = opened(gguf(tmp_path, gguf_bpe()))
    assert model.engine == "native"
    assert model.tokenizer.encode("low low<|end|>", special=SpecialPolicy.ENCODE) == [257, 258, 259]
    assert model.composition.model == "byte-level BPE, whole pre-tokens first"


def test_gguf_with_user_tokens_or_several_split_steps_runs_on_the_kernel(tmp_path: Path) -> None:
    mine = gguf_bpe(token_type=[1] * 259 + [4])
    mine["tokens"][259] = b"<|mine|>"
    defined = opened(gguf(tmp_path, mine))
    assert (defined.engine, dict(defined.added_tokens)) == ("native", {"<|mine|>": 259})
    assert defined.tokenizer.encode("low<|mine|>") == [257, 259]
    steps = opened(gguf(tmp_path, gguf_bpe(pre=b"starcoder")))
    assert steps.engine == "native"
    assert steps.tokenizer.encode("low low") == [257, 258]


LOOKING_AHEAD = {"afmoe", "cohere2moe", "exaone-moe", "superbpe", "tiny_aya"}
"""Pre-tokenizers whose patterns repeat groups or look ahead over digits: the library runs them."""


@pytest.mark.parametrize("name", known_names())
def test_nearly_every_pre_tokenizer_of_llama_cpp_runs_on_the_kernel(tmp_path: Path, name: str) -> None:
    engine = opened(gguf(tmp_path, gguf_bpe(pre=name.encode()))).engine
    assert engine == ("library" if name in LOOKING_AHEAD else "native")


def test_gguf_end_of_turn_is_a_control_token_as_in_llama_cpp(tmp_path: Path) -> None:
    """This holds even if the file marks the token as user-defined: plain text must not end a turn."""
    model = opened(gguf(tmp_path, gguf_bpe(token_type=[1] * 259 + [4])))
    assert dict(model.tokenizer.info.special_tokens) == {"<|end|>": 259}
    assert 259 not in model.tokenizer.encode("low<|end|>")
    assert model.tokenizer.encode("low<|end|>", special=SpecialPolicy.ENCODE) == [257, 259]


ENDS_OF_HAN = "㐀䶿一鿿豈\ufaff\U00020000\U0002a6df\U0002a700\U0002ebef丽\U0002fa1f"


@pytest.mark.parametrize(
    ("name", "text", "pieces"),
    [
        ("deepseek-coder", "a1\n .b", ["a", "1", "\n", " .", "b"]),
        (
            "deepseek-llm",
            "a\n é,東京12 \u03b1\u0905  ",
            ["a", "\n", " é", ",", "東京", "12", " α", "अ", "  "],
        ),
        ("deepseek-llm", "a  \u3000。東\u3000", ["a", "  ", "\u3000", "。", "東", "\u3000"]),
        ("deepseek-coder", "\u2029漢\u3000 \u3000", ["\u2029", "漢", "\u3000 \u3000"]),
        ("deepseek-coder", "漢\u1680漢\u205f漢", ["漢", "\u1680", "漢", "\u205f", "漢"]),
        ("deepseek-v3", "x.y 12345\n東京a", ["x", ".y", " ", "123", "45", "\n", "東京", "a"]),
        ("falcon", "a, 12345-b", ["a", ",", " ", "123", "45", "-", "b"]),
        ("default", "a, `.12345", ["a", ",", " `", ".", "123", "45"]),
        ("command-r", "it's 12", ["it", "'s", " ", "1", "2"]),
        ("qwen35", "क्षि 12", ["क्षि", " ", "1", "2"]),
        ("bloom", "Hi there, you", ["Hi", " there", ",", " you"]),
        ("llama4", "it's USAid 1234", ["it's", " USAid", " ", "123", "4"]),
        ("gpt-4o", "haÉcole aB हिन्", ["haÉcole", " a", "B", " ह", "िन", "्"]),
        ("granite-embed-multi-97m", "haÉcole aB हिन्", ["haÉcole", " a", "B", " हिन्"]),
        ("tekken", "it's 12 .//", ["it", "'s", " ", "1", "2", " .//"]),
        ("tekken", "haÉcole हि", ["haÉcole", " ह", "ि"]),
        ("tiny_aya", "a 1234567 b", ["a", " ", "1", "234", "567", " b"]),
        ("tiny_aya", "aBc हि  12", ["aBc", " हि", " ", " ", "12"]),
        ("superbpe", "a cat, 1234567 b", ["a cat, ", "1", "234", "567", " b"]),
        ("kimi-k2", "東京ab 12345.\n/", ["東京", "ab", " ", "123", "45", ".\n", "/"]),
        ("kimi-k2", "x".join(ENDS_OF_HAN), [*"x".join(ENDS_OF_HAN)]),
        ("kimi-k2", "aBcÉ's हि 'ſa", ["aBcÉ's", " ह", "ि", " '", "ſa"]),
        ("youtu", "한a，b 12", ["한", "a", "，", "b", " ", "1", "2"]),
        ("youtu", "aBcÉ's हि", ["aBcÉ's", " हि"]),
        ("jais-2", "a       b", ["a", "    ", "  ", " b"]),
        ("jais-2", f"a{600 * ' '}b", ["a", *(size * " " for size in (512, 64, 16, 4, 2, 1)), " b"]),
        ("laguna", "a \n\nb 12", ["a", " ", "\n\n", "b", " ", "1", "2"]),
        ("exaone-moe", "go on now. 12", ["go on now", ".", " ", "1", "2"]),
        ("chameleon", "a    b12,", ["a", "    ", "b", "1", "2", ","]),
        ("spark2_5", "x.y\n\na 1234", ["x", ".y", "\n", "\n", "a", " ", "1", "2", "3", "4"]),
        ("afmoe", "a12345 東京กa", ["a", "12", "345", " ", "東京", "กa"]),
        ("afmoe", "\ua000b  1", ["\ua000", "b", " ", " ", "1"]),
    ],
)
def test_gguf_splits_as_its_named_pre_tokenizer(
    tmp_path: Path, name: str, text: str, pieces: list[str]
) -> None:
    tokenizer = opened(gguf(tmp_path, gguf_bpe(pre=name.encode()))).tokenizer
    assert [step.pretoken.text for step in explain(tokenizer, text).steps] == pieces


@pytest.mark.parametrize("name", ["tekken", "granite-embed-multi-97m", "youtu", "minicpm5", "glm4"])
def test_some_pre_tokenizers_look_whole_pre_tokens_up_first(tmp_path: Path, name: str) -> None:
    """ "low" is in the vocabulary, and no merges make it."""
    tokens = [*gguf_bpe()["tokens"][:-1], b"ow"]
    fields = gguf_bpe(pre=name.encode(), merges=[b"o w"], tokens=tokens, token_type=[1] * 260)
    assert opened(gguf(tmp_path, fields)).tokenizer.encode("low") == [257]
    assert opened(gguf(tmp_path, fields), pattern="gpt4").tokenizer.encode("low") == [257]
    others = opened(gguf(tmp_path, fields | {"pre": b"gpt-4o"})).tokenizer
    assert others.encode("low") == [ord("l"), 259]


@pytest.mark.parametrize(
    ("pre", "said"),
    [
        ("gpt-4o", "combining marks, as in Hindi, are no letters, and letters other than a-z and A-Z"),
        ("granite-embed-multi-97m", ": letters other than a-z and A-Z have no case"),
        ("tiny_aya", ": no pre-token begins at a capital"),
        ("kimi-k2", "combining marks, as in Hindi, are no letters, and no pre-token begins at a capital"),
        ("deepseek-coder", "white space beyond ASCII"),
        ("afmoe", "characters from U+8C48 to U+FAFF count as Chinese"),
        ("qwen2", ""),
    ],
)
def test_gguf_says_where_llama_cpp_splits_other_than_the_model(tmp_path: Path, pre: str, said: str) -> None:
    path = gguf(tmp_path, gguf_bpe(pre=pre.encode()))
    warnings = opened(path).warnings
    assert bool(warnings) == bool(said)
    assert said in "".join(warnings)
    assert not opened(path, pattern="gpt4").warnings


def test_gguf_without_a_pre_tokenizer_warns_and_uses_the_default(tmp_path: Path) -> None:
    fields = gguf_bpe()
    del fields["pre"]
    model = opened(gguf(tmp_path, fields))
    assert "names no pre-tokenizer" in model.warnings[0]
    assert model.tokenizer.encode("low, low") == [257, 44, 258]
    assert opened(gguf(tmp_path, fields), pattern="gpt4").warnings == ()
    assert opened(gguf(tmp_path, gguf_bpe(pre=b"default"))).warnings == ()


def test_gguf_of_qwen2_has_no_normalizer(tmp_path: Path) -> None:
    """llama.cpp does not normalize, unlike the model's own tokenizer; a tokbin made of the GGUF does not either."""
    model = opened(gguf(tmp_path, gguf_bpe(pre=b"qwen2")))
    assert model.engine == "native"
    assert model.tokenizer.encode("e\u0301") == [0x65, 0xCC, 0x81]
    asked_for = opened(gguf(tmp_path, gguf_bpe()), pattern="qwen2").tokenizer
    assert asked_for.encode("e\u0301") == [0xC3, 0xA9]
    convert(model.tokenizer, to="tokbin", out=tmp_path / "mine.tokbin")
    assert tokbench.load(tmp_path / "mine.tokbin").encode("e\u0301 low") == [0x65, 0xCC, 0x81, 258]


def test_gguf_with_empty_tokens_opens(tmp_path: Path) -> None:
    fields = gguf_bpe()
    fields["tokens"] = [*fields["tokens"], b"", b""]
    fields["token_type"] = [*fields["token_type"], 1, 1]
    tokenizer = tokbench.load(gguf(tmp_path, fields))
    assert tokenizer.encode("low low") == [257, 258]
    assert [tokenizer.decode([id]) for id in (260, 261)] == ["[EMPTY_260]", "[EMPTY_261]"]


@pytest.mark.parametrize(
    ("changes", "around"),
    [
        ({}, (True, False)),
        ({"add_bos_token": False}, (False, False)),
        ({"add_bos_token": False, "add_eos_token": True}, (False, True)),
        ({"pre": b"qwen2"}, (False, False)),
        ({"pre": b"qwen2", "add_bos_token": True, "add_eos_token": True}, (True, True)),
        ({"pre": b"tekken", "bos_token_id": 900}, (False, False)),
    ],
)
def test_gguf_of_bpe_puts_bos_and_eos_around_a_text_as_llama_cpp(
    tmp_path: Path, changes: dict[str, Any], around: tuple[bool, bool]
) -> None:
    model = opened(gguf(tmp_path, gguf_bpe(bos_token_id=0, eos_token_id=259) | changes))
    tokenizer: Any = model.tokenizer
    begin, end = [0] * around[0], [259] * around[1]
    assert model.engine == "native"
    assert tokenizer.encode("low") == [257]
    assert tokenizer.with_template("low") == [*begin, 257, *end]
    convert(tokenizer, to="tokenizers", out=tmp_path / "tokenizer.json")
    assert tokbench.load(tmp_path / "tokenizer.json").with_template("low") == [*begin, 257, *end]


def test_gguf_with_an_unknown_pre_tokenizer_requires_a_pattern(tmp_path: Path) -> None:
    path = gguf(tmp_path, gguf_bpe(pre=b"something-new"))
    with pytest.raises(ConfigError, match="unknown pre-tokenizer 'something-new'"):
        tokbench.load(path)
    assert tokbench.load(path, pattern="gpt4").encode("low low") == [257, 258]


def test_arrays_within_arrays_are_few(tmp_path: Path) -> None:
    """Two million of them in a file of 24 MB took 4 seconds."""

    def nested(count: int) -> bytes:
        key = b"tokenizer.inner"
        empty = struct.pack("<IQ", 4, 0)
        return struct.pack("<Q", len(key)) + key + struct.pack("<IIQ", 9, 9, count) + empty * count

    path = tmp_path / "model.gguf"
    for counts, limit in (([65_536], None), ([65_537], "65,537"), ([40_000, 40_000], "40,000")):
        bodies = [nested(count).replace(b"inner", b"inne%d" % n) for n, count in enumerate(counts)]
        path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(bodies)) + b"".join(bodies))
        if limit is None:
            assert read_metadata(path) == {"tokenizer.inne0": [[]] * 65_536}
        else:
            with pytest.raises(ModelFormatError, match=f"65,536 arrays within arrays, found {limit}"):
                read_metadata(path)


def test_arrays_are_nested_once(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    nested = struct.pack("<IIQIQIQ", 9, 9, 1, 9, 1, 4, 0)
    path.write_bytes(b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 11) + b"tokenizer.a" + nested)
    with pytest.raises(ModelFormatError, match="a type of value between 0 and 12"):
        read_metadata(path)


def test_gguf_without_a_tokenizer_says_so(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 0))
    with pytest.raises(ModelFormatError, match="found none"):
        tokbench.load(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"precompiled_charsmap": [1.5]}, "a normalization table of bytes"),
        ({"precompiled_charsmap": [b"a"]}, "a normalization table of bytes"),
        ({"precompiled_charsmap": 7}, "a normalization table of bytes"),
        ({"scores": [b"a"] * 261}, "261 scores"),
        ({"scores": [b"a"]}, "261 scores"),
        ({"token_type": [float(kind) for kind in (2, 3, 3, *[6] * 256, 1, 1)]}, "261 token types"),
    ],
)
def test_metadata_of_other_types_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    pieces = ["<unk>", "<s>", "</s>", *BYTE_PIECES, "▁", "a"]
    fields = {
        "model": b"llama",
        "tokens": [piece.encode() for piece in pieces],
        "scores": [0.0] * len(pieces),
        "token_type": [2, 3, 3, *[6] * 256, 1, 1],
    }
    with pytest.raises(ModelFormatError, match=message):
        tokbench.load(gguf(tmp_path, fields | changes))
