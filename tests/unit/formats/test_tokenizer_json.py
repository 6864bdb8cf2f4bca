"""`tokenizer.json`: a small BPE trained by the textbook loop has the same ids in every library."""

from __future__ import annotations

import json
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from support.textbook_bpe import BYTES, GPT2, encoded, learned, token_bytes

from tokbench.errors import ConversionError
from tokbench.formats.tiktoken import to_encoding
from tokbench.formats.tokenizer_config.fields import TokenizerConfig
from tokbench.formats.tokenizer_config.files import dump_tokenizer_config, with_special_tokens
from tokbench.formats.tokenizer_json import dump_byte_level_bpe, from_byte_level, to_byte_level
from tokbench.store.saveable import self_test_texts

if TYPE_CHECKING:
    from pathlib import Path

    from support.textbook_bpe import Pair

GPT4 = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
GPT4_FOR_ONIGURUMA = GPT4.replace("{1,3}+", "{1,3}")  # there, {1,3}+ repeats the group
TRAINING_TEXT = (
    "the cat, the hat and the 1234 mat; aaaa aaab das Haus, дом дома, 東京 東京都 तमिल\n    if x:\n" * 3
)
MERGES = 50
FIRST_SPECIAL = 256 + MERGES
SPECIALS = ("<|end|>", " <s>", "｜▁｜", "[MASK]")
TEXTS = (
    *self_test_texts(seed=3),
    *("", TRAINING_TEXT, "a\n  ", "a  b\u3000\u3000c", "1234567 ¾x"),
    *("'THE the'sThe", "aaaaaaa", "\x00\x7f\ufeff", "<|end|"),
)


@cache
def trained(pattern: str | None, count: int = MERGES) -> tuple[Pair, ...]:
    return learned(TRAINING_TEXT, pattern=pattern, count=count)


def encode(pattern: str | None, text: str) -> list[int]:
    return encoded(text, trained(pattern), pattern=pattern)


def config_with_special_tokens(special_tokens: dict[str, int]) -> bytes:
    return dump_tokenizer_config(with_special_tokens(TokenizerConfig(), special_tokens))


def document(pattern: str | None = GPT2, **options: Any) -> bytes:
    merges = trained(pattern)
    arguments: dict[str, Any] = {
        "tokens": token_bytes(merges),
        "merges": merges,
        "special_tokens": {},
        "pattern": GPT4_FOR_ONIGURUMA if pattern == GPT4 else pattern,
    }
    return dump_byte_level_bpe(**(arguments | options))


def specials(first: int = FIRST_SPECIAL) -> dict[str, int]:
    return {text: first + index for index, text in enumerate(SPECIALS)}


def opened(data: bytes) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(data.decode())


def ids_of(tokenizer: tokenizers.Tokenizer, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False).ids)


# The byte-level alphabet


