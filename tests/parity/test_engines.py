"""tokbench's kernel and the library that a tokenizer is made for give the same ids for every text.

Tested is each file that runs on the kernel under "auto": on the bundled texts, on hard
ones, on characters for which the two have tables of different years, and on random text.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from support.kernels import KERNEL_NAMES, kernel_named
from support.places import SHARED, VOCABULARIES
from support.texts import bundled_texts, characters_in_use, characters_of_all_kinds, texts

import tokbench
from tokbench import SpecialPolicy
from tokbench.opening.open import open_found
from tokbench.opening.recognition import recognize
from tokbench.opening.request import OpenRequest
from tokbench.opening.unicode_agreement import (
    CLASSES,
    UnicodeAgreement,
    classes_here,
    is_settled,
    tiktoken_members,
    tokenizers_members,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer
    from tokbench.opening.request import Opened

NATIVE = [
    "openai/cl100k_base.tiktoken",
    "openai/r50k_base.tiktoken",
    "gpt2/tokenizer.json",
    "falcon",
    "gpt2/vocab.bpe",
    "gguf/ggml-vocab-gpt-2.gguf",
    "bert-base-uncased",
    "baai-bge-small-en",
    "t5-base",
    "mistral",
    "t5-small",
]

COMPARED = [
    "openai/cl100k_base.tiktoken",
    "openai/r50k_base.tiktoken",
    "gpt2/tokenizer.json",
    "falcon",
    "bert-base-uncased",
    "t5-base",
    "mistral",
    "t5-small",
]
"""Each vocabulary once per library; for the other files of GPT-2 and BERT, test_vectors.py compares the ids."""

OF_BYTES = COMPARED[:4]
"""The byte-level BPEs among them."""


def chunks_of_100(characters: str) -> Iterator[str]:
    return (characters[start : start + 100] for start in range(0, len(characters), 100))


@cache
def opened(name: str) -> Opened:
    return open_found(recognize(SHARED / "vocab" / name), OpenRequest())


@cache
def both(name: str) -> tuple[Tokenizer, Tokenizer]:
    return opened(name).tokenizer, tokbench.load(SHARED / "vocab" / name, engine="library")


@pytest.mark.real
@pytest.mark.parametrize("name", VOCABULARIES)
def test_auto_engine_chooses_the_kernel_if_provable_with_a_reason(shared: Path, name: str) -> None:
    found = opened(name)
    assert found.engine == ("native" if name in NATIVE else "library")
    assert (found.tokenizer.info.kernel in ("native", "python")) == (name in NATIVE)
    assert found.reason


@pytest.mark.real
@pytest.mark.parametrize("name", OF_BYTES)
def test_both_engines_agree_on_the_bundled_texts(shared: Path, name: str) -> None:
    native, library = both(name)
    for title, text in bundled_texts().items():
        ids = native.encode(text)
        assert ids == library.encode(text), title
        decoded = native.decode_bytes(ids)
        assert decoded == library.decode_bytes(ids), title
        assert not native.info.lossless or decoded == text.encode(), title


@pytest.mark.real
@pytest.mark.parametrize("name", COMPARED)
def test_both_engines_segment_alike(shared: Path, name: str) -> None:
    native, library = both(name)
    for title, text in bundled_texts().items():
        start = text[:500]
        assert native.segment(start) == library.segment(start), title


@pytest.mark.real
@pytest.mark.parametrize("name", COMPARED)
@given(text=texts)
def test_both_engines_agree_on_any_text(shared: Path, name: str, text: str) -> None:
    native, library = both(name)
    assert native.encode(text) == library.encode(text)
    assert native.segment(text) == library.segment(text)


@pytest.mark.real
@pytest.mark.parametrize("name", COMPARED)
@given(
    parts=st.lists(
        texts | st.sampled_from(["<|endoftext|>", "<|endofprompt|>", "<|fim_prefix|>", "[CLS]"]), max_size=6
    )
)
def test_both_engines_agree_on_special_tokens(shared: Path, name: str, parts: list[str]) -> None:
    native, library = both(name)
    text = "".join(parts)
    for special in (SpecialPolicy.TEXT, SpecialPolicy.ENCODE):
        assert native.encode(text, special=special) == library.encode(text, special=special)


@pytest.mark.real
@pytest.mark.parametrize("name", ["openai/cl100k_base.tiktoken", "gpt2/tokenizer.json"])
def test_both_engines_agree_on_characters_whose_class_has_changed(shared: Path, name: str) -> None:
    members = tiktoken_members if name.endswith(".tiktoken") else tokenizers_members
    native, library = both(name)
    text = characters_in_use()
    disputed = sorted(
        {
            character
            for members_of_class in CLASSES
            for character in set(regex.findall(members_of_class, text)) ^ set(members(members_of_class, text))
        }
    )
    assert disputed, "the libraries' tables are of the same year: compare others"
    for character in disputed[::40]:
        for context in (f"a{character}b", f" {character}{character}1", f"1{character}'s", f"\n{character} "):
            assert native.encode(context) == library.encode(context), f"U+{ord(character):04X}"


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("name", OF_BYTES)
def test_both_engines_agree_on_every_kind_of_character_in_context(shared: Path, name: str) -> None:
    native, library = both(name)
    for characters in chunks_of_100(characters_of_all_kinds()):
        text = "".join(f"a{character}B 1{character}\n" for character in characters)
        assert native.encode(text) == library.encode(text), f"from U+{ord(characters[0]):04X} on"


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("name", OF_BYTES)
def test_both_engines_agree_on_real_text(shared: Path, name: str) -> None:
    native, library = both(name)
    for folder in ("code", "parallel_ntrex"):
        for path in sorted((shared / "corpora" / folder).glob("*.txt")):
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)[:300]
            assert (native.encode_batch(lines).ids == library.encode_batch(lines).ids).all(), path.name


# NFC, with a small vocabulary


def qwen_like(folder: Path) -> Path:
    """Write a tokenizer.json with Qwen2's parts, the 256 bytes and a few merges."""
    from tokbench.formats.tokenizer_json import dump_byte_level_bpe

    tokens = [bytes([byte]) for byte in range(256)] + [b"\xc3\xa9", b" a", b"\xcc\x81", b"e\xcc\x81"]
    document = dump_byte_level_bpe(
        tokens=tokens,
        merges=[(0xC3, 0xA9), (0x20, 0x61), (0xCC, 0x81), (0x65, 258)],
        special_tokens={"<|end|>": 260},
        pattern=tokbench_pattern("qwen2"),
        normalization="nfc",
    )
    path = folder / "tokenizer.json"
    path.write_bytes(document)
    return path


