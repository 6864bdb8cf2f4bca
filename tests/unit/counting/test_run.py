"""A counting run from the plan to the folder: the same bytes however it is divided, interrupted and continued."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from support.counted_words import counted
from support.engines import ElsewhereEngine, in_memory
from support.folders import files_of

from tokbench.corpus import open_corpus
from tokbench.distributed.engines.open import InProcessEngine
from tokbench.distributed.plan_folder import Share
from tokbench.errors import CorpusError, DistributedError, StoreError, TokbenchError
from tokbench.files.storage.folder_lock import locked
from tokbench.files.storage.open import place_of
from tokbench.workbench.count_words import count_words, count_words_share, merge_words, training_words

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("pyarrow")


@pytest.mark.parametrize("part_bytes", [300_000, 40_000, pytest.param(9_000, marks=pytest.mark.slow)])
def test_result_does_not_depend_on_the_parts(texts: list[Path], tmp_path: Path, part_bytes: int) -> None:
    whole = counted(texts, tmp_path / "whole")
    divided = counted(texts, tmp_path / "divided", part_bytes=part_bytes)
    assert files_of(tmp_path / "whole") == files_of(tmp_path / "divided")
    assert (divided.parts or 0) > (whole.parts or 0) == 1


def test_result_does_not_depend_on_the_memory_limit(
    texts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokbench.counting import part_task

    counted(texts, tmp_path / "whole")
    written: list[int] = []
    write = part_task.Spill.write
    monkeypatch.setattr(part_task.Spill, "write", lambda self: (written.append(1), write(self)))
    from tokbench.counting import run

    arguments = run._arguments
    monkeypatch.setattr(
        run, "_arguments", lambda plan, folder, part, memory: arguments(plan, folder, part, 1)
    )
    counted(texts, tmp_path / "spilled")
    assert len(written) > 1
    assert files_of(tmp_path / "whole") == files_of(tmp_path / "spilled")


def test_processes_can_count_shares(texts: list[Path], tmp_path: Path) -> None:
    special = {"special_tokens": ("<e>",)}
    counted(texts, tmp_path / "whole", options=special)
    for number in (3, 1, 2, 1):  # share 1 runs twice
        result = count_words_share(
            open_corpus(*texts), out=str(tmp_path / "shared"), share=Share(number, 3), threads=1,
            options=special, part_bytes=40_000,
        )  # fmt: skip
        assert result.index is None
    with pytest.raises(StoreError, match="an unfinished count of words"):
        training_words(str(tmp_path / "shared"))
    for name in (".words-00000.parquet.tmp-0", ".plan.json.tmp-0", "parts/.part-00000.parquet.tmp-0"):
        (tmp_path / "shared" / name).write_bytes(b"half")  # as a killed process leaves it
    counted(texts, tmp_path / "shared", part_bytes=40_000, options=special, resume=True)
    assert files_of(tmp_path / "whole") == files_of(tmp_path / "shared")


def test_failed_part_is_named_and_the_others_are_kept(texts: list[Path], tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    counted(texts, whole)
    text = texts[0].read_bytes()
    texts[0].write_bytes(text[:50_000] + b"\xff" + text[50_001:])
    with pytest.raises(DistributedError, match=r"part 2 of \d+: .*a\.txt, bytes 40,000 to 80,000: not UTF-8"):
        counted(texts, tmp_path / "words", part_bytes=40_000)
    parts = tmp_path / "words" / "parts"
    assert len(list(parts.iterdir())) > 5
    with pytest.raises(StoreError, match="contains the counts of an earlier run"):
        counted(texts, tmp_path / "words", part_bytes=40_000)
    texts[0].write_bytes(text)
    with pytest.raises(StoreError, match=r"a\.txt has changed"):
        counted(texts, tmp_path / "words", part_bytes=40_000, resume=True)
    counted(texts, tmp_path / "words", part_bytes=40_000, overwrite=True)
    assert files_of(tmp_path / "words") == files_of(whole)


def test_process_of_a_share_counts_the_parts_after_a_failed_one(texts: list[Path], tmp_path: Path) -> None:
    text = texts[0].read_bytes()
    texts[0].write_bytes(b"\xff" + text[1:-1] + b"\xff")

    def count() -> None:
        count_words_share(
            open_corpus(*texts), out=str(tmp_path / "words"), share=Share(1, 1), threads=1, options={},
            part_bytes=40_000,
        )  # fmt: skip

    with pytest.raises(DistributedError, match=r"^2 of \d+ parts failed, the others are finished:\n"):
        count()
    parts = sorted(path.name for path in (tmp_path / "words" / "parts").iterdir())
    last = len(text) // 40_000
    wanted = {f"part-{part:05}.parquet" for part in range(len(parts) + 2)}
    assert wanted - set(parts) == {"part-00000.parquet", f"part-{last:05}.parquet"}
    with pytest.raises(DistributedError, match=r"2 of 2 parts failed:\n  part 1 of"):
        count()


def test_plan_without_a_finished_part_is_replaced(texts: list[Path], tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    counted(texts, whole)
    (tmp_path / "bad.txt").write_bytes(b"a \xff")
    with pytest.raises(DistributedError, match="UTF-8"):
        counted([tmp_path / "bad.txt"], tmp_path / "words")
    assert [path.name for path in (tmp_path / "words").iterdir()] == ["plan.json"]
    counted(texts, tmp_path / "words")
    assert files_of(tmp_path / "words") == files_of(whole)


def test_finished_parts_are_not_counted_again(
    texts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokbench.counting import part_task

    class Stopped(InProcessEngine):
        """An engine that is interrupted after its third part."""

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


def test_file_that_changes_meanwhile_is_refused(texts: list[Path], tmp_path: Path) -> None:
    class Late(InProcessEngine):
        """An engine that runs after somebody has written to the files."""

        def run(self, *arguments: Any, **options: Any) -> Any:
            os.utime(texts[1], (1, 1))
            return super().run(*arguments, **options)

    with pytest.raises(DistributedError, match=r"b\.jsonl has changed"):
        counted(texts, tmp_path / "words", engine=Late(threads=1))


@pytest.mark.parametrize("options", [{"resume": True}, {"overwrite": True}])
def test_concurrent_runs_into_one_folder_are_refused(
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


def test_folder_with_foreign_files_is_refused(texts: list[Path], tmp_path: Path) -> None:
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "mine.txt").write_text("precious")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "link").symlink_to("nowhere")
    for overwrite in (False, True):
        with pytest.raises(StoreError, match=r"mine\.txt"):
            counted(texts, tmp_path / "words", overwrite=overwrite)
        with pytest.raises(StoreError, match="linked contains link, which"):
            counted(texts, tmp_path / "linked", overwrite=overwrite)
    counted(texts, tmp_path / "done")
    with pytest.raises(StoreError, match="already"):
        counted(texts, tmp_path / "done")
    with pytest.raises(StoreError, match="the counts of a different run"):
        count_words_share(
            open_corpus(*texts), out=str(tmp_path / "other"), share=Share(1, 2), threads=1, options={}
        )
        counted(texts, tmp_path / "other", options={"pattern": "gpt2"}, resume=True)


def test_corpus_without_text_is_refused_and_leaves_no_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(CorpusError, match="no text"):
        counted([tmp_path / "a.txt"], tmp_path / "words")
    assert not (tmp_path / "words").exists() or not list((tmp_path / "words").glob("[!.]*"))


def test_cause_of_an_empty_corpus_is_reported(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"other": 1}\n' * 9, encoding="utf-8")
    corpus = open_corpus(tmp_path / "rows.jsonl", errors="skip")
    with pytest.raises(CorpusError, match=r"no record of .*rows\.jsonl, bytes 0 to 20 has a text"):
        count_words(
            corpus, out=str(tmp_path / "words"), options={}, engine=InProcessEngine(threads=1), part_bytes=20
        )


def test_corpus_in_the_memory_of_this_process_is_refused_for_workers(tmp_path: Path) -> None:
    pytest.importorskip("fsspec", reason="the package fsspec is not installed")
    corpus, out = open_corpus(in_memory(tmp_path.name)), str(tmp_path / "words")
    with pytest.raises(CorpusError, match=r"a\.txt is in the memory of this process alone"):
        count_words(corpus, out=out, options={}, engine=ElsewhereEngine())
    assert count_words(corpus, out=out, options={}, engine=InProcessEngine(threads=1)).index is not None


@pytest.mark.parametrize("backend", ["bpe", "wordpiece", "unigram"])
def test_finished_folder_is_reused_only_for_the_same_options(
    texts: list[Path], tmp_path: Path, backend: str
) -> None:
    given: dict[str, Any] = {"backend": backend, "min_count": 2}
    counted(texts, tmp_path / "words", **given)
    before = files_of(tmp_path / "words")
    again = counted(texts, tmp_path / "words", **given, resume=True)
    assert again.counted is None and again.index is not None
    special = {"special_tokens": ("[UNK]", "<x>")}
    for options in (
        {"min_count": 1},
        {"options": special},
        {"backend": "bpe", "options": {"pattern": "gpt2"}},
    ):
        with pytest.raises(StoreError, match=r"counted differently: .* was .*, and is "):
            counted(texts, tmp_path / "words", **{**given, **options}, resume=True)
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


def test_finished_folder_is_reused_only_for_the_same_files(texts: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "words"
    counted(texts, folder)
    before = files_of(folder)
    for path in texts:
        os.utime(path, (1, 1))
    (tmp_path / "copies").mkdir()
    copies = [shutil.copyfile(path, tmp_path / "copies" / path.name) for path in texts]
    for same in (texts, texts[::-1], copies):
        assert counted(same, folder, resume=True, part_bytes=40_000).counted is None
    sizes = [path.stat().st_size for path in texts]
    one, both = f"1 file of {sizes[0]:,} bytes", f"2 files of {sum(sizes):,} bytes"
    with pytest.raises(StoreError, match=f"contains the words of {both}, not of this {one}") as error:
        counted(texts[:1], folder, resume=True)
    assert (
        error.value.hint == "give the same files as before; --force counts again; --out names another folder"
    )
    copies[0].write_bytes(texts[0].read_bytes()[::-1])
    with pytest.raises(StoreError, match=f"of {both} whose contents were different"):
        counted(copies, folder, resume=True)
    copies[0].write_bytes(texts[0].read_bytes())
    copies[1].rename(copies[1].with_suffix(".txt"))
    with pytest.raises(StoreError, match="whose contents were different"):
        counted([copies[0], copies[1].with_suffix(".txt")], folder, resume=True)
    assert files_of(folder) == before


def test_finished_folder_that_does_not_record_its_files_is_not_resumed(
    texts: list[Path], tmp_path: Path
) -> None:
    folder = tmp_path / "words"
    counted(texts, folder)
    index = json.loads((folder / "words.json").read_text())
    del index["corpus"]
    (folder / "words.json").write_text(json.dumps(index))
    with pytest.raises(StoreError, match="does not record which files were counted") as error:
        counted(texts, folder, resume=True)
    assert error.value.hint == "--force counts again; --out names another folder"
    assert list(training_words(str(folder)).arrays())
    merge_words([str(folder)], out=str(tmp_path / "sum"))
    assert json.loads((tmp_path / "sum" / "words.json").read_text())["corpus"] is None


def test_output_words_inside_the_corpus_are_not_counted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two", encoding="utf-8")
    counted([tmp_path], tmp_path / "words")
    before = files_of(tmp_path / "words")
    for options in ({"overwrite": True}, {"resume": True}):
        assert len(open_corpus(tmp_path, tmp_path / "words").files) > 1
        counted([tmp_path, tmp_path / "words"], tmp_path / "words", **options)
        assert files_of(tmp_path / "words") == before


# --- adding up, and training ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"the\t3\nof 4\n", "line 2"),
        (b"the\t0\n", "line 1"),
        (b"the\t-1\n", "line 1"),
        (b"\t4\n", "line 1"),
        (b"th\xff\t4\n", "line 1: expected UTF-8"),
    ],
)
def test_malformed_lines_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
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


def test_progress_is_reported(texts: list[Path], tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    counted(
        texts, tmp_path / "words", progress=lambda phase, done, total, _: told.append((phase, done, total))
    )
    assert told[-1][1] == told[-1][2]
    assert {phase.split(" on")[0] for phase, _, _ in told} == {"counting", "adding up"}