def test_byte_alphabet_is_that_of_gpt2() -> None:
    assert [
        to_byte_level(bytes([byte])) for byte in (0, 10, 32, 33, 126, 127, 160, 161, 173, 174, 255)
    ] == list("ĀĊĠ!~ġł¡Ń®ÿ")
    alphabet = to_byte_level(bytes(range(256)))
    assert set(alphabet) == set(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    assert from_byte_level(alphabet) == bytes(range(256))


@pytest.mark.parametrize("text", [" ", "a\n", "東", "\u0144", "\ud800"])
def test_character_outside_the_byte_alphabet_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not in the byte-level alphabet"):
        from_byte_level(text)


# The same ids


@pytest.mark.parametrize("pattern", [GPT2, GPT4, None], ids=["gpt2", "gpt4", "none"])
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_tokenizers_and_tiktoken_give_the_ids_of_the_reference(pattern: str | None, text: str) -> None:
    tokenizer = opened(document(pattern))
    ranks = [(token, rank) for rank, token in enumerate(token_bytes(trained(pattern)))]
    encoding = to_encoding("test", pattern=pattern, ranks=ranks, special_tokens={})
    expected = encode(pattern, text)
    assert ids_of(tokenizer, text) == expected
    assert encoding.encode_ordinary(text) == expected
    assert tokenizer.decode(expected) == text


def test_oniguruma_reads_a_possessive_interval_as_a_repeated_group() -> None:
    repeated = opened(document(pattern=GPT4_FOR_ONIGURUMA))
    pretokens = repeated.pre_tokenizer.pre_tokenize_str("1234567")
    assert [text for text, _ in pretokens] == ["123", "456", "7"]
    misread = tokenizers.pre_tokenizers.Split(tokenizers.Regex(GPT4), "isolated")
    assert [text for text, _ in misread.pre_tokenize_str("1234567")] == ["1234567"]


def test_nfc_normalizer_is_written_if_requested() -> None:
    tokenizer = opened(document(normalization="nfc", special_tokens=specials()))
    for text in ("e\u0301a\u0308", "\u1100\u1161", "Å", "\u0344"):
        assert ids_of(tokenizer, text) == encode(GPT2, unicodedata.normalize("NFC", text))
    assert ids_of(opened(document()), "e\u0301") == list("e\u0301".encode())


def test_special_tokens_keep_their_ids() -> None:
    tokenizer = opened(document(special_tokens=specials()))
    assert tokenizer.get_vocab_size() == FIRST_SPECIAL + 4
    for text, id in specials().items():
        assert tokenizer.token_to_id(text) == id
        assert ids_of(tokenizer, f"a {text}  b{text}") == [*encode(GPT2, "a "), id, *encode(GPT2, "  b"), id]
        assert tokenizer.decode([97, id], skip_special_tokens=False) == f"a{text}"
        assert tokenizer.decode([97, id]) == "a"
    tokenizer.encode_special_tokens = True
    assert ids_of(tokenizer, "a<|end|>") == encode(GPT2, "a<|end|>")


def test_order_of_the_special_tokens_mapping_does_not_matter() -> None:
    backwards = dict(reversed(specials().items()))
    assert document(special_tokens=backwards) == document(special_tokens=specials())
    assert config_with_special_tokens(backwards) == config_with_special_tokens(specials())


def test_file_equals_what_tokenizers_writes(tmp_path: Path) -> None:
    data = document(special_tokens=specials(), normalization="nfc")
    theirs = json.loads(opened(data).to_str())
    ours = json.loads(data)
    for part in ("pre_tokenizer", "decoder"):  # the library fills in options without effect here
        assert ours.pop(part).keys() == theirs.pop(part).keys()
    assert ours == theirs


# transformers


@pytest.fixture
def transformers(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return pytest.importorskip("transformers")


@pytest.mark.parametrize("opener", ["AutoTokenizer", "PreTrainedTokenizerFast"])
def test_transformers_opens_the_folder_with_the_same_ids(
    tmp_path: Path, transformers: Any, opener: str
) -> None:
    (tmp_path / "tokenizer.json").write_bytes(document(special_tokens=specials()))
    (tmp_path / "tokenizer_config.json").write_bytes(config_with_special_tokens(specials()))
    tokenizer = getattr(transformers, opener).from_pretrained(str(tmp_path))
    assert len(tokenizer) == FIRST_SPECIAL + 4
    assert tokenizer.all_special_ids == list(specials().values())
    assert set(tokenizer("the cat")) == {"input_ids", "attention_mask"}
    for text in TEXTS:
        assert tokenizer.encode(text) == encode(GPT2, text)
        assert tokenizer.decode(tokenizer.encode(text)) == text
    ids = tokenizer.encode("the cat <|end|>  x ,' s")
    assert specials()["<|end|>"] in ids
    assert tokenizer.decode(ids) == "the cat <|end|>  x ,' s"
    assert tokenizer.decode(ids, skip_special_tokens=True) == "the cat   x ,' s"


def test_transformers_opens_a_folder_without_special_tokens(tmp_path: Path, transformers: Any) -> None:
    (tmp_path / "tokenizer.json").write_bytes(document())
    (tmp_path / "tokenizer_config.json").write_bytes(config_with_special_tokens({}))
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    assert tokenizer.encode(TRAINING_TEXT) == encode(GPT2, TRAINING_TEXT)


def test_an_empty_token_keeps_its_id() -> None:
    """Whisper's vocabulary has an empty token: no text is encoded to it, and it decodes to nothing."""
    data = dump_byte_level_bpe(
        tokens=[*BYTES, b"", b"ab"], merges=[(97, 98)], special_tokens={}, pattern=None
    )
    tokenizer = tokenizers.Tokenizer.from_str(data.decode())
    assert tokenizer.encode("ab").ids == [257]
    assert tokenizer.decode([97, 256, 98]) == "ab"
    assert tokenizer.encode("").ids == []


# Conversions that cannot be exact


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"tokens": [*BYTES, b"ab", b"ab"], "merges": []}, "tokens 256 and 257 are both b'ab'"),
        ({"tokens": BYTES[:-1], "merges": []}, "no token for byte 0xFF"),
        ({"tokens": [*BYTES, b"ab"], "merges": [(97, 257)]}, "merge 0 is of ids 97 and 257"),
        ({"tokens": [*BYTES, b"ab"], "merges": [(-1, 97)]}, "merge 0 is of ids -1 and 97"),
        ({"tokens": [*BYTES, b"ab"], "merges": [(97, 99)]}, "gives bytes that are no token"),
        (
            {"tokens": [*BYTES, b"ab"], "merges": [(97, 98), (97, 98)]},
            "merge 1 of ids 97 and 98 occurs twice",
        ),
        ({"special_tokens": {"<s>": 306, "</s>": 306}}, "'<s>' and '</s>' have the same id 306"),
        ({"special_tokens": {"<s>": 0}}, "'<s>' has the id 0 of an ordinary token"),
        ({"special_tokens": {"stop": 400}, "whole_tokens_first": True}, "could take the word 'stop'"),
        ({"special_tokens": {"": 306}}, "a special token is empty"),
        ({"special_tokens": {"\ud800": 306}}, "has no UTF-8 form"),
        ({"special_tokens": {"the": 306}}, "'the' is spelled like the piece of b'the'"),
        ({"special_tokens": {"Ġthe": 306}}, "'Ġthe' is spelled like the piece of b' the'"),
        ({"special_tokens": {"café": 306}}, "'café' is spelled like the bytes b'caf\\xe9'"),
        ({"normalization": "nfkc"}, "the normalization 'nfkc' is unknown"),
    ],
)
def test_contents_that_tokenizers_would_mishandle_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConversionError) as caught:
        document(**options)
    assert reason in caught.value.reason
    assert caught.value.message == f"this conversion cannot be exact: {caught.value.reason}"
