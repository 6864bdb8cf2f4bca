"""Tests that evaluating in parts gives exactly the same figures for any division, interruption and resumption."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.engines import ElsewhereEngine, HereEngine, in_memory
from support.evaluation_parts import Case, case_in, saved_in

from tokbench.corpus import open_corpus
from tokbench.distributed.engines.open import InProcessEngine, open_engine
from tokbench.distributed.plan_folder import Share
from tokbench.errors import ConfigError, CorpusError, DistributedError, StoreError
from tokbench.evaluation.comparison_json import comparison_document
from tokbench.files.storage.folder_lock import locked
from tokbench.files.storage.open import place_of
from tokbench.workbench import evaluation_tasks
from tokbench.workbench.compare import compare
from tokbench.workbench.evaluation_parts import EvaluationWork, evaluate_share

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.workbench.open import NamedTokenizer

SIZES = [10**9, 4_000, 900]


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> list[NamedTokenizer]:
    return saved_in(tmp_path_factory.mktemp("tokenizers"))


@pytest.fixture
def case(tmp_path: Path, saved: list[NamedTokenizer]) -> Case:
    return case_in(tmp_path, saved)


@pytest.mark.parametrize(
    ("documents", "part_bytes"),
    [*(("file", size) for size in SIZES), ("lines", SIZES[-1]), ("paragraphs", SIZES[-1])],
)
def test_figures_do_not_depend_on_the_parts(case: Case, documents: str, part_bytes: int) -> None:
    reading = {"documents": documents}
    assert case.figures(case.work(part_bytes=part_bytes), reading=reading) == case.figures(reading=reading)


def test_figures_do_not_depend_on_task_order_or_repetition(case: Case) -> None:
    assert case.figures(case.work(engine=HereEngine())) == case.figures()


@pytest.mark.parametrize("options", [{"aggregation": "per_document"}, {"aggregation": "macro", "seed": 3}])
def test_each_aggregation_equals_a_single_run(case: Case, options: dict[str, Any]) -> None:
    assert case.figures(case.work(), **options) == case.figures(**options)


@pytest.mark.slow
def test_many_parts_are_summed_in_a_tree(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sum reads at most three files here; missing and damaged sums are written again with the same bytes."""
    monkeypatch.setattr(evaluation_tasks, "MOST_FILES", 3)
    options: dict[str, Any] = {"aggregation": "per_document", "reading": {"documents": "lines"}}
    work = case.work(folder=case.parts, part_bytes=1_000, engine=HereEngine())
    figures = case.figures(work, **options)
    assert figures == case.figures(**options)
    sums = {path: path.read_bytes() for path in (case.folder / "parts" / "sums").iterdir()}
    assert len(sums) > 6
    for number, path in enumerate(sums):
        path.write_bytes(b"PK none of it") if number % 2 else path.unlink()
    again = case.work(folder=case.parts, part_bytes=1_000, resume=True)
    assert case.figures(again, **options) == figures
    assert {path: path.read_bytes() for path in sums} == sums


def test_record_groups_and_mix_equal_a_single_run(case: Case) -> None:
    options: dict[str, Any] = {"reading": {"group_by": "field:lang"}, "mix": {"x": 0.25, "y": 0.75}}
    assert case.figures(case.work(), **options) == case.figures(**options)
    with pytest.raises(ConfigError, match="no such group"):
        case.figures(case.work(), mix={"nowhere": 1.0})


def test_relative_path_has_the_same_groups(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case.folder / "corpus" / "parallel")

    def figures(work: EvaluationWork | None) -> dict[str, Any]:
        comparison = compare(
            open_corpus(*sorted(path.name for path in case.folder.glob("corpus/parallel/*"))),
            tokenizers=case.tokenizers,
            times=False,
            work=work,
        )
        return comparison_document(comparison)

    assert figures(None)["tokenizers"][0]["fairness"] is not None
    assert figures(case.work(part_bytes=900)) == figures(None)


def test_failures_are_named_by_their_line_in_the_whole_file(case: Case) -> None:
    """The documents that do not decode to themselves follow many blank lines in a file that is split into parts."""
    (case.folder / "corpus" / "a.jsonl").write_text(
        '\n{"text": "the"}\n\n' * 30 + '{"text": "Überall"}\n' * 2
    )
    whole = compare(case.corpus(), tokenizers=case.tokenizers, times=False)
    parts = compare(case.corpus(), tokenizers=case.tokenizers, times=False, work=case.work(part_bytes=300))
    failures = [comparison.tokenizers[1].evaluation.failures for comparison in (whole, parts)]
    assert failures[0] == failures[1]
    assert failures[0][0].source.endswith("a.jsonl:91")


