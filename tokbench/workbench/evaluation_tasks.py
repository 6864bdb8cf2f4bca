"""Tasks of evaluating tokenizers in parts: noting a part, counting it, and adding up several."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.distributed.plan_folder import open_plan
from tokbench.evaluation.corpus_scan import CorpusScan, documents_in, notes_from, notes_of
from tokbench.evaluation.counting_pass import Counting, batches
from tokbench.evaluation.counting_state_file import dump_states
from tokbench.evaluation.units import AlignedLines, Alignment
from tokbench.workbench.evaluation_sums import Range, add_up
from tokbench.workbench.open import opened_alike

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokbench.core.interfaces import Tokenizer
    from tokbench.corpus import Document
    from tokbench.distributed.corpus_plan import CorpusPlan
    from tokbench.distributed.tasks import TaskContext
    from tokbench.evaluation.counting_pass import CountingState
    from tokbench.files.storage.place import Place

SCHEMA = "tokbench.evaluation.plan/1"


def notes_name(part: int) -> str:
    """Return the file name of the notes of a part, in the folder of the plan."""
    return f"notes/part-{part:05}.json"


def note_part(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Read a part and publish its notes; a `Task`.

    Args:
        arguments: "folder", the folder of the plan; "plan", its id; "part", a number.
        context: the context of the task.

    Returns:
        The number of documents.

    Raises:
        CorpusError: a file cannot be read, or has changed.
    """
    folder, plan, part = _open_part(arguments)
    corpus = plan.corpus(part)
    corpus.line_ends = {}
    corpus.on_block = lambda: context.tell((corpus.files_read or (0, 0))[0])
    notes = notes_of(corpus, parallel=plan.settings["parallel"], with_lines=plan.settings["lines"])
    plan.check_unchanged(part)
    _publish(folder / notes_name(part), notes.dump({"plan": plan.id, "part": part}))
    return {"documents": notes.documents}


def count_part(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Encode a part with each tokenizer and publish the counts; a `Task`.

    Args:
        arguments: as for `note_part`; "checked", how many of the first documents, and of the first documents of
            aligned lines, are encoded a second time; "aligned", the languages with aligned lines and the number of
            lines of each in earlier parts, or None; "notes", whether to publish the notes, too, before the counts.
        context: the context of the task.

    Returns:
        The number of bytes counted.

    Raises:
        CorpusError: a file cannot be read, or has changed.
        TextError: a document cannot be encoded.
        ConfigError: a tokenizer differs on the worker.
    """
    folder, plan, part = _open_part(arguments)
    tokenizers = [opened_alike(document) for document in plan.settings["tokenizers"]]
    corpus = plan.corpus(part)
    (checked, checked_lines), aligned = arguments["checked"], arguments["aligned"]
    passes = 1 if aligned is None else 2
    scan = None
    if arguments["notes"]:
        corpus.line_ends = {}
        scan = CorpusScan(documents_in(corpus))
    if scan is not None and plan.settings["lines"]:
        scan.note_lines()
    states = _count(
        documents_in(corpus) if scan is None else scan,
        tokenizers,
        plan,
        context,
        num_checked=checked,
        passes=passes,
        whole_groups=(),
    )
    num_bytes = states[0].num_bytes
    if aligned is not None:
        alignment = Alignment(tuple(aligned["languages"]), aligned["lines"])
        states += _count(
            AlignedLines(documents_in(corpus), alignment, lines_before=aligned["before"]),
            tokenizers,
            plan,
            context,
            num_checked=checked_lines,
            passes=passes,
            whole_groups=alignment.languages,
            bytes_before=num_bytes,
        )
    parts = Range(part, part + 1)
    facts = {"plan": plan.id, **parts.facts}
    notes = None
    if scan is not None:
        notes = notes_from(scan, corpus, parallel_lines={}, with_lines=plan.settings["lines"])
    plan.check_unchanged(part)
    if notes is not None:
        _publish(folder / notes_name(part), notes.dump(facts))
    _publish(folder / parts.name, dump_states(states, facts))
    return {"bytes": num_bytes}


def sum_parts(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Add up the counts of some parts and publish them as one file; a `Task`.

    Args:
        arguments: "folder" and "plan", as for `note_part`; "first" and "last", of a `Range`; "languages", those with
            aligned lines, or None.
        context: the context of the task.

    Returns:
        The number of bytes counted.

    Raises:
        ModelFormatError: a file is damaged.
        ConfigError: a tokenizer differs on the worker.
    """
    folder, plan = open_plan(arguments, schema=SCHEMA)
    parts = Range(arguments["first"], arguments["last"])
    countings = add_up(
        folder,
        parts.divided(),
        [opened_alike(document) for document in plan.settings["tokenizers"]],
        plan=plan,
        means=plan.settings["means"],
        languages=arguments["languages"],
        tell=context.tell,
    )
    facts = {"plan": plan.id, **parts.facts}
    _publish(folder / parts.name, dump_states([counting.state() for counting in countings], facts))
    return {"bytes": countings[0].num_bytes}


def _open_part(arguments: dict[str, Any]) -> tuple[Place, CorpusPlan, int]:
    folder, plan = open_plan(arguments, schema=SCHEMA)
    part = int(arguments["part"])
    plan.check_unchanged(part)
    return folder, plan, part


def _count(
    documents: Iterable[Document],
    tokenizers: Sequence[Tokenizer],
    plan: CorpusPlan,
    context: TaskContext,
    *,
    num_checked: int,
    passes: int,
    whole_groups: Sequence[str],
    bytes_before: int = 0,
) -> list[CountingState]:
    """Count the documents with each tokenizer, reading each document once."""
    with ThreadPoolExecutor(context.threads, "worker") as executor:
        countings = [
            Counting(
                tokenizer,
                threads=context.threads,
                run=map if context.threads == 1 else executor.map,
                means=plan.settings["means"],
                whole_groups=whole_groups,
                num_checked=num_checked,
            )
            for tokenizer in tokenizers
        ]
        for batch in batches(documents):
            for counting in countings:
                counting.add(batch)
            context.tell((bytes_before + countings[0].num_bytes) // passes)
        return [counting.state() for counting in countings]


def _publish(place: Place, data: bytes) -> None:
    with tempfile.TemporaryDirectory(prefix="tokbench-part-") as temporary:
        path = Path(temporary) / place.name
        path.write_bytes(data)
        place.put(path)
