"""A counting from the plan to the folder: the same bytes however it is divided, interrupted and continued."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from support.kernels import KERNEL_NAMES, kernel_named

import tokbench
from tokbench.core.word_input import merger_room
from tokbench.corpus import open_corpus
from tokbench.distributed.engines.in_process import InProcessEngine
from tokbench.distributed.plan_folder import Share
from tokbench.errors import (
    ConfigError,
    CorpusError,
    DistributedError,
    StoreError,
    TokbenchError,
    TrainingError,
)
from tokbench.files.bundled import corpora_directory
from tokbench.files.storage.folder_lock import locked
from tokbench.files.storage.open import place_of
from tokbench.workbench.count_words import (
    CountWordsResult,
    count_words,
    count_words_share,
    merge_words,
    training_words,
)
from tokbench.workbench.train import train_and_save

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("pyarrow")


@pytest.fixture
def texts(tmp_path: Path) -> list[Path]:
    """Two files of 300 kB together, one of text and one of records."""
    folder = corpora_directory() / "parallel"
    lines = [line for path in sorted(folder.rglob("*.txt"))[:12] for line in path.read_text().splitlines()]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))
    return [tmp_path / "a.txt", tmp_path / "b.jsonl"]


def counted(paths: list[Path], out: Path, **options: Any) -> CountWordsResult:
    options = {"engine": InProcessEngine(threads=1), "options": {}, **options}
    return count_words(open_corpus(*paths), out=str(out), **options)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("part_bytes", [300_000, 40_000, pytest.param(9_000, marks=pytest.mark.slow)])
def test_parts_change_nothing(texts: list[Path], tmp_path: Path, part_bytes: int) -> None:
    whole = counted(texts, tmp_path / "whole")
    divided = counted(texts, tmp_path / "divided", part_bytes=part_bytes)
    assert files_of(tmp_path / "whole") == files_of(tmp_path / "divided")
    assert (divided.parts or 0) > (whole.parts or 0) == 1


def test_little_memory_changes_nothing(
    texts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokbench.counting import spill

    counted(texts, tmp_path / "whole")
    written: list[int] = []
    write = spill.Spill.write
    monkeypatch.setattr(spill.Spill, "write", lambda self: (written.append(1), write(self)))
    from tokbench.counting import run

    arguments = run._arguments
    monkeypatch.setattr(
        run, "_arguments", lambda plan, folder, part, memory: arguments(plan, folder, part, 1)
    )
    counted(texts, tmp_path / "spilled")
    assert len(written) > 1
    assert files_of(tmp_path / "whole") == files_of(tmp_path / "spilled")


def test_several_processes_each_count_their_share(texts: list[Path], tmp_path: Path) -> None:
    special = {"special_tokens": ("<e>",)}
    counted(texts, tmp_path / "whole", options=special)
    for number in (3, 1, 2, 1):  # one of them twice
        result = count_words_share(
            open_corpus(*texts), out=str(tmp_path / "shared"), share=Share(number, 3), threads=1,
            options=special, part_bytes=40_000,
        )  # fmt: skip
        assert result.index is None
    with pytest.raises(StoreError, match="not counted to the end"):
        training_words(str(tmp_path / "shared"))
    for name in (".words-00000.parquet.tmp-0", ".plan.json.tmp-0", "parts/.part-00000.parquet.tmp-0"):
        (tmp_path / "shared" / name).write_bytes(b"half")  # as a process leaves it that is killed
    counted(texts, tmp_path / "shared", part_bytes=40_000, options=special, resume=True)
    assert files_of(tmp_path / "whole") == files_of(tmp_path / "shared")


def test_a_part_that_fails_is_named_and_the_others_are_kept(texts: list[Path], tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    counted(texts, whole)
    text = texts[0].read_bytes()
    texts[0].write_bytes(text[:50_000] + b"\xff" + text[50_001:])
    with pytest.raises(DistributedError, match=r"part 2 of .*a\.txt, bytes 40,000 to 80,000") as error:
        counted(texts, tmp_path / "words", part_bytes=40_000)
    assert "UTF-8" in error.value.message
    parts = tmp_path / "words" / "parts"
    assert len(list(parts.iterdir())) > 5
    with pytest.raises(StoreError, match="holds what an earlier run counted"):
        counted(texts, tmp_path / "words", part_bytes=40_000)
    texts[0].write_bytes(text)
    with pytest.raises(StoreError, match=r"a\.txt has changed"):
        counted(texts, tmp_path / "words", part_bytes=40_000, resume=True)
    counted(texts, tmp_path / "words", part_bytes=40_000, overwrite=True)
    assert files_of(tmp_path / "words") == files_of(whole)


def test_what_is_counted_is_not_counted_again(
    texts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokbench.counting import part_task

    class Stopped(InProcessEngine):
        """As one that is killed behind its third part."""

        def run(self, task: str, slices: Any, **options: Any) -> Any:
            yield from super().run(task, slices[:3], **options)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        counted(texts, tmp_path / "words", part_bytes=40_000, engine=Stopped(threads=1))
    damaged = tmp_path / "words" / "parts" / "part-00001.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-5])
    done: list[int] = []
    real = part_task.count_part
    monkeypatch.setattr(
        part_task,
        "count_part",
        lambda arguments, context: (done.append(arguments["part"]), real(arguments, context))[1],
    )
    counted(texts, tmp_path / "words", part_bytes=40_000, resume=True)
    assert 0 not in done and 2 not in done and 1 in done
    counted(texts, tmp_path / "whole")
    assert files_of(tmp_path / "words") == files_of(tmp_path / "whole")
    again = counted(texts, tmp_path / "words", part_bytes=40_000, resume=True)
    assert again.counted is None and again.index is not None


def test_a_file_that_changes_meanwhile_is_refused(texts: list[Path], tmp_path: Path) -> None:
    class Late(InProcessEngine):
        """Runs when somebody has written to the files."""

        def run(self, *arguments: Any, **options: Any) -> Any:
            os.utime(texts[1], (1, 1))
            return super().run(*arguments, **options)

    with pytest.raises(DistributedError, match=r"b\.jsonl has changed"):
        counted(texts, tmp_path / "words", engine=Late(threads=1))


@pytest.mark.parametrize("options", [{"resume": True}, {"overwrite": True}])
def test_two_runs_in_one_folder_are_refused(
    texts: list[Path], tmp_path: Path, options: dict[str, bool]
) -> None:
    counted(texts, tmp_path / "words")
    before = files_of(tmp_path / "words")
    with (
        locked(place_of(tmp_path / "words"), is_shared=False),
        pytest.raises(StoreError, match="another run is writing"),
    ):
        counted(texts, tmp_path / "words", **options)
    assert files_of(tmp_path / "words") == before
    counted(texts, tmp_path / "words", **options)


def test_adding_up_into_a_folder_of_another_run_is_refused(texts: list[Path], tmp_path: Path) -> None:
    counted(texts, tmp_path / "words")
    with (
        locked(place_of(tmp_path / "sum"), is_shared=True),
        pytest.raises(StoreError, match="another run is writing"),
    ):
        merge_words([str(tmp_path / "words")], out=str(tmp_path / "sum"), overwrite=True)


def test_folders_with_something_else_are_refused(texts: list[Path], tmp_path: Path) -> None:
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "mine.txt").write_text("precious")
    for overwrite in (False, True):
        with pytest.raises(StoreError, match=r"mine\.txt"):
            counted(texts, tmp_path / "words", overwrite=overwrite)
    counted(texts, tmp_path / "done")
    with pytest.raises(StoreError, match="already"):
        counted(texts, tmp_path / "done")
    with pytest.raises(StoreError, match="the counting of something else"):
        count_words_share(
            open_corpus(*texts), out=str(tmp_path / "other"), share=Share(1, 2), threads=1, options={}
        )
        counted(texts, tmp_path / "other", options={"pattern": "gpt2"}, resume=True)


def test_no_text_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(CorpusError, match="no text"):
        counted([tmp_path / "a.txt"], tmp_path / "words")
    assert not (tmp_path / "words").exists() or not list((tmp_path / "words").glob("[!.]*"))


@pytest.mark.parametrize("backend", ["bpe", "wordpiece", "unigram"])
def test_a_finished_folder_is_taken_for_the_same_options_alone(
    texts: list[Path], tmp_path: Path, backend: str
) -> None:
    given: dict[str, Any] = {"backend": backend, "min_count": 2}
    counted(texts, tmp_path / "words", **given)
    before = files_of(tmp_path / "words")
    again = counted(texts, tmp_path / "words", **given, resume=True)
    assert again.counted is None and again.index is not None
    special = {"special_tokens": ("[UNK]", "<x>")}
    for other in ({"min_count": 1}, {"options": special}, {"backend": "bpe", "options": {"pattern": "gpt2"}}):
        with pytest.raises(StoreError, match=r"counted in another way: .* was .*, and is "):
            counted(texts, tmp_path / "words", **{**given, **other}, resume=True)
    lines = open_corpus(*texts, documents="lines")
    with pytest.raises(StoreError, match="documents was file, and is lines"):
        count_words(
            lines,
            out=str(tmp_path / "words"),
            engine=InProcessEngine(threads=1),
            options={},
            resume=True,
            **given,
        )
    assert files_of(tmp_path / "words") == before


# --- adding up, and training ------------------------------------------------------------------------------------------


def test_words_added_up_are_those_of_the_texts_together(texts: list[Path], tmp_path: Path) -> None:
    counted(texts, tmp_path / "whole")
    for number, path in enumerate(texts):
        counted([path], tmp_path / f"{number}")
    merge_words([str(tmp_path / "1"), str(tmp_path / "0")], out=str(tmp_path / "merged"))
    assert files_of(tmp_path / "merged") == files_of(tmp_path / "whole")


def test_words_are_not_deleted_to_make_room_for_their_sum(texts: list[Path], tmp_path: Path) -> None:
    counted(texts, tmp_path / "words")
    before = files_of(tmp_path / "words")
    (tmp_path / "link").symlink_to("words")
    for name in ("words", "words/words-00000.parquet", "link"):
        with pytest.raises(ConfigError, match=f"{name} would be deleted"):
            merge_words([str(tmp_path / name)], out=str(tmp_path / "words"), overwrite=True)
    assert files_of(tmp_path / "words") == before


def test_words_of_other_settings_are_not_added_up(texts: list[Path], tmp_path: Path) -> None:
    counted(texts, tmp_path / "one")
    counted(texts, tmp_path / "other", options={"pattern": "gpt2"})
    counted(texts, tmp_path / "rare", min_count=3)
    with pytest.raises(ConfigError, match="pattern"):
        merge_words([str(tmp_path / "one"), str(tmp_path / "other")], out=str(tmp_path / "out"))
    with pytest.raises(ConfigError, match="below a count of 3"):
        merge_words([str(tmp_path / "rare")], out=str(tmp_path / "out"))


def trained(words: Any, directory: Path, **options: Any) -> dict[str, bytes]:
    """The files of a tokenizer but its manifest, which tells what it was trained on."""
    train_and_save(words, directory=directory, options={"vocab_size": 700, **options})
    return {name: data for name, data in files_of(directory).items() if name != "tokbench.json"}


def test_training_on_words_is_training_on_their_text(texts: list[Path], tmp_path: Path) -> None:
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


def test_more_words_than_pieces_can_be_learned_from(
    texts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted(texts, tmp_path / "words", backend="wordpiece", options={})
    for module in ("core.word_input", "backends.wordpiece.training"):
        monkeypatch.setattr(f"tokbench.{module}.merger_room", lambda: merger_room(1000))
    given: dict[str, Any] = {"directory": tmp_path / "a", "options": {"vocab_size": 4000}}
    with pytest.raises(TrainingError, match="of what can be merged") as error:
        train_and_save(training_words(str(tmp_path / "words")), **given)
    assert str(error.value.hint).startswith("--min-count ")
    with pytest.raises(TrainingError, match="of what can be merged") as error:
        train_and_save(open_corpus(*texts), backend="wordpiece", **given)
    assert str(error.value.hint).startswith("`tokbench count-words` with --min-count ")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
def test_more_words_than_unigram_can_learn_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: str
) -> None:
    """The smallest --min-count is named: with one less they are still too many."""
    monkeypatch.setenv("TOKBENCH_KERNEL", kernel_named(kernel).name)
    words = ["".join("abcde"[rank // 5**i % 5] for i in range(4)) for rank in range(1, 400)]
    text = " ".join(word for rank, word in enumerate(words, start=1) for _ in range(1 + 400 // rank))
    (tmp_path / "a.txt").write_text(text)
    given: dict[str, Any] = {"directory": tmp_path / "t", "options": {"vocab_size": 300}}
    counted([tmp_path / "a.txt"], tmp_path / "words", backend="unigram")
    monkeypatch.setattr("tokbench.backends.unigram.training.MOST_CODES", 700)

    def hint_of(corpus: Any, **options: Any) -> str:
        with pytest.raises(TrainingError, match="times the characters that can be learned from") as error:
            train_and_save(corpus, **given, **options)
        return str(error.value.hint)

    hint = hint_of(training_words(str(tmp_path / "words")))
    assert (
        hint_of(open_corpus(tmp_path / "a.txt"), backend="unigram") == f"`tokbench count-words` with {hint}"
    )
    smallest = int(hint.removeprefix("--min-count ").split()[0])
    assert smallest > 2
    hint_of(training_words(str(tmp_path / "words"), min_count=smallest - 1))
    assert not (tmp_path / "t").exists()
    train_and_save(training_words(str(tmp_path / "words"), min_count=smallest), **given)


@pytest.mark.slow
def test_rare_words_are_left_out_after_all_is_added_up(texts: list[Path], tmp_path: Path) -> None:
    counted(texts, tmp_path / "all", part_bytes=9_000)
    frequent = counted(texts, tmp_path / "frequent", part_bytes=9_000, min_count=3)
    assert frequent.index is not None and frequent.index.dropped is not None
    one = trained(training_words(str(tmp_path / "all"), min_count=3), tmp_path / "a")
    assert trained(training_words(str(tmp_path / "frequent")), tmp_path / "b") == one
    assert trained(training_words(str(tmp_path / "all")), tmp_path / "c") != one
    manifest = json.loads((tmp_path / "a" / "tokbench.json").read_text())
    assert manifest["training"]["words"]["min_count"] == 3


def test_words_that_others_counted(texts: list[Path], tmp_path: Path) -> None:
    """As Spark or DuckDB writes them: in any order, in several files, as texts, and twice."""
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"the\t3\nof 4\n", "line 2"),
        (b"the\t0\n", "line 1"),
        (b"the\t-1\n", "line 1"),
        (b"\t4\n", "line 1"),
        (b"th\xff\t4\n", "not UTF-8"),
    ],
)
def test_lines_that_are_no_words_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "words.tsv").write_bytes(content)
    with pytest.raises(TokbenchError, match=message):
        list(training_words(str(tmp_path / "words.tsv")).arrays())


def test_damaged_folders_are_refused(texts: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "words"
    counted(texts, folder)
    index = json.loads((folder / "words.json").read_text())
    for change in (
        {"schema": "tokbench.words/2"},
        {"files": [{**index["files"][0], "file": "../a.parquet"}]},
        {"fingerprint": "x"},
        {"total": {}},
    ):
        (folder / "words.json").write_text(json.dumps({**index, **change}))
        with pytest.raises(TokbenchError, match=r"words\.json: expected"):
            training_words(str(folder))
    (folder / "words.json").write_text(json.dumps(index))
    with (folder / "words-00000.parquet").open("ab") as file:
        file.write(b"!")
    with pytest.raises(TokbenchError, match="sha256"):
        list(training_words(str(folder)).arrays())
    with pytest.raises(TokbenchError, match="no counted words"):
        training_words(str(tmp_path / "nowhere"))


def test_progress_is_told(texts: list[Path], tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    counted(
        texts, tmp_path / "words", progress=lambda phase, done, total, _: told.append((phase, done, total))
    )
    assert told[-1][1] == told[-1][2]
    assert {phase.split(" on")[0] for phase, _, _ in told} == {"counting", "adding up"}
