"""Tasks of evaluating tokenizers in parts: noting a part, counting it, and adding up counts in a tree.

A task adds up a few files, further tasks add up those sums. Sums are of integers, and values kept per document stay in
document order, so the figures do not depend on the tree.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.distributed.plan_folder import open_plan
from tokbench.errors import ModelFormatError
from tokbench.evaluation.corpus_scan import CorpusScan, documents_in, notes_from, notes_of
from tokbench.evaluation.counting_pass import Counting, batches
from tokbench.evaluation.counting_state_file import dump_states, read_facts, read_states
from tokbench.evaluation.units import AlignedLines, Alignment
from tokbench.workbench.open import opened_alike

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tokbench.core.interfaces import Tokenizer
    from tokbench.corpus import Document
    from tokbench.distributed.corpus_plan import CorpusPlan
    from tokbench.distributed.tasks import TaskContext
    from tokbench.evaluation.counting_pass import CountingState
    from tokbench.files.storage.place import Place

MOST_FILES = 8
"""Number of files that one task adds up at most."""


class Range(NamedTuple):
    """Consecutive parts whose counts are in one file: from `first` up to but excluding `last`."""

    first: int
    last: int

    @property
    def name(self) -> str:
        """Name of the file in the folder of the plan.

        >>> Range(3, 4).name, Range(0, 8).name
        ('counts/part-00003.zip', 'sums/parts-00000-00007.zip')
        """
        if self.last - self.first == 1:
            return f"counts/part-{self.first:05}.zip"
        return f"sums/parts-{self.first:05}-{self.last - 1:05}.zip"

    @property
    def facts(self) -> dict[str, Any]:
        """The metadata that identifies the parts in the file."""
        return {"part": self.first} if self.last - self.first == 1 else {"parts": list(self)}

    @property
    def is_sum(self) -> bool:
        """Whether its file is a sum of other files."""
        return self.last - self.first > 1

    def divided(self) -> tuple[Range, ...]:
        """Return the fewest ranges, of equal powers of `MOST_FILES` parts, whose files add up to this one's.

        >>> Range(0, 74).divided()
        (Range(first=0, last=64), Range(first=64, last=74))
        """
        width = 1
        while width * MOST_FILES < self.last - self.first:
            width *= MOST_FILES
        return tuple(
            Range(start, min(start + width, self.last)) for start in range(self.first, self.last, width)
        )


def whole(num_parts: int) -> tuple[Range, ...]:
    """Return the ranges whose files are added up last.

    >>> [len(whole(number)) for number in (1, 8, 9, 64, 65)]
    [1, 8, 2, 8, 2]
    """
    return Range(0, num_parts).divided()


def missing_sums(num_parts: int, is_there: Callable[[Range], bool]) -> list[list[Range]]:
    """Return the missing files of sums, level by level; the files of a level need those of the levels before."""
    levels: list[list[Range]] = []
    wanted = [parts for parts in whole(num_parts) if parts.is_sum]
    while wanted := [parts for parts in wanted if not is_there(parts)]:
        levels.append(wanted)
        wanted = [inner for parts in wanted for inner in parts.divided() if inner.is_sum]
    return levels[::-1]


def add_up(
    folder: Place,
    ranges: Sequence[Range],
    tokenizers: Sequence[Tokenizer],
    *,
    plan: CorpusPlan,
    means: bool,
    languages: Sequence[str] | None,
    tell: Callable[[int], None],
) -> list[Counting]:
    """Add up the counts of some parts.

    Args:
        folder: the folder of their files.
        ranges: the ranges of parts, in order.
        tokenizers: the tokenizers that were counted, in order.
        plan: the plan of the parts.
        means: whether means over documents were counted.
        languages: the languages whose lines were counted separately; None if no lines were.
        tell: called with the bytes of the corpus added up so far.

    Returns:
        The counts of each tokenizer; then, if lines were counted separately, the counts of the lines by tokenizer.

    Raises:
        ModelFormatError: a file is damaged, or has the counts of other tokenizers.
    """
    countings = [Counting(tokenizer, means=means) for tokenizer in tokenizers]
    if languages is not None:
        countings += [Counting(tokenizer, means=means, whole_groups=languages) for tokenizer in tokenizers]
    sizes = [tokenizer.info.vocab_size for tokenizer in tokenizers] * (len(countings) // len(tokenizers))
    done = 0
    for parts in ranges:
        place = folder / parts.name
        with place.open() as stream:
            states = read_states(stream, path=str(place), vocab_sizes=sizes, means=means)
        for counting, state in zip(countings, states, strict=True):
            try:
                counting.take(state)
            except ValueError as error:
                raise ModelFormatError(str(place), "the counts of these tokenizers", str(error)) from None
        done += size_of(plan, parts)
        tell(done)
    return countings


def size_of(plan: CorpusPlan, parts: Range) -> int:
    """Return the approximate size of some parts in bytes."""
    return sum(map(plan.size_of, range(*parts)))


def has_counts(folder: Place, parts: Range, plan: CorpusPlan) -> bool:
    """Whether the file with the counts of some parts of a plan exists and is valid."""
    place = folder / parts.name
    if not place.exists():
        return False
    try:
        with place.open() as stream:
            facts = read_facts(stream, path=str(place))
    except ModelFormatError:
        return False
    return {"plan": plan.id, **parts.facts}.items() <= facts.items()


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
