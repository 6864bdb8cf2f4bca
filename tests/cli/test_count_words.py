"""Counting words and training on the counts, as a user does both."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.folders import files_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cli.conftest import Done

pytest.importorskip("pyarrow")

LINES = "the cat and the hat\nthe end of the line\n" * 40


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text(LINES)
    return tmp_path / "a.txt"


def test_counted_words_are_trained_on(run: Callable[..., Done], text: Path, columns: int) -> None:
    done = run("count-words", text, "--out", "words")
    assert done.code == 0, done.stderr
    assert "words     480, 9 distinct" in "\n".join(done.lines)
    assert "try: tokbench train --counts words" in done.stdout
    assert max(map(len, done.lines)) <= columns
    trained = run("train", "--counts", "words", "--vocab-size", "270", "--out", "t", "--json")
    assert trained.code == 0, trained.stderr
    assert run("train", text, "--vocab-size", "270", "--out", "u").code == 0
    for name in ("ranks.tiktoken", "tokenizer.json", "merges.npy"):
        assert (text.parent / "t" / name).read_bytes() == (text.parent / "u" / name).read_bytes()


def test_training_with_a_memory_limit_gives_the_same_files(run: Callable[..., Done], text: Path) -> None:
    pytest.importorskip("tokbench.native._bpe")
    for name, options in (("t", ["--memory", "1GB"]), ("u", [])):
        assert run("train", text, "--vocab-size", "270", "--out", f"{name}/it", *options).code == 0
    one, other = text.parent / "t" / "it", text.parent / "u" / "it"
    assert files_of(one) == files_of(other)
    shown = run(
        "train", text, "--vocab-size", "270", "--out", "v", "--memory", "1GB", "--min-count", "50", "--json"
    )
    assert shown.json["distinct_pretokens"] < 9


def test_number_of_rare_words_left_out_is_told(run: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the the the the cat sat\n" * 30 + "once\n" + "twice\n" * 2)
    # 3 occurrences of 216: 180 frequent ones, these, and 33 line ends
    note = "2 words with a count below 3 were left out: 1.4 % of all word occurrences"
    run("count-words", "a.txt", "--out", "words", "--option", "pattern=rustbpe")
    counts = run("train", "--counts", "words", "--vocab-size", "260", "--out", "a", "--min-count", "3").good()
    limited = run(
        *("train", "a.txt", "--vocab-size", "260", "--out", "b", "--option", "pattern=rustbpe"),
        *("--memory", "1GB", "--min-count", "3", "--json"),
    )
    assert f"note: {note}" in counts.stdout and limited.json["notes"] == [note]
    everything = run("train", "--counts", "words", "--vocab-size", "260", "--out", "c", "--json")
    assert everything.json["notes"] == []


def test_json_has_every_field(run: Callable[..., Done], text: Path) -> None:
    document = run("count-words", text, "--out", "words", "--json", "--min-count", "41").json
    assert document["schema"] == "tokbench.count-words/1"
    assert document["finished"] and document["parts"] == 1
    assert document["words"] == json.loads((text.parent / "words" / "words.json").read_text())
    assert document["words"]["dropped"]["min_count"] == 41
    merged = run("merge-words", "words", "--out", "merged")
    assert merged.code == 2 and "below a count of 41" in merged.stderr


def test_shares_add_up_to_the_whole(run: Callable[..., Done], text: Path) -> None:
    common = (text, "--out", "words", "--part-bytes", "500")
    for number in (1, 2):
        assert run("count-words", *common, "--part", f"{number}/2").code == 0
    assert "--resume" in run("count-words", *common).stderr
    assert run("count-words", *common, "--resume").code == 0
    run("count-words", text, "--out", "whole")
    words, whole = text.parent / "words", text.parent / "whole"
    assert sorted(path.name for path in words.iterdir()) == ["words-00000.parquet", "words.json"]
    assert (words / "words.json").read_bytes() == (whole / "words.json").read_bytes()
    assert (
        run("merge-words", "words", "whole", "--out", "both", "--json").json["words"]["total"]["words"] == 960
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["count-words", "a.txt", "--out", "w", "--part", "3/2"], 2, "3/8"),
        (["count-words", "a.txt", "--out", "w", "--part", "x"], 2, "3/8"),
        (["count-words", "a.txt", "--out", "w", "--part", "1/2", "--resume"], 2, "--resume"),
        (["count-words", "a.txt", "--out", "w", "--part", "1/2", "--workers", "2"], 2, "an engine"),
        (["count-words", "a.txt", "--out", "w", "--force", "--resume"], 2, "one of them"),
        (
            ["count-words", "a.txt", "--out", "w", "--workers", "2", "--threads", "2"],
            2,
            "number of processes with --workers",
        ),
        (["count-words", "a.txt", "--out", "w", "--part-bytes", "many"], 2, "--part-bytes"),
        (["count-words", "a.txt", "--out", "w", "--backend", "char"], 2, "does not train on counted words"),
        (["count-words", "none.txt", "--out", "w"], 1, "does not exist"),
        (["count-words", "a.txt", "--out", "a.txt"], 1, "a.txt"),
        (["train", "--counts", "none"], 1, "no counted words"),
        (["train", "--counts", "none", "a.txt"], 2, "--counts replaces the text"),
        (["train", "a.txt", "--min-count", "2"], 2, "--counts"),
        (["train", "a.txt", "--memory", "9MB"], 2, "400MB or more"),
        (["train", "a.txt", "--memory", "much"], 2, "--memory"),
        (["train", "--counts", "none", "--memory", "1GB"], 2, "--memory limits counting"),
        (["train", "a.txt", "--memory", "1GB", "--backend", "wordpiece"], 2, "needs the backend bpe"),
        (["merge-words", "a.txt", "--out", "w"], 1, "a word, a tab and a count"),
    ],
)
def test_usage_errors_are_refused(
    run: Callable[..., Done], text: Path, arguments: list[str], code: int, message: str
) -> None:
    done = run(*arguments)
    assert (done.code, done.stdout) == (code, "")
    assert message in done.stderr and "Traceback" not in done.stderr
    assert text.read_text() == LINES
    assert not (text.parent / "w" / "words.json").exists()


def test_counts_with_other_options_are_refused(run: Callable[..., Done], text: Path) -> None:
    run("count-words", text, "--out", "words", "--pattern", "gpt2")
    done = run("train", "--counts", "words", "--pattern", "gpt4")
    assert done.code == 2
    assert "words was counted with pattern 'gpt2', and 'gpt4' is asked for" in done.stderr


def test_output_words_inside_the_corpus_are_not_counted(run: Callable[..., Done], text: Path) -> None:
    folder = text.parent / "texts"
    folder.mkdir()
    text.rename(folder / "a.txt")
    common = ("texts", "--out", "texts/words", "--part-bytes", "500")
    for number in (1, 2):
        assert run("count-words", *common, "--part", f"{number}/2").code == 0
    assert run("count-words", *common, "--resume").code == 0
    before = (folder / "words" / "words.json").read_bytes()
    again = run("count-words", *common, "--force")
    assert again.code == 0 and "1 with results of tokbench" in again.stderr
    assert (folder / "words" / "words.json").read_bytes() == before
    assert "finished before" in run("count-words", *common, "--resume").stdout
    changed = run("count-words", *common, "--resume", "--pattern", "gpt2")
    assert changed.code == 1 and "pattern was gpt4, and is gpt2" in changed.stderr
