"""Tests that the compiled and the Python normalizer give the library's normalized text."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st
from support.sentencepiece_models import charsmap, scored, unknown, written
from support.texts import characters_in_use

from tokbench.formats.sentencepiece.model import iter_user_defined, parse_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.libraries.sentencepiece.normalization import CharacterMap
from tokbench.native.kernel_choice import is_installed

if TYPE_CHECKING:
    from collections.abc import Sequence

RULES = ("identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf")
OPTIONS = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
SYMBOLS = ("<s>", "<sep>", " x", "y ", "ab", "abc", "é", "\u3000q", "a b", "Ⅳ")
MODULES = {"python": "tokbench.libraries.sentencepiece.normalization", "native": "tokbench.native._unigram"}
KERNELS = [
    "python",
    pytest.param(
        "native", marks=pytest.mark.skipif(not is_installed(MODULES["native"]), reason="not compiled")
    ),
]

CHARACTERS = st.one_of(
    st.sampled_from(
        " \t\n\r\0▁\u00a0\u3000\u00a8\u0308\u0301\u200b\u00adaAbcsexy<>é①ﬁﷺｶﾞ한각\u1100\u1161\ufffdⅣ"
    ),
    st.characters(exclude_categories=["Cs"]),
)
TEXTS = st.one_of(
    st.text(CHARACTERS).map(str.encode),
    st.lists(st.one_of(st.sampled_from(SYMBOLS), CHARACTERS)).map("".join).map(str.encode),
    st.binary(),
    st.lists(st.one_of(st.binary(max_size=3), CHARACTERS.map(str.encode))).map(b"".join),
)


@cache
def model(rule: str, *, suffix: bool, symbols: bool, **options: bool) -> bytes:
    pieces = [ModelPiece(text, 0.0, PieceType.USER_DEFINED) for text in SYMBOLS] if symbols else []
    return written(
        [unknown(), *scored({"a": 0.0}), *pieces],
        trainer={"model_type": 2, "treat_whitespace_as_suffix": suffix},
        normalizer={"precompiled_charsmap": charsmap(rule), **options},
    )


@lru_cache(maxsize=32)
def peer(proto: bytes) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_proto=proto)


def new_normalizer(kernel: str, table: bytes, symbols: Sequence[str] = (), **options: bool) -> Any:
    return import_module(MODULES[kernel]).Normalizer(
        table, [symbol.encode() for symbol in symbols], **options
    )


@lru_cache(maxsize=32)
def normalizer(proto: bytes, kernel: str) -> Any:
    parsed = parse_model(proto)
    options = {name: parsed.normalizer[name] for name in OPTIONS}
    suffix = parsed.trainer["treat_whitespace_as_suffix"]
    table, symbols = parsed.normalizer["precompiled_charsmap"], list(iter_user_defined(parsed))
    return new_normalizer(kernel, table, symbols, **options, treat_whitespace_as_suffix=suffix)


def check(proto: bytes, text: bytes, kernel: str) -> None:
    assert normalizer(proto, kernel).normalize(text) == peer(proto).normalize(text)


@pytest.mark.parametrize("kernel", KERNELS)
@given(text=TEXTS, rule=st.sampled_from(RULES), flags=st.tuples(*[st.booleans()] * (len(OPTIONS) + 2)))
def test_any_bytes_are_normalized_as_by_the_library(
    kernel: str, text: bytes, rule: str, flags: tuple[bool, ...]
) -> None:
    suffix, symbols, *others = flags
    options = dict(zip(OPTIONS, others, strict=True))
    check(model(rule, suffix=suffix, symbols=symbols, **options), text, kernel)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    "text", ["", " ", "\t \u3000", " a  b ", "a \u200b b", "\u200b", "¨", "a¨ ¨", "x ▁ ", " x", "y  y "]
)
def test_spaces_are_normalized_as_by_the_library(kernel: str, text: str) -> None:
    for rule, suffix, symbols, *flags in product(
        ("identity", "nmt_nfkc"), *[(False, True)] * (2 + len(OPTIONS))
    ):
        options = dict(zip(OPTIONS, flags, strict=True))
        check(model(str(rule), suffix=bool(suffix), symbols=bool(symbols), **options), text.encode(), kernel)


@pytest.mark.parametrize(
    "rule",
    ["nmt_nfkc", *(pytest.param(rule, marks=pytest.mark.slow) for rule in RULES if rule != "nmt_nfkc")],
)
def test_every_character_is_normalized_as_by_the_library(rule: str) -> None:
    if not is_installed(MODULES["native"]):
        pytest.skip("takes long in Python")
    proto = model(rule, suffix=False, symbols=False, **dict.fromkeys(OPTIONS, True))
    characters = characters_in_use()
    for start in range(0, len(characters), 1 << 16):
        text = "".join(
            f"a{character}\u0301{character} " for character in characters[start : start + (1 << 16)]
        ).encode()
        assert normalizer(proto, "native").normalize(text) == peer(proto).normalize(text)


def test_more_matching_prefixes_than_the_library_checks_are_limited_alike() -> None:
    symbols = ["a" * size for size in range(1, 70)]
    proto = written(
        [unknown(), *(ModelPiece(text, 0.0, PieceType.USER_DEFINED) for text in symbols)],
        trainer={"model_type": 2},
    )
    for kernel in ("python", *(["native"] if is_installed(MODULES["native"]) else [])):
        check(proto, b"a" * 69 + b" " + b"a" * 140, kernel)


def tables() -> list[bytes]:
    """Return tables that are damaged in different ways."""
    whole = charsmap("nfkc")
    size = int.from_bytes(whole[:4], "little")
    outside = bytearray(whole)
    outside[4 : 4 + size] = (0x7FFF_FE00).to_bytes(4, "little") * (size // 4)
    after = bytearray(whole)
    after[4 + 1024 : 4 + 1028] = (0x8FFF_FFFF).to_bytes(4, "little")
    return [
        whole[:3],
        whole[:4],
        whole[: 4 + size],
        whole[:-1],
        b"\0\0\0\0" + whole[4:],
        (size - 4).to_bytes(4, "little") + whole[4:],
        (len(whole)).to_bytes(4, "little") + whole[4:],
        b"\xff\xff\xff\xff" + whole[4:],
        bytes(outside),
        bytes(after),
        whole[:4] + bytes(4) + whole[8:],
    ]


@pytest.mark.parametrize("number", range(11))
@pytest.mark.parametrize("kernel", KERNELS)
def test_damaged_tables_are_refused(kernel: str, number: int) -> None:
    with pytest.raises(ValueError, match="normalization table"):
        with_all_options(kernel, tables()[number])


@pytest.mark.skipif(not is_installed(MODULES["native"]), reason="not compiled")
@given(data=st.data())
def test_changed_tables_are_refused_or_give_the_same_text(data: st.DataObject) -> None:
    whole = bytearray(charsmap("nfkc"))
    for _ in range(data.draw(st.integers(1, 4))):
        place = 4 + 4 * data.draw(st.integers(0, 255))
        whole[place : place + 4] = data.draw(st.integers(0, 2**32 - 1)).to_bytes(4, "little")
    try:
        CharacterMap(bytes(whole))
    except ValueError:
        with pytest.raises(ValueError, match="normalization table"):
            with_all_options("native", bytes(whole))
        return
    text = data.draw(TEXTS)
    compiled, defined = (with_all_options(kernel, bytes(whole)) for kernel in ("native", "python"))
    assert compiled.normalize(text) == defined.normalize(text)


def with_all_options(kernel: str, table: bytes) -> Any:
    return new_normalizer(kernel, table, **dict.fromkeys(OPTIONS, True), treat_whitespace_as_suffix=False)
