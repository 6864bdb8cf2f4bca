"""When texts are checked before they are encoded, and when during encoding."""

from __future__ import annotations

from typing import Any

from tokbench.core.character_agreement import CharacterAgreement, only_ascii, unmarked_in_python


class AllBut(CharacterAgreement):
    """Agreement on every character but one."""

    def __init__(self, disputed: str) -> None:
        super().__init__(only_ascii(), unmarked=unmarked_in_python)
        self._only = disputed

    def disputed_among(self, characters: set[str]) -> set[str]:
        return characters & {self._only}


class Encoder:
    """An encoder that looks for unmarked characters while it encodes, and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def encode_marked(self, texts: list[str], threads: int, marks: bytearray) -> Any:
        assert threads == 2
        self.calls += 1
        return "ids", "offsets", "".join({each for text in texts for each in text if not marks[ord(each)]})


def encoded(agreement: CharacterAgreement, encoder: Encoder, *texts: str) -> tuple[bool, bool]:
    """Return whether texts are encoded at once, and if they are not, whether all of them are covered."""
    result: Any = agreement.encoded(encoder.encode_marked, list(texts), 2)
    assert result in (None, ("ids", "offsets"))
    return result is not None, result is None and agreement.covers_all(texts, 2)


def test_texts_are_encoded_at_once_while_both_agree() -> None:
    agreement, encoder = AllBut("!"), Encoder()
    for number, text in enumerate(["b", "é", "é", "èß"], start=1):
        assert encoded(agreement, encoder, "a", text) == (True, False)
        assert encoder.calls == number


def test_texts_are_checked_first_after_disputed_characters() -> None:
    agreement, encoder = AllBut("ß"), Encoder()
    for _ in range(5):
        assert encoded(agreement, encoder, "a", "ß") == (False, False)
    assert encoder.calls == 1, "nothing is encoded in vain twice"
    assert encoded(agreement, encoder, "a", "é") == (False, True)
    assert encoded(agreement, encoder, "a", "è") == (True, False)
    assert encoder.calls == 2
