"""Running a word count from its plan to the finished folder, without repeating finished parts."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from tokbench.core.counted_words import WordTotals
from tokbench.corpus import Problems
from tokbench.counting.joining import num_files, words_name
from tokbench.counting.part_task import PART_MEMORY, counting_of, part_name
from tokbench.distributed.plan_folder import PLAN_NAME, begin, difference, resume_reported
from tokbench.distributed.tasks import Slice, results_in_order
from tokbench.errors import ModelFormatError, StoreError
from tokbench.files.storage.folder_lock import locked
from tokbench.words.counted_files import CountedFiles
from tokbench.words.folder import (
    INDEX_NAME,
    OWN_FILE,
    Dropped,
    WordsFileEntry,
    WordsFolder,
    WordsIndex,
    fingerprint_of,
    open_folder,
)
from tokbench.words.parquet import open_words_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.core.progress import Progress
    from tokbench.distributed.corpus_plan import CorpusPlan
    from tokbench.distributed.plan_folder import Share
    from tokbench.distributed.tasks import Engine
    from tokbench.files.storage.place import Place

COUNT_TASK = "tokbench.counting.part_task:count_part"
JOIN_TASK = "tokbench.counting.joining:join_file"

_COUNT_AGAIN = "--force counts again; --out names another folder"


@dataclass(frozen=True, slots=True)
class PartTotals:
    """The totals of parts.

    Attributes:
        totals: the totals of their words.
        problems: what was skipped or replaced while reading.
    """

    totals: WordTotals
    problems: Problems

    @classmethod
    def of(cls, results: Sequence[Mapping[str, Any]]) -> PartTotals:
        """Return the sum of the results of tasks."""
        names = [counter_field.name for counter_field in fields(WordTotals)]
        totals = WordTotals(0, 0, 0)
        for result in results:
            totals += WordTotals(**{name: result[name] for name in names})
        return cls(totals, Problems.total(results))


def count_share(
    plan: CorpusPlan,
    folder: Place,
    share: Share,
    *,
    engine: Engine,
    memory: int = PART_MEMORY,
    progress: Progress,
) -> PartTotals:
    """Count some parts, except those that are already counted.

    Raises:
        StoreError: the folder contains another count, or cannot be written.
        DistributedError: parts failed; the others are counted.
    """
    with locked(folder, is_shared=True), resume_reported(share=share):
        if (folder / INDEX_NAME).exists():
            raise _exists_error(folder)
        begin(plan, folder, option="--out", resume=True)
        parts = [part for part in range(len(plan.parts)) if share.has(part)]
        known = {part: _finished_part(plan, folder, part) for part in parts}
        results = _counted(plan, folder, known, engine=engine, memory=memory, progress=progress)
        return PartTotals.of(list(results.values()))


def count_all(
    plan: CorpusPlan,
    folder: Place,
    *,
    engine: Engine,
    min_count: int = 1,
    memory: int = PART_MEMORY,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress,
) -> tuple[WordsFolder, PartTotals | None]:
    """Count all parts on an engine, add them up, and finish the folder.

    Args:
        plan: the plan of the count.
        folder: the output folder, which contains nothing else.
        engine: runs the tasks.
        min_count: rarer words are dropped, after everything is added up.
        memory: the limit of a task's table in bytes.
        resume: whether to continue the work of an earlier run.
        overwrite: whether to delete another count in the folder.
        progress: called with the share of the work that is done.

    Returns:
        The folder; and the totals of this run, None if the folder was already finished.

    Raises:
        StoreError: the folder contains other files, or cannot be written.
        DistributedError: parts failed; the others are kept, for `resume`.
        CorpusError: there is no text.
    """
    with locked(folder, is_shared=False), resume_reported():
        if overwrite:
            remove_counting(folder)
        if (folder / INDEX_NAME).exists():
            if not resume:
                raise _exists_error(folder)
            return _finished(folder, plan, min_count=min_count), None
        files = CountedFiles.of(plan.files)
        begin(plan, folder, option="--out", resume=resume, is_alone=True)
        known = {
            part: _finished_part(plan, folder, part) if resume else None for part in range(len(plan.parts))
        }
        results = _counted(plan, folder, known, engine=engine, memory=memory, progress=progress)
        totals = PartTotals.of(list(results.values()))
        if not totals.totals.documents:
            _clear(plan, folder)
            corpus = plan.corpus(0)
            corpus.problems = totals.problems
            raise corpus.no_document()
        index = _joined(
            plan,
            folder,
            totals.totals,
            files=files,
            engine=engine,
            min_count=min_count,
            progress=progress,
        )
        (folder / INDEX_NAME).write(index.dump())
        _clear(plan, folder)
        return WordsFolder(folder, index), totals


def _counted(
    plan: CorpusPlan,
    folder: Place,
    known: Mapping[int, dict[str, Any] | None],
    *,
    engine: Engine,
    memory: int,
    progress: Progress,
) -> dict[int, dict[str, Any]]:
    """Count the parts without a known result, and return the results of all. Raises `DistributedError`."""
    missing = [part for part, result in known.items() if result is None]
    slices = [plan.slice_of(part, _arguments(plan, folder, part, memory)) for part in missing]
    counted = results_in_order(engine, COUNT_TASK, slices, phase="counting", progress=progress)
    found = {part: result for part, result in known.items() if result is not None}
    return found | dict(zip(missing, counted, strict=True))


def remove_counting(folder: Place) -> None:
    """Delete the files of a count, finished or not. Raises `StoreError` if the folder contains other files."""
    names = [str(file.place).removeprefix(str(folder)).lstrip("/\\") for file in folder.files()]
    own = [name for name in names if _is_own(name.replace("\\", "/"))]
    if strangers := sorted(set(names) - set(own)):
        raise StoreError(
            f"{folder} contains {strangers[0]}, which is not a file of counted words",
            hint="name another folder with --out",
        )
    for name in sorted(own, key=lambda name: name != INDEX_NAME):
        (folder / name).remove()


def _is_own(name: str) -> bool:
    return (
        name in (INDEX_NAME, PLAN_NAME)
        or OWN_FILE.fullmatch(name) is not None
        or name.startswith("parts/part-")
    )


def _arguments(plan: CorpusPlan, folder: Place, part: int, memory: int) -> dict[str, Any]:
    return {"folder": str(folder), "plan": plan.id, "part": part, "memory": memory}


def _finished_part(plan: CorpusPlan, folder: Place, part: int) -> dict[str, Any] | None:
    """Return the totals in a part's file, if the file exists and belongs to this plan."""
    place = folder / part_name(part)
    if not place.exists():
        return None
    try:
        with open_words_file(place) as file:
            facts = file.facts
    except ModelFormatError:
        return None
    if (facts.get("plan"), facts.get("part")) != (plan.id, part) or not isinstance(facts.get("totals"), dict):
        return None
    totals: dict[str, Any] = facts["totals"]
    return totals


