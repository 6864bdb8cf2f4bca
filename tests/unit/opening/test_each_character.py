"""Tests for character-wise normalization that asks the library about each character once."""

from __future__ import annotations

from threading import Event, Thread

from tokbench.opening.character_changes import EachCharacter

_SECONDS = 30


def test_each_character_is_normalized_once() -> None:
    asked: list[str] = []

    def normalize(text: str) -> str:
        asked.append(text)
        return text.upper()

    characters = EachCharacter(normalize)
    assert [characters.of(text) for text in ("ab1", "1ba", "abc")] == ["AB1", "1BA", "ABC"]
    assert sorted("".join(asked).replace("\u0905", "")) == ["1", "a", "b", "c"]


def test_character_that_another_thread_is_normalizing_is_not_taken_as_known() -> None:
    is_asking, may_answer = Event(), Event()

    def normalize(text: str) -> str:
        if not is_asking.is_set():
            is_asking.set()
            assert may_answer.wait(_SECONDS)
        return text.upper()

    characters = EachCharacter(normalize)
    first = Thread(target=characters.of, args=("ab",))
    first.start()
    try:
        assert is_asking.wait(_SECONDS)
        assert characters.of("ab") == "AB"
    finally:
        may_answer.set()
        first.join()
    assert characters.of("ab") == "AB"
