"""Tests for the table of normalized characters, which grows with the texts and normalizes each block once."""

from __future__ import annotations

import unicodedata
from functools import partial

import pytest

from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.opening.character_changes import ChangesByNeed
from tokbench.opening.text_normalization import TextNormalization
from tokbench.opening.unicode_agreement import all_may_become, may_become

pytestmark = pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")

TEXTS = ["AbÀ", "e\u0323\u0301 ẛ̣", "ДЖ Ά", "각 豈", "Ⅷ ﬁ", "\U0001d400", "\u0344\u0f73"]
decompose = partial(unicodedata.normalize, "NFKD")


def test_table_filled_text_by_text_equals_table_filled_at_once() -> None:
    by_text, at_once = (ChangesByNeed([decompose], [str.lower], orders=True) for _ in range(2))
    for text in TEXTS:
        assert by_text.of([text]).of(text) == decompose(text).lower()
    together = at_once.of(TEXTS)
    for text in TEXTS:
        assert by_text.of([]).of(text) == together.of(text) == decompose(text).lower()
        assert by_text.of([]).origins(text).tolist() == together.origins(text).tolist()


def test_each_character_is_normalized_once_more_than_its_block() -> None:
    asked: list[str] = []

    def lower(text: str) -> str:
        asked.extend(text)
        return text.lower()

    changes = ChangesByNeed([lower], [], orders=False)
    for block in range(0x20):
        changes.of([chr(block * 0x100 + 0x41)])
    assert asked.count("A") == asked.count("Ā") == asked.count("\u1e41") == 2
    assert asked.count("\u0941") == 1  # no character of this block has another one in lower case
    assert len(asked) < 4.1 * 0x20 * 0x100  # every character of the blocks twice, with separators in between


def test_blocks_that_stay_as_they_are_are_in_no_table() -> None:
    changes = ChangesByNeed([decompose], [str.lower], orders=True)
    for text in ("一丁\u4eff", "\u0906", "\u1ab0a", "\ue000"):
        assert changes.of([text]).of(text) == decompose(text).lower()
        assert changes.leaves(text) == (
            text == decompose(text).lower() and not unicodedata.combining(text[0])
        )
    assert changes._learned.characters.size < 0x200
    assert changes.of(["\u0301\u1ab0\u0323"]).of("\u0301\u1ab0\u0323") == decompose("\u0301\u1ab0\u0323")


CHARACTERS = {
    chr(code) for code in range(0x30000) if code % 7 == 0 or code < 0x3400 or 0x1F000 < code < 0x1F100
} - {chr(code) for code in range(0xD800, 0xE000)}


@pytest.mark.parametrize(
    "kinds", [("NFC", "Lowercase"), ("NFD", "Lowercase", "StripAccents"), ("NFKD", "Nmt")]
)
def test_characters_that_become_no_others_are_left_out(kinds: tuple[str, ...]) -> None:
    normalization = TextNormalization([{"type": kind} for kind in kinds])
    become = normalization.becomes(CHARACTERS)
    assert len(become) < len(CHARACTERS) / 2
    for character in CHARACTERS:
        assert become.get(character, {character}) == normalization._becomes(character)


def test_all_that_characters_may_become_is_what_each_may_become() -> None:
    for characters in (CHARACTERS, {"각", "x"}, {"\u1161"}, {"a", "文"}, set[str]()):
        assert all_may_become(characters) == set[str]().union(*map(may_become, characters))