def tokbench_pattern(name: str) -> str:
    from tokbench.backends.bpe.split_patterns import resolve_pattern

    text = resolve_pattern(name).oniguruma
    assert text is not None
    return text


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tokenizer, Tokenizer]:
    path = qwen_like(tmp_path_factory.mktemp("qwen"))
    return tokbench.load(path), tokbench.load(path, engine="library")


def test_nfc_runs_on_the_kernel(qwen: tuple[Tokenizer, Tokenizer]) -> None:
    native, library = qwen
    assert native.info.kernel in ("native", "python")
    assert library.info.kernel.startswith("tokenizers ")
    assert native.encode("cafe\u0301") == library.encode("cafe\u0301") == [0x63, 0x61, 0x66, 256]


marks = st.sampled_from(
    "e\u0301\u0323\u0334a\u0f71\u0f72\u1100\u1161\u11a8\u09c7\u09be\u2126\u212b\uac00\U0001e8d0"
)


@given(text=st.lists(marks | st.characters(exclude_categories=["Cs"]) | texts, max_size=12).map("".join))
def test_nfc_equals_the_librarys_on_any_text(qwen: tuple[Tokenizer, Tokenizer], text: str) -> None:
    native, library = qwen
    assert native.encode(text) == library.encode(text)


@pytest.mark.slow
def test_nfc_equals_the_librarys_for_every_kind_of_character_beside_marks(
    qwen: tuple[Tokenizer, Tokenizer],
) -> None:
    native, library = qwen
    for characters in chunks_of_100(characters_of_all_kinds()):
        text = "".join(f"a{c}\u0301\u0323 \u0301{c}\u0334 \u0307{c}\u0307 " for c in characters)
        assert native.encode(text) == library.encode(text), f"from U+{ord(characters[0]):04X} on"


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_agreement_checks_each_character_once_and_settled_ones_never(name: str) -> None:
    asked: list[str] = []

    def members(each: str, text: str) -> str:
        asked.append(text)
        return "".join(regex.findall(each, text))

    agreement = UnicodeAgreement(members, kernel=kernel_named(name).name, nfc=False)
    assert agreement.covers("plain ASCII, wörld, 안녕, 你好, 🙂, 1ª, ქართული, မြန်မာ")
    assert asked == []
    assert agreement.covers("wörldʕ, wörldʕ")  # Unicode 17 changed the category of ʕ
    assert agreement.covers("1ʕ")
    assert asked == ["ʕ"] * len(CLASSES)


@pytest.mark.slow
@pytest.mark.parametrize("members", [tiktoken_members, tokenizers_members])
def test_settled_characters_have_the_same_class_in_installed_libraries(
    members: Callable[[str, str], str],
) -> None:
    kernel = kernel_named("native").name
    every = set(characters_in_use()[128:])
    classes = classes_here(every, kernel=kernel)
    settled = "".join(sorted(one for one, number in classes.items() if is_settled(one, number)))
    assert len(settled) > 100_000
    assert set(settled).issuperset("ªºაက\x85\u200b")
    for number, each in enumerate(CLASSES, start=1):
        assert set(members(each, settled)) == {
            character for character in settled if classes[character] == number
        }


def test_characters_whose_class_changed_are_not_settled() -> None:
    for character, number in [
        ("ʕ", 3),
        ("\u0378", 0),
        ("\u1cf2", 4),
        ("\U0001e900", 1),
    ]:
        assert not is_settled(character, number)


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_agreement_excludes_characters_with_another_class_in_the_library(name: str) -> None:
    agreement = UnicodeAgreement(lambda each, text: "", kernel=kernel_named(name).name, nfc=False)
    for _ in range(2):
        assert not agreement.covers("ʕ")
        assert agreement.covers("€")  # in none of the classes in any version
        assert not agreement.covers("€" * 100 + "ʕ")
        assert agreement.covers("a€" * 100)
    with pytest.raises(UnicodeEncodeError):
        agreement.covers("€\ud800")


def test_merge_list_is_not_treated_as_ranks(tmp_path: Path) -> None:
    """tiktoken would merge "a" and "b" to "ab" here, but the list only merges "aa" and "b"."""
    tokens = [*(bytes([byte]) for byte in range(256)), b"aa", b"aab", b"ab"]
    from tokbench.formats.tokenizer_json import dump_byte_level_bpe

    document = json.loads(
        dump_byte_level_bpe(
            tokens=tokens, merges=[(97, 97), (256, 98)], special_tokens={}, pattern=None, normalization=None
        )
    )
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    native, library = tokbench.load(path), tokbench.load(path, engine="library")
    for text in ("ab", "aab", "aaab", "abaab"):
        assert native.encode(text) == library.encode(text)
    assert native.encode("ab") == [97, 98]
