"""`tokbench chunk`: JSON lines with the chunks and their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support import model_folders

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Done

TEXT = "One two three. Four five six!\n\nSeven eight nine ten.\nEleven, twelve – thirteen.\n" * 5


def test_chunks_of_files_and_stdin(run: Callable[..., Done], trained: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"text": "first"}\n{"text": ""}\n{"text": "third one"}\n')
    options = ("chunk", "-t", trained, "--max-tokens", "20", "--overlap", "5", "--respect", "sentences")
    chunks = run(*options, "a.txt", "b.jsonl").good().documents
    own = [chunk for chunk in chunks if chunk["source"] == "a.txt"]
    assert b"".join(chunk["text"].encode()[chunk["overlap"] :] for chunk in own).decode() == TEXT
    assert all(chunk["num_tokens"] <= 20 for chunk in chunks)
    assert [chunk["chunk"] for chunk in own] == list(range(len(own)))
    assert [(chunk["source"], chunk["document"]) for chunk in chunks[len(own) :]] == [
        ("b.jsonl:1", 1),
        ("b.jsonl:3", 2),
    ]
    for each in own:
        assert TEXT.encode()[each["start"] : each["stop"]].decode() == each["text"]
        counted = run("count", "-t", trained, "--json", "--text", each["text"]).json["total"]["tokens"]
        assert counted == each["num_tokens"]
    piped = run(*options, "-", stdin=TEXT.encode()).good().documents
    assert [chunk["text"] for chunk in piped] == [chunk["text"] for chunk in own]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--max-tokens", "5", "--overlap", "5"), ("the largest overlap is 4",)),
        (("--max-tokens", "0"), ("--max-tokens", "at least 1")),
        (("--max-tokens", "-1"), ("at least 1",)),
        (("--overlap", "2"), ("--max-tokens",)),
        (("--max-tokens", "5", "--overlap", "-1"), ("--overlap",)),
        (("--max-tokens", "5", "--respect", "words"), ("paragraphs, lines, sentences",)),
    ],
)
def test_invalid_options_are_refused(
    run: Callable[..., Done], trained: Path, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    run("chunk", "-t", trained, *options, "--text", "some text").refused(2, *words)


def test_character_with_too_many_tokens_is_refused(run: Callable[..., Done], trained: Path) -> None:
    done = run("chunk", "-t", trained, "--max-tokens", "1", "--text", "a👩")
    assert done.code == 1
    assert "has" in done.stderr
    assert "hint:" in done.stderr


def test_file_with_a_character_of_too_many_tokens_is_named(
    run: Callable[..., Done], trained: Path, tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("ok", encoding="utf-8")
    (tmp_path / "docs" / "b.txt").write_text("a👩", encoding="utf-8")
    done = run("chunk", "-t", trained, "--max-tokens", "1", "docs")
    assert done.code == 1
    assert "error: docs/b.txt: the character '👩' at byte 1 has" in done.stderr


def test_missing_template_is_told(run: Callable[..., Done], trained: Path) -> None:
    done = run("chunk", "-t", trained, "--max-tokens", "9", "--text", "word", "--template")
    assert done.code == 0
    assert "note: mine has no template: no special tokens are counted" in done.stderr


def test_template_tokens_count_if_requested(run: Callable[..., Done], tmp_path: Path) -> None:
    model_folders.bert(tmp_path / "bert")
    options = ("chunk", "-t", "bert", "--text", "the cat sat on the mat", "--max-tokens", "4")
    bare, counted = (run(*options, *more).good().documents for more in ((), ("--template",)))
    assert len(counted) > len(bare)
    assert all(chunk["num_tokens"] <= 4 for chunk in counted)
