"""Training on counted words learns the same as training on their text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.counted_words import counted
from support.folders import files_of
from support.kernels import KERNEL_NAMES, kernel_named

import tokbench
from tokbench.core.word_input import merger_room
from tokbench.corpus import open_corpus
from tokbench.errors import ConfigError, TrainingError
from tokbench.workbench.count_words import merge_words, training_words
from tokbench.workbench.train import train_and_save

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("pyarrow")


def trained(words: Any, directory: Path, **options: Any) -> dict[str, bytes]:
    """Train, and return the tokenizer's files without its manifest, which records the training data."""
    train_and_save(words, directory=directory, options={"vocab_size": 700, **options})
    return {name: data for name, data in files_of(directory).items() if name != "tokbench.json"}


def test_training_on_words_equals_training_on_their_text(texts: list[Path], tmp_path: Path) -> None:
    special = ("<|end|>", "the")
    counted(texts, tmp_path / "words", options={"pattern": "gpt4o", "special_tokens": special})
    expected = trained(open_corpus(*texts), tmp_path / "a", pattern="gpt4o", special_tokens=special)
    assert trained(training_words(str(tmp_path / "words")), tmp_path / "b") == expected
    manifest = json.loads((tmp_path / "b" / "tokbench.json").read_text())
    known = json.loads((tmp_path / "a" / "tokbench.json").read_text())
    for name in ("documents", "num_bytes", "pretokens", "distinct_pretokens", "tokens"):
        assert manifest["training"][name] == known["training"][name]
    assert manifest["training"]["words"]["min_count"] == 1
    assert tokbench.load(tmp_path / "b").encode("the end") == tokbench.load(tmp_path / "a").encode("the end")
    with pytest.raises(ConfigError, match=r"gpt4o.* is asked for"):
        trained(training_words(str(tmp_path / "words")), tmp_path / "c", pattern="gpt2")


@pytest.mark.parametrize(
    ("backend", "options"),
    [
        ("wordpiece", {"lowercase": False, "max_characters_per_word": 12}),
        ("unigram", {"add_dummy_prefix": False}),
    ],
)
def test_other_backends_train_on_words(
    texts: list[Path], tmp_path: Path, backend: str, options: dict[str, Any]
) -> None:
    special = {"special_tokens": ("[UNK]", "<the>")} if backend == "wordpiece" else {}
    counted(texts, tmp_path / "whole", backend=backend, options={**options, **special})
    counted(texts, tmp_path / "divided", backend=backend, options={**options, **special}, part_bytes=40_000)
    assert files_of(tmp_path / "whole") == files_of(tmp_path / "divided")
    size = {"vocab_size": 4000, **special}
    given = {"directory": tmp_path / "a", "backend": backend, "options": {**options, **size}}
    train_and_save(open_corpus(*texts), **given)
    words = training_words(str(tmp_path / "divided"))
    train_and_save(words, directory=tmp_path / "b", options=size)
    one, other = files_of(tmp_path / "a"), files_of(tmp_path / "b")
    manifests = [json.loads(files.pop("tokbench.json")) for files in (one, other)]
    assert one == other
    for name in ("documents", "num_bytes", "pretokens", "distinct_pretokens", "tokens"):
        assert len({manifest["training"][name] for manifest in manifests}) == 1, name