def _joined(
    plan: CorpusPlan,
    folder: Place,
    totals: WordTotals,
    *,
    files: CountedFiles,
    engine: Engine,
    min_count: int,
    progress: Progress,
) -> WordsIndex:
    """Add up the parts into the files of words; return their index."""
    num_words_files = num_files(totals.num_bytes)
    slices = [
        Slice(
            f"words {number + 1} of {num_words_files}",
            {"folder": str(folder), "number": number, "files": num_words_files, "min_count": min_count},
            max(plan.num_bytes // num_words_files, 1),
        )
        for number in range(num_words_files)
    ]
    facts = results_in_order(engine, JOIN_TASK, slices, phase="adding up", progress=progress)
    return index_of(
        facts,
        counting=counting_of(plan).settings,
        text=_reading_options(plan),
        corpus=files,
        totals=totals,
    )


def _reading_options(plan: CorpusPlan) -> dict[str, Any]:
    """Return how documents are read, as recorded in the index."""
    return {name: plan.reading[name] for name in ("documents", "text_field", "errors")}


def index_of(
    facts: Sequence[Mapping[str, Any]],
    *,
    counting: Mapping[str, Any] | None,
    text: Mapping[str, Any] | None,
    corpus: CountedFiles | None,
    totals: WordTotals,
) -> WordsIndex:
    """Return the index of the files that `tokbench.counting.joining.write_joined` wrote, in order."""
    min_count = facts[0]["min_count"]
    dropped = Dropped(
        min_count,
        sum(file_facts["dropped"] for file_facts in facts),
        sum(file_facts["dropped_words"] for file_facts in facts),
    )
    return WordsIndex(
        counting=counting,
        text=text,
        corpus=corpus,
        totals=totals,
        distinct=sum(file_facts["distinct"] for file_facts in facts),
        dropped=dropped if min_count > 1 else None,
        fingerprint=fingerprint_of([file_facts["fingerprint"] for file_facts in facts]),
        files=tuple(
            WordsFileEntry(
                words_name(number), file_facts["distinct"] - file_facts["dropped"], file_facts["sha256"]
            )
            for number, file_facts in enumerate(facts)
        ),
    )


def _clear(plan: CorpusPlan, folder: Place) -> None:
    """Delete what is not needed once the index is written."""
    for part in range(len(plan.parts)):
        (folder / part_name(part)).remove()
    (folder / PLAN_NAME).remove()
    if folder.local is None:
        return
    for names in (".words*.tmp-*", ".plan.json.tmp-*", "parts/.part-*.tmp-*"):
        for staged in folder.local.glob(names):  # of a process that was killed while writing
            staged.unlink(missing_ok=True)
    with suppress(OSError):  # a worker of a killed run may still be writing its part
        (folder.local / "parts").rmdir()


def _finished(folder: Place, plan: CorpusPlan, *, min_count: int) -> WordsFolder:
    """Return what an earlier run finished. Raises `StoreError` if it counted other files, or with other settings."""
    words = open_folder(folder)
    index = words.index
    before = {**(index.counting or {}), **(index.text or {}), "min_count": 1}
    if index.dropped is not None:
        before["min_count"] = index.dropped.min_count
    now = {**counting_of(plan).settings, **_reading_options(plan), "min_count": min_count}
    if changed := difference(before, now):
        raise StoreError(
            f"{folder} contains words that were counted differently: {changed}",
            hint=_COUNT_AGAIN,
        )
    _refuse_other_files(folder, index.corpus, CountedFiles.of(plan.files))
    return words


def _refuse_other_files(folder: Place, before: CountedFiles | None, now: CountedFiles) -> None:
    if before is None:
        raise StoreError(f"{folder} does not record which files were counted", hint=_COUNT_AGAIN)
    if before == now:
        return
    if (before.files, before.num_bytes) == (now.files, now.num_bytes):
        change = " whose contents were different"
    else:
        change = f", not of {'this' if now.files == 1 else 'these'} {now}"
    raise StoreError(
        f"{folder} contains the words of {before}{change}",
        hint=f"give the same files as before; {_COUNT_AGAIN}",
    )


def _exists_error(folder: Place) -> StoreError:
    return StoreError(
        f"{folder} contains counted words already", hint="--force replaces them; --out names another folder"
    )
