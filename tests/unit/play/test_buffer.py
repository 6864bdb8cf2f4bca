"""Tests for the edited text, compared with a list of characters, and by hand for combined characters."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.texts import texts

from tokbench.play.buffer import TextBuffer

MOVES = ["move_left", "move_right", "move_word_left", "move_word_right", "move_to_end"]
EDITS = ["delete_left", "delete_right", "delete_word", "delete_to_line_start", "delete_to_line_end"]


@given(start=texts, steps=st.lists(st.sampled_from([*MOVES, *EDITS]) | st.tuples(texts), max_size=12))
def test_every_edit_can_be_undone_and_redone(start: str, steps: list[str | tuple[str]]) -> None:
    buffer = TextBuffer(start)
    for step in steps:
        if isinstance(step, tuple):
            buffer.insert(step[0])
        else:
            getattr(buffer, step)()
        assert 0 <= buffer.cursor <= len(buffer.text)
    end = buffer.text
    for _ in steps:
        buffer.undo()
    assert buffer.text == start
    for _ in steps:
        buffer.redo()
    assert buffer.text == end


def test_cursor_never_stops_inside_a_grapheme_cluster() -> None:
    buffer = TextBuffer("a👩\u200d👧e\u0301")
    stops = []
    for _ in range(4):
        stops.append(buffer.cursor)
        buffer.move_right()
    assert stops == [0, 1, 4, 6]
    buffer.delete_left()
    buffer.delete_left()
    assert buffer.text == "a"


def test_words_and_lines_can_be_deleted() -> None:
    buffer = TextBuffer("one two\nthree four")
    buffer.move_to_end()
    buffer.delete_word()
    assert buffer.text == "one two\nthree "
    buffer.delete_to_line_start()
    assert buffer.text == "one two\n"
    buffer.move_to(0)
    buffer.delete_to_line_end()
    assert buffer.text == "\n"
    buffer.delete_to_line_end()
    assert buffer.text == ""


def test_inserted_text_is_unchanged_except_unpaired_surrogates() -> None:
    buffer = TextBuffer()
    buffer.insert("a\r\n\x0c\u2028\x1b[31m\u202e\x00")
    assert buffer.text == "a\r\n\x0c\u2028\x1b[31m\u202e\x00"
    buffer = TextBuffer()
    buffer.insert("\ud83d!")
    assert buffer.text == "\ufffd!"