def test_only_the_first_megabytes_are_encoded_twice(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokbench.evaluation import fidelity

    monkeypatch.setattr(fidelity, "_CHECKED_FOR_STABILITY", 2_500)
    whole = case.figures(reading={"documents": "lines"})
    assert case.figures(case.work(part_bytes=1_000), reading={"documents": "lines"}) == whole


def test_finished_counts_are_reused(case: Case) -> None:
    class Unused(InProcessEngine):
        def run(self, *_: Any, **__: Any) -> Any:
            raise AssertionError("there is nothing to do")

    figures = case.figures(case.work(folder=case.parts))
    again = case.work(folder=case.parts, engine=Unused(threads=1), resume=True)
    assert case.figures(again, seed=0) == figures == case.figures()
    with pytest.raises(StoreError, match="contains the counts of an earlier run"):
        case.figures(case.work(folder=case.parts))
    with pytest.raises(StoreError, match="counts of a different run: it has"):
        case.figures(case.work(folder=case.parts, part_bytes=10**6, resume=True))


@pytest.mark.parametrize("documents", ["file", "lines"])
def test_shares_add_up_to_a_single_run(case: Case, documents: str) -> None:
    reading = {"documents": documents}
    for number in (3, 1, 2):
        work = case.work(folder=case.parts, share=Share(number, 3), engine=InProcessEngine(threads=1))
        evaluate_share(case.corpus(**reading), case.tokenizers, work, means=False, progress=lambda *_: None)
    assert len(list((case.folder / "parts" / "counts").iterdir())) > 3

    class OnlySums(InProcessEngine):
        def run(self, task: str, *arguments: Any, **options: Any) -> Any:
            assert task.endswith(":sum_parts")  # all parts have been counted
            return super().run(task, *arguments, **options)

    work = case.work(folder=case.parts, engine=OnlySums(threads=1), resume=True)
    assert case.figures(work, reading=reading) == case.figures(reading=reading)


def test_failed_parts_are_named_and_the_others_kept(case: Case) -> None:
    with pytest.raises(DistributedError, match=r"2 of \d+ parts failed.*\n.*the worker was lost"):
        case.figures(case.work(folder=case.parts, engine=HereEngine(breaking=2)))
    assert case.figures(case.work(folder=case.parts, resume=True)) == case.figures()


def test_unreadable_part_is_named(case: Case) -> None:
    with (case.folder / "corpus" / "a.jsonl").open("a") as file:
        file.write("no JSON\n")
    with pytest.raises(DistributedError, match=r"a\.jsonl.*: not JSON"):
        case.figures(case.work())


def test_file_changed_since_the_plan_is_refused(case: Case) -> None:
    class Changing(HereEngine):
        def run(self, *arguments: Any, **options: Any) -> Any:
            path = case.folder / "corpus" / "c.txt"
            path.write_text(path.read_text().swapcase())
            return super().run(*arguments, **options)

    with pytest.raises(DistributedError, match=r"c\.txt has changed"):
        case.figures(case.work(folder=case.parts, engine=Changing()))
    with pytest.raises(StoreError, match=r"c\.txt has changed"):
        case.figures(case.work(folder=case.parts, resume=True))


def test_different_tokenizer_of_the_same_name_is_refused(case: Case) -> None:
    case.named = [replace(case.named[0], name=case.named[1].name), case.named[1]]
    with pytest.raises(DistributedError, match="is a different tokenizer on the worker"):
        case.figures(case.work())


def test_concurrent_runs_into_one_folder_are_refused(case: Case) -> None:
    with locked(place_of(case.parts), is_shared=False), pytest.raises(StoreError, match="another"):
        case.figures(case.work(folder=case.parts))


@pytest.mark.parametrize("damage", [b"", b"PK none of it"])
@pytest.mark.parametrize("name", ["notes/part-00001.json", "counts/part-00001.zip"])
def test_damaged_file_is_written_again(case: Case, name: str, damage: bytes) -> None:
    wanted = case.figures(case.work(folder=case.parts))
    path = case.folder / "parts" / name
    whole = path.read_bytes()
    path.write_bytes(damage)
    assert case.figures(case.work(folder=case.parts, resume=True)) == wanted
    assert path.read_bytes() == whole


def test_corpus_without_text_is_refused(case: Case) -> None:
    (case.folder / "empty.txt").write_text("")
    with pytest.raises(CorpusError, match="there is no text in"):
        compare(open_corpus(case.folder / "empty.txt"), tokenizers=case.tokenizers, work=case.work())


def test_training_in_parts_is_refused(case: Case) -> None:
    with pytest.raises(ConfigError, match="training in parts is not supported"):
        compare(case.corpus(), work=case.work())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
def test_killed_worker_loses_nothing(case: Case) -> None:
    killed = []
    with open_engine("local", workers=2) as engine:

        def progress(phase: str, done: int, total: int | None, unit: str) -> None:
            if done and not killed and phase.startswith("counting"):
                worker = next(iter(engine._busy), None) or engine._idle[0]  # type: ignore[attr-defined]
                killed.append(worker._process.pid)
                os.kill(worker._process.pid, signal.SIGKILL)

        assert case.figures(case.work(engine=engine), progress=progress) == case.figures()
    assert killed


@pytest.mark.slow
def test_local_workers_give_the_same_figures(case: Case) -> None:
    with open_engine("local", workers=2) as engine:
        assert case.figures(case.work(engine=engine, part_bytes=1_000)) == case.figures()


def test_corpus_in_the_memory_of_this_process_is_refused_for_workers(case: Case) -> None:
    pytest.importorskip("fsspec", reason="the package fsspec is not installed")
    corpus = open_corpus(in_memory(case.folder.name))
    with pytest.raises(CorpusError, match=r"a\.txt is in the memory of this process alone"):
        compare(corpus, tokenizers=case.tokenizers, times=False, work=case.work(engine=ElsewhereEngine()))


def test_remote_folder_gives_the_same_figures(case: Case) -> None:
    pytest.importorskip("fsspec", reason="the package fsspec is not installed")
    url = f"memory://{case.folder.name}/parts"
    assert case.figures(case.work(folder=url)) == case.figures()