def test_too_many_words_for_wordpiece_are_refused(
    texts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted(texts, tmp_path / "words", backend="wordpiece", options={})
    for module in ("core.word_input", "backends.wordpiece.training"):
        monkeypatch.setattr(f"tokbench.{module}.merger_room", lambda: merger_room(1000))
    given: dict[str, Any] = {"directory": tmp_path / "a", "options": {"vocab_size": 4000}}
    with pytest.raises(TrainingError, match="times what can be merged") as error:
        train_and_save(training_words(str(tmp_path / "words")), **given)
    assert str(error.value.hint).startswith("--min-count ")
    with pytest.raises(TrainingError, match="times what can be merged") as error:
        train_and_save(open_corpus(*texts), backend="wordpiece", **given)
    assert str(error.value.hint).startswith("`tokbench count-words` with --min-count ")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
@pytest.mark.parametrize("backend", ["unigram", "sentencepiece"])
def test_too_many_characters_are_refused_with_a_sufficient_min_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: str, backend: str
) -> None:
    """The hint names the smallest --min-count that works: with one less there are still too many."""
    monkeypatch.setenv("TOKBENCH_KERNEL", kernel_named(kernel).name)
    words = ["".join("abcde"[rank // 5**i % 5] for i in range(4)) for rank in range(1, 400)]
    text = " ".join(word for rank, word in enumerate(words, start=1) for _ in range(1 + 400 // rank))
    (tmp_path / "a.txt").write_text(text)
    given: dict[str, Any] = {
        "directory": tmp_path / "t",
        "options": {"vocab_size": 300, "trainer": "tokbench"},
    }
    counted([tmp_path / "a.txt"], tmp_path / "words", backend=backend)
    monkeypatch.setattr("tokbench.backends.sentencepiece.training.MOST_CODES", 700)

    def hint_of(corpus: Any, **options: Any) -> str:
        with pytest.raises(TrainingError, match="times the characters that can be learned from") as error:
            train_and_save(corpus, **given, **options)
        return str(error.value.hint)

    hint = hint_of(training_words(str(tmp_path / "words")))
    assert hint_of(open_corpus(tmp_path / "a.txt"), backend=backend) == f"`tokbench count-words` with {hint}"
    smallest = int(hint.removeprefix("--min-count ").split()[0])
    assert smallest > 2
    hint_of(training_words(str(tmp_path / "words"), min_count=smallest - 1))
    assert not (tmp_path / "t").exists()
    train_and_save(training_words(str(tmp_path / "words"), min_count=smallest), **given)


@pytest.mark.slow
def test_rare_words_are_dropped_after_merging(texts: list[Path], tmp_path: Path) -> None:
    counted(texts, tmp_path / "all", part_bytes=9_000)
    frequent = counted(texts, tmp_path / "frequent", part_bytes=9_000, min_count=3)
    assert frequent.index is not None and frequent.index.dropped is not None
    one = trained(training_words(str(tmp_path / "all"), min_count=3), tmp_path / "a")
    assert trained(training_words(str(tmp_path / "frequent")), tmp_path / "b") == one
    assert trained(training_words(str(tmp_path / "all")), tmp_path / "c") != one
    manifest = json.loads((tmp_path / "a" / "tokbench.json").read_text())
    assert manifest["training"]["words"]["min_count"] == 3


def test_words_counted_by_other_programs_train_alike(texts: list[Path], tmp_path: Path) -> None:
    """Words as Spark or DuckDB writes them: in any order, in several files, as strings, and some of them twice."""
    import pyarrow
    import pyarrow.parquet

    counted(texts, tmp_path / "words")
    expected = trained(training_words(str(tmp_path / "words")), tmp_path / "a")
    items = [item for words in training_words(str(tmp_path / "words")).arrays() for item in words.items()]
    halves = [(word, count // 2) for word, count in items if count > 1] + [
        (word, count - count // 2) for word, count in reversed(items)
    ]
    (tmp_path / "foreign").mkdir()
    for number, rows in enumerate((halves[:1000], halves[1000:])):
        table = pyarrow.table(
            {
                "count": pyarrow.array([count for _, count in rows], pyarrow.int32()),
                "pretoken": [word.decode() for word, _ in rows],
            }
        )
        pyarrow.parquet.write_table(table, tmp_path / "foreign" / f"part-{number}.snappy.parquet")
    foreign = str(tmp_path / "foreign")
    assert trained(training_words(foreign), tmp_path / "b") == expected
    frequent = trained(training_words(foreign, min_count=4), tmp_path / "c")
    assert frequent == trained(training_words(str(tmp_path / "words"), min_count=4), tmp_path / "d")

    one_line = [(word, count) for word, count in halves if b"\n" not in word and not word.endswith(b"\r")]
    tsv = tmp_path / "words.tsv"
    tsv.write_bytes(b"".join(b"%s\t%d\n" % item for item in one_line))
    merge_words([str(tsv)], out=str(tmp_path / "merged"))
    merged = [item for words in training_words(str(tmp_path / "merged")).arrays() for item in words.items()]
    assert merged == [item for item in items if b"\n" not in item[0] and not item[0].endswith(b"\r")]


@pytest.mark.parametrize("backend", ["bpe", "wordpiece", "unigram"])
def test_training_without_a_frequent_word_is_refused(texts: list[Path], tmp_path: Path, backend: str) -> None:
    counted(texts, tmp_path / "words", backend=backend)
    most = max(
        count for words in training_words(str(tmp_path / "words")).arrays() for _, count in words.items()
    )
    train_and_save(
        training_words(str(tmp_path / "words"), min_count=most), directory=tmp_path / "a", options={}
    )
    for words, given in (
        (training_words(str(tmp_path / "words"), min_count=most + 1), {}),
        (open_corpus(*texts), {"memory": 10**9, "min_count": most + 1}),
    ):
        if given and backend != "bpe":
            continue
        with pytest.raises(TrainingError, match=f"no word occurs {most + 1:,} times or more"):
            train_and_save(words, directory=tmp_path / "b", options={}, **given)
    assert not (tmp_path / "b").exists()


def test_words_of_which_none_is_left_are_no_text(texts: list[Path], tmp_path: Path) -> None:
    counted(texts, tmp_path / "words", min_count=10**9)
    with pytest.raises(TrainingError, match="there is no text to train on"):
        train_and_save(training_words(str(tmp_path / "words")), directory=tmp_path / "a", options={})
