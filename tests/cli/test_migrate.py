"""`tokbench migrate`: its report, the files that it writes, and its refusals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.lint import byte_level
from support.model_folders import put

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cli.conftest import Done

TEXTS = {"parallel/en.txt": "ab cd\n" * 30, "parallel/de.txt": "cd cd\n" * 30}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write texts, an old tokenizer with "ab", and a new one with "cd" and " cd", which shortens German the most."""
    put(tmp_path / "old", {"tokenizer.json": byte_level(("a", "b"), ("x", "y"))})
    put(tmp_path / "new", {"tokenizer.json": byte_level(("c", "d"), (" ", "cd"))})
    (tmp_path / "text" / "parallel").mkdir(parents=True)
    for name, text in TEXTS.items():
        (tmp_path / "text" / name).write_text(text)
    return tmp_path


def test_changed_tokens_rows_and_costs_are_reported(run: Callable[..., Done], folder: Path) -> None:
    """A line of English is ab, space, c, d, line end (five tokens), and then a, b, " cd", line end (four)."""
    done = run("migrate", "old", "new", "--corpus", "text", "--context", "1000", "--json").good().json
    assert done["schema"] == "tokbench.migrate/1"
    assert done["tokens"] == {"same_id": 256, "moved": 0, "by_role": {}, "only_old": 2, "only_new": 2}
    assert done["rows"] == {"copied": 256, "decomposed": 2, "unknown": 0}
    groups = done["groups"]
    assert (groups["en"]["old_tokens"], groups["en"]["new_tokens"]) == (150, 120)
    assert (groups["de"]["old_tokens"], groups["de"]["new_tokens"]) == (180, 90)
    assert groups["en"]["old_context_chars"] == pytest.approx(1000 * 6 / 5)
    assert groups["en"]["ratio_interval"] == [pytest.approx(0.8), pytest.approx(0.8)]
    assert list(groups) == ["en", "de"]
    assert done["texts"] == []
    assert done["config_patch"] == {"vocab_size": 320}


def test_texts_that_grow_are_shown(run: Callable[..., Done], folder: Path) -> None:
    (folder / "lines.txt").write_text("ab" * 10 + "\n" + "cd" * 10 + "\n")
    done = run("migrate", "old", "new", "--corpus", "lines.txt", "--documents", "lines").good()
    assert any("lines.txt:1" in line and "2.00" in line for line in done.lines)
    assert not any("lines.txt:2" in line for line in done.lines)
    assert any(line.startswith("new") and "2 begin from the old tokens" in line for line in done.lines)


def test_lossy_tokenizer_is_named(run: Callable[..., Done], folder: Path) -> None:
    run(
        "train", "text/parallel/en.txt", "--backend", "wordpiece", "--vocab-size", "40", "--out", "words"
    ).good()
    (folder / "french.txt").write_text("ab é\n" * 9)
    done = run("migrate", "old", "words", "--corpus", "french.txt").good()
    assert any(line.startswith("words loses ") and "unknown" in line for line in done.lines)
    assert not any(line.startswith("old loses") for line in done.lines)


def test_files_for_the_model_are_written(run: Callable[..., Done], folder: Path) -> None:
    done = run("migrate", "old", "new", "--corpus", "text", "--out", "change", "--pad-multiple", "1").good()
    assert any("258 for the model" in line for line in done.lines)
    change = {
        name: json.loads((folder / "change" / name).read_bytes()) for name in ("id_map.json", "init.json")
    }
    assert change["id_map.json"]["old_to_new"][255:] == [255, -1, -1]
    assert change["init.json"]["ids"][255:] == [[255], [99, 100], [32, 99, 100]]
    assert change["init.json"]["weights"][256] == [0.5, 0.5]
    run("migrate", "old", "new", "--corpus", "text", "--out", "change").refused(1, "change exists")
    run("migrate", "old", "new", "--corpus", "text", "--out", "change", "--force").good()


def test_pattern_applies_to_the_tokenizer_that_needs_it(run: Callable[..., Done], folder: Path) -> None:
    run("convert", "-t", "old", "--to", "tiktoken", "--out", "ranks.tiktoken").good()
    same = (
        run("migrate", "old", "ranks.tiktoken", "--corpus", "text", "--pattern", "gpt2", "--json").good().json
    )
    assert same["tokens"] == {"same_id": 258, "moved": 0, "by_role": {}, "only_old": 0, "only_new": 0}
    assert {group["ratio"] for group in same["groups"].values()} == {1.0}
    run("migrate", "old", "new", "--pattern", "gpt2").refused(2, "already defines")
    run("migrate", "old", "ranks.tiktoken").refused(2, "does not define how to split")


def test_missing_tokenizer_is_refused(run: Callable[..., Done], folder: Path) -> None:
    run("migrate", "old", "nothing").refused(1, "there is no tokenizer 'nothing'")
