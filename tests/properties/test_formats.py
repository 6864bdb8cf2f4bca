"""File formats on random input: round trips, noise, and every library giving the ids of the definition."""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from support.textbook_bpe import GPT2, encoded, learned, token_bytes

from tokbench.errors import ModelFormatError
from tokbench.formats.tiktoken import dump_ranks, parse_ranks, to_encoding
from tokbench.formats.tokenizer_json import (
    all_from_byte_level,
    dump_byte_level_bpe,
    from_byte_level,
    to_byte_level,
)

if TYPE_CHECKING:
    import tiktoken
    from support.textbook_bpe import Pair

PATH = Path("ranks.tiktoken")


def settled(character: str) -> bool:
    """Whether Unicode 3.2 and the current version agree on a character, so that every library's table has it."""
    category = unicodedata.ucd_3_2_0.category(character)
    return category == unicodedata.category(character) and category not in {"Cn", "Co", "Cs"}


SETTLED = [character for character in map(chr, range(0x30000)) if settled(character)]
texts = st.text(
    st.sampled_from("aab the\n\r\t '.,1290éСд東京\u3000\u0301🙂") | st.sampled_from(SETTLED), max_size=60
)


@settings(deadline=None)
@given(piece=st.binary(max_size=50))
def test_byte_level_alphabet_roundtrips(piece: bytes) -> None:
    text = to_byte_level(piece)
    assert len(text) == len(piece)
    assert not any(character.isspace() for character in text)
    assert from_byte_level(text) == piece


@settings(deadline=None)
@given(
    pieces=st.lists(
        st.text(st.sampled_from("Ġaé \n\xad\u0143\u0144字") | st.characters(exclude_categories=["Cs"]))
    )
)
def test_bytes_of_many_pieces_are_those_of_each(pieces: list[str]) -> None:
    def bytes_of(piece: str) -> bytes | None:
        try:
            return from_byte_level(piece)
        except ValueError:
            return None

    assert all_from_byte_level(pieces) == list(map(bytes_of, pieces))


# Rank files


@settings(deadline=None)
@given(tokens=st.lists(st.binary(max_size=12), min_size=1, unique=True))
def test_rank_file_roundtrips(tokens: list[bytes]) -> None:
    data = dump_ranks(tokens)
    assert parse_ranks(data, path=PATH) == [(token, rank) for rank, token in enumerate(tokens)]
    assert parse_ranks(data.replace(b"\n", b"\r\n"), path=PATH) == parse_ranks(data, path=PATH)


@settings(deadline=None)
@given(data=st.binary() | st.text("YQ= \r\n0123456789+/-", max_size=60).map(str.encode))
def test_random_bytes_are_refused_or_parsed_exactly(data: bytes) -> None:
    try:
        ranks = parse_ranks(data, path=PATH)
    except ModelFormatError:
        return
    lines = data.replace(b"\r\n", b"\n").rstrip(b"\r\n").split(b"\n")
    assert len(lines) == len(ranks) == len(dict(ranks)) == len({rank for _, rank in ranks})
    for line, (token, rank) in zip(lines, ranks, strict=True):
        assert line == dump_ranks([token]).removesuffix(b" 0\n") + b" %d" % rank


@settings(max_examples=300)
@given(data=st.data())
def test_rank_file_with_a_changed_byte_is_refused_or_differs(data: st.DataObject) -> None:
    whole = dump_ranks([b"a", b"b", b"ab", b"abc", b"\xff\xfe"])
    changed = bytearray(whole)
    position = data.draw(st.integers(0, len(whole) - 1))
    changed[position] ^= data.draw(st.integers(1, 255))
    try:
        ranks = parse_ranks(bytes(changed), path=PATH)
    except ModelFormatError:
        return
    same_by_line_end = position == len(whole) - 1 and changed[-1] in b"\r\n"
    assert same_by_line_end or ranks != parse_ranks(whole, path=PATH)


# The same ids everywhere


@cache
def trained() -> tuple[Pair, ...]:
    text = "aab the\nthe abba 1290 129 12 東京 東京 éé Сд aaaa aaaaa '' .. 🙂🙂   \n\n  a \r\n\r\n  " * 2
    return learned(text, pattern=GPT2, count=40)


def encode(text: str) -> list[int]:
    return encoded(text, trained(), pattern=GPT2)


@cache
def in_tokenizers(normalization: str | None) -> tokenizers.Tokenizer:
    data = dump_byte_level_bpe(
        tokens=token_bytes(trained()),
        merges=trained(),
        special_tokens={"<|end|>": 296},
        pattern=GPT2,
        normalization=normalization,
    )
    return tokenizers.Tokenizer.from_str(data.decode())


@cache
def in_tiktoken() -> tiktoken.Encoding:
    ranks = parse_ranks(dump_ranks(token_bytes(trained())), path=PATH)
    return to_encoding("test", pattern=GPT2, ranks=ranks, special_tokens={"<|end|>": 296})


@settings(max_examples=300)
@given(text=texts)
def test_every_library_gives_the_ids_of_the_reference(text: str) -> None:
    expected = encode(text)
    assert in_tokenizers(None).encode(text).ids == expected
    assert in_tiktoken().encode_ordinary(text) == expected
    assert in_tokenizers(None).decode(expected) == text
    assert in_tiktoken().decode(expected) == text


@settings(deadline=None)
@given(text=texts)
def test_nfc_normalizer_encodes_the_normalized_text(text: str) -> None:
    assert in_tokenizers("nfc").encode(text).ids == encode(unicodedata.normalize("NFC", text))


@settings(deadline=None)
@given(parts=st.lists(texts, min_size=2, max_size=4))
def test_special_token_splits_the_text(parts: list[str]) -> None:
    expected = [id for part in parts for id in [*encode(part), 296]][:-1]
    text = "<|end|>".join(parts)
    assert in_tokenizers(None).encode(text).ids == expected
    assert in_tiktoken().encode(text, allowed_special="all") == expected


def test_every_kind_of_character_is_encoded_alike() -> None:
    for character in SETTLED[:: len(SETTLED) // 2000]:
        text = f"{character}a {character}{character}\n{character} 1{character}"
        assert in_tokenizers(None).encode(text).ids == encode(text) == in_tiktoken().encode_ordinary(text)
