"""When texts are looked at before they are encoded, and when meanwhile."""

from __future__ import annotations

from typing import Any

from tokbench.core.character_agreement import CharacterAgreement, only_ascii, unmarked_in_python

NOTHING: Any = object()


class AllBut(CharacterAgreement):
    """The two agree on everything but one character."""

    def __init__(self, disputed: str) -> None:
        super().__init__(only_ascii(), unmarked=unmarked_in_python)
        self._only = disputed

    def disputed_among(self, characters: set[str]) -> set[str]:
        return characters & {self._only}


class Encoder:
    """An encoder that looks for characters on its way, and counts how often it begins."""

    def __init__(self) -> None:
        self.calls = 0

    def encode_marked(self, texts: list[str], threads: int, marks: bytearray) -> Any:
        assert threads == 2
        self.calls += 1
        return NOTHING if all(marks[ord(each)] for text in texts for each in text) else None


def encoded(agreement: CharacterAgreement, encoder: Encoder, *texts: str) -> tuple[bool, bool]:
    """Whether texts are encoded at once, and whether they are all covered where they are not."""
    found = agreement.encoded(encoder.encode_marked, list(texts), 2)
    return found is NOTHING, found is None and agreement.covers_all(texts, 2)


def test_texts_are_encoded_at_once_while_no_character_is_new() -> None:
    agreement, encoder = AllBut("!"), Encoder()
    assert encoded(agreement, encoder, "a", "b") == (True, False)
    assert encoded(agreement, encoder, "a", "é") == (False, True)
    assert encoder.calls == 2
    assert encoded(agreement, encoder, "é", "è") == (False, True)
    assert encoder.calls == 2, "after new characters, texts are looked at first"
    assert encoded(agreement, encoder, "é", "è") == (False, True)
    assert encoded(agreement, encoder, "é", "è") == (True, False)
    assert encoder.calls == 3


def test_texts_with_disputed_characters_are_not_encoded_in_vain() -> None:
    agreement, encoder = AllBut("ß"), Encoder()
    for _ in range(5):
        assert encoded(agreement, encoder, "a", "ß") == (False, False)
    assert encoder.calls == 1
    assert encoded(agreement, encoder, "a", "b") == (False, True)
    assert encoded(agreement, encoder, "a", "b") == (True, False)
