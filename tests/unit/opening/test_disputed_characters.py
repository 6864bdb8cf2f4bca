"""Characters that the library normalizes differently are found, whether they are asked about together or one by one."""

from __future__ import annotations

from typing import Any

import pytest
from support.texts import characters_of_all_kinds
from support.word_documents import BERT_NORMALIZER, TABLE

from tokbench.opening.character_changes import APART
from tokbench.opening.text_normalization import TextNormalization

WITHIN_LINES: list[list[dict[str, Any]]] = [
    [{"type": "NFC"}],
    [{"type": "NFKD"}, {"type": "Lowercase"}, {"type": "StripAccents"}],
    [{"type": "Nmt"}, {"type": "NFKC"}],
    [TABLE],
    [TABLE, {"type": "NFC"}, {"type": "Lowercase"}],
    [BERT_NORMALIZER],
]
ONE_BY_ONE: list[list[dict[str, Any]]] = [
    [{"type": "Strip", "strip_left": True, "strip_right": True}],
    [{"type": "Nmt"}, TABLE],
    [{"type": "Replace", "pattern": {"String": "a"}, "content": "bc"}],
    [{"type": "NFC"}, {"type": "Prepend", "prepend": "_"}],
]
CHARACTERS = {*characters_of_all_kinds()[:9000:9], *"aÉ \n\u0301Σ字\u0600\u3000\u00a8", APART}


class Library:
    """A library's normalizer that treats some characters in another way, and counts the texts it is given."""

    def __init__(self, normalizer: Any, others: str = "") -> None:
        self.normalize = normalizer.normalize_str
        self.others = others
        self.texts = 0

    def normalize_str(self, text: str) -> str:
        self.texts += 1
        return self.normalize("".join("?" if character in self.others else character for character in text))


@pytest.mark.parametrize("normalizers", [*WITHIN_LINES, *ONE_BY_ONE], ids=lambda steps: str(steps)[:60])
@pytest.mark.parametrize("others", ["", "É", f"a{APART}", "\n\u0301", "\u3000"])
def test_characters_normalized_differently_are_disputed(
    normalizers: list[dict[str, Any]], others: str
) -> None:
    normalization = TextNormalization(normalizers)
    library = Library(normalization._librarys, others)
    normalization.__dict__["_librarys"] = library
    expected = {each for each in CHARACTERS if library.normalize_str(each) != normalization(each)}
    assert normalization.disputed(CHARACTERS) == expected
    assert normalization.disputed(CHARACTERS - set(others) - expected) == set()


@pytest.mark.parametrize("normalizers", WITHIN_LINES, ids=lambda steps: str(steps)[:60])
def test_agreement_is_found_with_one_text(normalizers: list[dict[str, Any]]) -> None:
    normalization = TextNormalization(normalizers)
    library = Library(normalization._librarys)
    agreed = CHARACTERS - normalization.disputed(CHARACTERS) - {APART}
    normalization.__dict__["_librarys"] = library
    assert normalization.disputed(agreed) == set()
    assert library.texts == 1


def test_single_characters_are_asked_about() -> None:
    normalization = TextNormalization([{"type": "NFC"}])
    assert (
        normalization.disputed({"a"})
        == normalization.disputed({APART})
        == normalization.disputed(set())
        == set()
    )
