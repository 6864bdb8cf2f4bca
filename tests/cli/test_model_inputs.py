"""`encode` with templates, pairs, truncation, windows and padding."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support import huggingface, model_folders

import tokbench
from tokbench.corpus.inputs import TextBlocks
from tokbench.workbench import limit
from tokbench.workbench.limit import beginnings, endings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Done

PAD = ("--role", "pad=<|pad|>")


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    return model_folders.bert(tmp_path / "bert")


@pytest.fixture
def words(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.json").write_bytes(huggingface.word_level())
    return tmp_path / "tokenizer.json"


def rows(done: Done) -> list[list[int]]:
    return [[int(id) for id in line.split()] for line in done.good().stdout.splitlines()]


def test_windows_are_records_with_their_document(run: Callable[..., Done], trained: Path) -> None:
    options = ("-t", trained, "--truncate", "4", "--overflow", "--stride", "1", "--text")
    whole = rows(run("encode", "-t", trained, "--text", "one two three four", "short"))
    windows = run("encode", *options, "--json", "one two three four", "short").good().documents
    assert [(row["document"], row["window"]) for row in windows[-2:]] == [(0, len(windows) - 2), (1, 0)]
    joined = windows[0]["ids"] + [id for row in windows[1:-1] for id in row["ids"][1:]]
    assert joined == whole[0]
    assert windows[-1]["ids"] == whole[1]
    assert rows(run("encode", *options, "one two three four", "short")) == [row["ids"] for row in windows]


def test_padding_has_an_attention_mask(
    run: Callable[..., Done], trained: Path, special_ids: dict[str, int]
) -> None:
    padded = run(
        "encode", "-t", trained, *PAD, "--pad-to", "5", "--pad-side", "left", "--json", "a", "b"
    ).documents
    pad = special_ids["<|pad|>"]
    assert padded[0]["ids"] == [pad] * 4 + [97]
    assert padded[0]["attention_mask"] == [0, 0, 0, 0, 1]
    assert padded[0]["type_ids"] == [0] * 5
    assert padded[0]["spans"] == [None] * 4 + [[0, 1]]
    both = ("encode", "-t", trained, *PAD, "--pad-to", "5", "--truncate", "2", "a", "a b c")
    sides = "--pad-side", "left", "--truncate-side", "left"
    assert run(*both, "--side", "left").good().stdout == run(*both, *sides).good().stdout
    assert run(*both, "--side", "left", *sides[:1], "right").stdout == run(*both, *sides[2:]).stdout
    text = "encode", "-t", trained, "--truncate", "1", "--as-text", "ab cd"
    assert run(*text, "--side", "left").stdout == run(*text, *sides[2:]).stdout != run(*text).stdout
    multiple = rows(run("encode", "-t", trained, *PAD, "--pad-to", "multiple-of:4", "a", "b b b"))
    assert multiple[0] == [97, *[pad] * (len(multiple[1]) - 1)]
    assert len(multiple[1]) % 4 == 0
    assert rows(run("encode", "-t", trained, *PAD, "--pad-to", "longest", "a", "a"))[0] == [97]


def test_template_is_applied_to_one_text_and_to_pairs(run: Callable[..., Done], bert: Path) -> None:
    plain = rows(run("encode", "-t", bert, "low", "--text"))[0]
    document = run("encode", "-t", bert, "--template", "--json", "low").good().json
    assert document["tokens"][0] == "[CLS]"
    assert document["ids"][1:-1] == plain
    assert document["spans"][0] is document["spans"][-1] is None
    pair = run("encode", "-t", bert, "--template", "--pair", "--json", "low", "low").good().json
    assert pair["type_ids"] == [0] * (len(plain) + 2) + [1] * (len(plain) + 1)
    assert rows(run("encode", "-t", bert, "--no-template", "low")) == [plain]


def test_arrays_and_lines_are_written_to_files(
    run: Callable[..., Done], trained: Path, tmp_path: Path
) -> None:
    run("encode", "-t", trained, *PAD, "--pad-to", "longest", "--out", "rows.npz", "a", "b b b").good()
    with np.load(tmp_path / "rows.npz") as arrays:
        assert set(arrays) == {"ids", "attention_mask", "type_ids", "documents", "windows"}
        assert arrays["ids"].shape == arrays["attention_mask"].shape
        assert arrays["attention_mask"].sum(axis=1).tolist() == [1, arrays["ids"].shape[1]]
        assert arrays["documents"].tolist() == [0, 1]
    run("encode", "-t", trained, "--truncate", "1", "--out", "rows.jsonl", "a", "b b b").good()
    lines = (tmp_path / "rows.jsonl").read_text().splitlines()
    assert [json.loads(line)["attention_mask"] for line in lines] == [[1], [1]]


def test_truncated_text_can_be_printed(run: Callable[..., Done], trained: Path) -> None:
    text = "naïve words\nand a line"
    ends = ("encode", "-t", trained, "--text", text, "--as-text", "--truncate")
    assert text.startswith(run(*ends, "5").good().stdout)
    assert text.endswith(run(*ends, "5", "--truncate-side", "left").good().stdout)
    assert run(*ends, "500").stdout == text
    assert run(*ends, "5", "--json").json["text"] == run(*ends, "5").stdout
    assert (
        run("encode", "-t", trained, "--text", "aa", "bb", "--as-text", "--truncate", "500").stdout
        == "aa\nbb"
    )


def test_reading_stops_after_the_first_tokens() -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield "some words of a stream. "

    tokenizer = tokbench.load("default")
    [(_, _, text)] = beginnings(
        [tokenizer], [TextBlocks("endless", endless(), is_joined=True)], max_tokens=50
    )
    assert text == tokenizer.truncate("some words of a stream. " * 50, 50)
    assert read < 2000
    texts = ["one two three", "four"]
    shortened = beginnings(
        [tokenizer, tokenizer], [TextBlocks("rows", iter(texts), is_joined=False)], max_tokens=1
    )
    assert [text for _, _, text in shortened] == [
        tokenizer.truncate(text, 1) for text in texts for _ in range(2)
    ]


def test_only_the_end_of_a_long_text_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    longest = 0
    shorten = limit.ending_of

    def watched(tokenizer: Any, text: str, tokens: int, **options: Any) -> str:
        nonlocal longest
        longest = max(longest, len(text))
        return shorten(tokenizer, text, tokens, **options)

    monkeypatch.setattr(limit, "ending_of", watched)
    blocks = [f"{number} wörds of a stream 日本 " for number in range(4000)]
    whole = "".join(blocks)
    for name in ("default", "word"):
        opened = (
            tokbench.load("default") if name == "default" else tokbench.train([whole], backend="wordpiece")
        )
        given = TextBlocks("long", iter(blocks), is_joined=True)
        [(_, _, text)] = endings([opened], [given], max_tokens=50)
        assert text == opened.truncate(whole, 50, side="left")
        assert 0 < longest < len(whole) // 2
    texts = ["one two three", "four"]
    shortened = endings([opened, opened], [TextBlocks("rows", iter(texts), is_joined=False)], max_tokens=1)
    assert [text for _, _, text in shortened] == [
        opened.truncate(text, 1, side="left") for text in texts for _ in range(2)
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--pad-to", "9"), ("none has the role pad", "--role 'pad=<|pad|>'")),
        (("--pad-to", "x"), ("is not a length", "multiple-of:8")),
        (("--truncate-side", "right"), ("--truncate-side needs --truncate",)),
        (("--strategy", "only_first", "--truncate", "3"), ("--strategy needs --pair",)),
        (("--strategy", "only_first", "--pair"), ("--strategy needs --truncate",)),
        (("--pad-side", "right"), ("--pad-side needs --pad-to",)),
        (("--side", "left"), ("--side needs --truncate or --pad-to",)),
        (("--pad-to", "99999999999", *PAD), ("at most",)),
        (("--pad-to", "1", *PAD), ("more than the 1 to pad to", "--truncate 1")),
        (("--overflow",), ("--truncate N",)),
        (("--truncate", "5", "--stride", "2"), ("--overflow makes the windows",)),
        (("--truncate", "2", "--overflow", "--stride", "2"), ("the largest stride is 1",)),
        (("--pair",), ("has no second text",)),
        (("--as-text",), ("add --truncate N",)),
        (("--as-text", "--truncate", "2", "--template"), ("cannot be used with --as-text",)),
        (("--truncate", "5", "--dropout", "0.1"), ("--dropout cannot be used with",)),
        (("--out", "rows"), ("neither .npz nor .jsonl", "tokbench shards write")),
        (("--out", "a.npz", "-t", "default"), ("one tokenizer",)),
        (("--role", "pad"), ("--role 'pad'",)),
    ],
)
def test_invalid_options_are_refused(
    run: Callable[..., Done], trained: Path, options: tuple[str, ...], words: tuple[str, ...], tmp_path: Path
) -> None:
    done = run("encode", "-t", trained, *options, "--text", "some text")
    done.refused(done.code, *words)
    assert done.code in (1, 2)
    assert not list(tmp_path.glob("*.npz"))


def test_pair_without_a_second_text_is_refused_before_output(run: Callable[..., Done], trained: Path) -> None:
    run("encode", "-t", trained, "--pair", "--text", "a", "b", "c").refused(1, "'c' has no second text")


def test_array_of_unpadded_rows_is_refused(run: Callable[..., Done], trained: Path) -> None:
    done = run("encode", "-t", trained, "--out", "a.npz", "a", "b b b")
    done.refused(1, "different lengths", "--pad-to longest")


def test_help_groups_options_in_panels(run: Callable[..., Done]) -> None:
    shown = run("encode", "--help").stdout
    assert shown.index("Options:") < shown.index("Model input:") < shown.index("Opening the tokenizer:")
    assert shown.index("Model input:") < shown.index("--pad-to N")
