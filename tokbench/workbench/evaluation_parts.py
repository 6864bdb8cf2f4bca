"""Evaluate tokenizers on a corpus in parts, on an engine: the counts of parts add up exactly."""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress
from tokbench.distributed.corpus_plan import PART_BYTES, plan_of, refuse_unshared
from tokbench.distributed.plan_folder import begin
from tokbench.distributed.tasks import Slice, results_in_order
from tokbench.errors import ConfigError, ModelFormatError
from tokbench.evaluation.corpus_scan import all_problems, documents_in, joined_notes, num_checked, read_notes
from tokbench.evaluation.evaluated_tokenizer import CountedCandidate
from tokbench.evaluation.provenance import knows_training_text
from tokbench.evaluation.units import align
from tokbench.files.storage.folder_lock import locked
from tokbench.files.storage.open import place_of, refuse_unwritable
from tokbench.shards.plan import identity_of
from tokbench.workbench.evaluation_tasks import (
    SCHEMA,
    Range,
    add_up,
    has_counts,
    missing_sums,
    notes_name,
    size_of,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.core.documents import LineIdentity, TextIdentity
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus, Document
    from tokbench.distributed.corpus_plan import CorpusPlan
    from tokbench.distributed.plan_folder import Share
    from tokbench.distributed.tasks import Engine
    from tokbench.evaluation.candidates import Candidate
    from tokbench.evaluation.corpus_scan import KnownCorpus, PartNotes
    from tokbench.evaluation.fidelity import Failure
    from tokbench.evaluation.units import Alignment
    from tokbench.files.storage.place import Place
    from tokbench.workbench.open import NamedTokenizer

_NOTE_TASK = "tokbench.workbench.evaluation_tasks:note_part"
_COUNT_TASK = "tokbench.workbench.evaluation_tasks:count_part"
_SUM_TASK = "tokbench.workbench.evaluation_tasks:sum_parts"
_AGAIN = "--parts names another folder"
_MAX_NOTES_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class EvaluationWork:
    """How to evaluate tokenizers in parts.

    Attributes:
        engine: runs the parts.
        named: how workers open the tokenizers, in the same order.
        folder: a path or URL that every worker can write to, which keeps the counts; None for a temporary folder.
        part_bytes: size of a part in bytes of its files.
        resume: whether to continue an interrupted run.
        share: count only these parts, and compute no figures.
    """

    engine: Engine
    named: tuple[NamedTokenizer, ...]
    folder: str | None = None
    part_bytes: int = PART_BYTES
    resume: bool = False
    share: Share | None = None

    @contextmanager
    def place(self) -> Iterator[Place]:
        """Lock the folder while the block runs and yield it. Raises `StoreError`."""
        if self.folder is not None:
            is_for_others = self.share is not None or not self.engine.is_in_process
            refuse_unwritable(self.folder, is_for_others=is_for_others)
            with locked(place_of(self.folder), is_shared=self.share is not None):
                yield place_of(self.folder)
            return
        with tempfile.TemporaryDirectory(prefix="tokbench-parts-") as folder:
            yield place_of(folder)


@contextmanager
def evaluating(
    corpus: Corpus,
    tokenizers: Sequence[Tokenizer],
    work: EvaluationWork,
    *,
    means: bool = False,
    groups_first: bool = False,
    progress: Progress = no_progress,
) -> Iterator[PartedCorpus]:
    """Divide a corpus into parts; counts can be requested within the block.

    Args:
        corpus: files that every worker can read.
        tokenizers: the opened tokenizers of `work.named`.
        work: how to evaluate in parts.
        means: whether means over documents will be requested.
        groups_first: whether the groups are needed before anything is counted.
        progress: called with how much of the work is done.

    Raises:
        CorpusError: a file can be read only once, or there is no document.
        StoreError: the folder holds something else, is in use, or cannot be written.
        DistributedError: parts failed; the others are kept, for `resume`.
    """
    refuse_unshared(corpus, work.engine)
    plan = plan_of(
        corpus,
        schema=SCHEMA,
        settings={
            "tokenizers": [
                named.document(identity_of(tokenizer))
                for named, tokenizer in zip(work.named, tokenizers, strict=True)
            ],
            "means": means,
            "lines": any(map(knows_training_text, tokenizers)),
            "parallel": sorted(corpus.parallel_groups()),
        },
        part_bytes=work.part_bytes,
    )
    with work.place() as folder:
        begin(
            plan,
            folder,
            option="--parts",
            resume=work.resume or work.share is not None,
            is_alone=work.share is None,
            again=_AGAIN,
        )
        parted = PartedCorpus(corpus, plan, folder, work)
        # Aligned lines must be known for all parts before one is counted; without them everything is read only once.
        if groups_first or plan.settings["parallel"]:
            parted.read(progress=progress)
        yield parted


class PartedCorpus:
    """A corpus that is read and counted in parts; afterwards it has the same attributes as `CorpusScan`."""

    def __init__(self, corpus: Corpus, plan: CorpusPlan, folder: Place, work: EvaluationWork) -> None:
        """Store the arguments; nothing is read yet."""
        self._corpus, self._plan, self._folder, self._work = corpus, plan, folder, work

    @property
    def num_parts(self) -> int:
        """Number of parts."""
        return len(self._plan.parts)

    def read(self, *, progress: Progress) -> None:
        """Write the notes of the parts that have none yet. Raises `DistributedError`."""
        missing = [part for part in range(self.num_parts) if not self._has_notes(part)]
        self._run(_NOTE_TASK, [(part, {}) for part in missing], phase="reading", progress=progress)

    @cached_property
    def _all_notes(self) -> list[PartNotes]:
        """The notes of all parts, which must have been written."""
        return [self._notes(part) for part in range(self.num_parts)]

    def _check_documents(self) -> None:
        """Record the problems of reading. Raises `CorpusError` if no part has a document."""
        self._corpus.problems = all_problems(self._all_notes)
        if not sum(notes.documents for notes in self._all_notes):
            raise self._corpus.no_document()

    @cached_property
    def _known(self) -> KnownCorpus:
        self._check_documents()
        return joined_notes(self._all_notes, chain.from_iterable(self._documents()))

    @property
    def groups(self) -> tuple[str, ...]:
        """The sorted group names; this and the following properties are those of `CorpusScan`."""
        return tuple(sorted(self.lines))

    @property
    def identity(self) -> TextIdentity:  # noqa: D102
        return self._known.identity

    @property
    def lines_read(self) -> LineIdentity:  # noqa: D102
        return self._known.lines_read

    @property
    def beginning(self) -> tuple[str, ...]:  # noqa: D102
        return self._known.beginning

    @property
    def lines(self) -> Mapping[str, tuple[str, ...]]:  # noqa: D102
        return self._known.lines

    @cached_property
    def alignment(self) -> Alignment | str:
        """The groups that are translations of each other, line by line, or why there are none."""
        return align(self._known.parallel_lines if self._plan.settings["parallel"] else {})

    def count_parts(self, *, progress: Progress) -> None:
        """Count the parts that are not counted yet. Raises `DistributedError`."""
        alignment = None if isinstance(self.alignment, str) else self.alignment
        checked = list(num_checked(self._documents(), None))
        by_line = checked if alignment is None else list(num_checked(self._documents(), alignment))
        before: Counter[str] = Counter()
        tasks = []
        share = self._work.share
        for part in range(self.num_parts):
            aligned = None
            if alignment is not None:
                aligned = {
                    "languages": alignment.languages,
                    "lines": alignment.lines,
                    "before": {group: before[group] for group in alignment.languages if before[group]},
                }
                before.update(self._all_notes[part].parallel_lines)
            has_notes = self._has_notes(part)
            has_both = has_notes and has_counts(self._folder, Range(part, part + 1), self._plan)
            if (share is None or share.has(part)) and not has_both:
                settings = {
                    "checked": [checked[part], by_line[part]],
                    "aligned": aligned,
                    "notes": not has_notes,
                }
                tasks.append((part, settings))
        self._run(_COUNT_TASK, tasks, phase="counting", progress=progress)

    def count(
        self, names: Sequence[str], candidates: Sequence[Candidate], *, means: bool, progress: Progress
    ) -> list[CountedCandidate]:
        """Count the parts and sum them up in a tree; implements `tokbench.evaluation.evaluated_tokenizer.Counts`."""
        self.count_parts(progress=progress)
        self._check_documents()
        languages = None if isinstance(self.alignment, str) else self.alignment.languages
        for level in missing_sums(self.num_parts, lambda parts: has_counts(self._folder, parts, self._plan)):
            self._sum(level, languages, progress=progress)
        total = self._plan.num_bytes
        countings = add_up(
            self._folder,
            whole(self.num_parts),
            [candidate.tokenizer for candidate in candidates],
            plan=self._plan,
            means=means,
            languages=languages,
            tell=lambda done: progress("adding up", done, total, "bytes"),
        )
        evaluations = [
            replace(found, failures=tuple(map(self._in_whole_file, found.failures)))
            for found in (counting.finish() for counting in countings)
        ]
        by_line = evaluations[len(names) :]
        return [
            CountedCandidate(name, candidate, evaluations[number], by_line[number] if by_line else None)
            for number, (name, candidate) in enumerate(zip(names, candidates, strict=True))
        ]

    def _in_whole_file(self, failure: Failure) -> Failure:
        """Return a failure located by its line in the whole file."""
        head, _, line = failure.source.rpartition(":")
        if head not in self._cut_files or not line.isdecimal():
            return failure
        name, lines_before = self._cut_files[head]
        return replace(failure, source=f"{name}:{int(line) + lines_before}")

    @cached_property
    def _cut_files(self) -> Mapping[str, tuple[str, int]]:
        """Name of a part of a file → name of the file, and its number of lines in earlier parts."""
        lines_before: Counter[int] = Counter()
        found = {}
        for part, notes in zip(self._plan.parts, self._all_notes, strict=True):
            for file_part, lines in zip(part, notes.file_lines, strict=True):
                file, name = self._plan.files[file_part.file], self._plan.name_in(file_part)
                if name != file.name:
                    found[name] = file.name, lines_before[file_part.file]
                lines_before[file_part.file] += lines
        return found

    def _documents(self) -> Iterator[Iterator[Document]]:
        """Yield an iterator over the documents of each part."""
        return (documents_in(self._plan.corpus(part)) for part in range(self.num_parts))

    def _run(
        self, task: str, parts: Sequence[tuple[int, dict[str, Any]]], *, phase: str, progress: Progress
    ) -> None:
        slices = [
            self._plan.slice_of(part, self._arguments(part=part, **arguments)) for part, arguments in parts
        ]
        if slices:
            results_in_order(self._work.engine, task, slices, phase=phase, progress=progress)

    def _sum(self, level: Sequence[Range], languages: Sequence[str] | None, *, progress: Progress) -> None:
        """Add up the files of each range; the files must exist."""
        slices = [
            Slice(
                f"the sum of parts {first + 1} to {last} of {self.num_parts}",
                self._arguments(first=first, last=last, languages=languages),
                max(size_of(self._plan, Range(first, last)), 1),
            )
            for first, last in level
        ]
        results_in_order(self._work.engine, _SUM_TASK, slices, phase="adding up", progress=progress)

    def _arguments(self, **arguments: Any) -> dict[str, Any]:
        """Return arguments of a task with those that all tasks have."""
        return {"folder": str(self._folder), "plan": self._plan.id, **arguments}

    def _notes(self, part: int) -> PartNotes:
        place = self._folder / notes_name(part)
        with place.open() as stream:
            notes, facts = read_notes(stream.read(_MAX_NOTES_BYTES), path=str(place))
        if (facts.get("plan"), facts.get("part")) != (self._plan.id, part):
            raise ModelFormatError(str(place), "the notes of this plan", "notes of another plan")
        if len(notes.file_lines) != len(self._plan.parts[part]):
            raise ModelFormatError(str(place), "the lines of each file", "different ones")
        return notes

    def _has_notes(self, part: int) -> bool:
        if not (self._folder / notes_name(part)).exists():
            return False
        try:
            self._notes(part)
        except ModelFormatError:
            return False
        return True


def evaluate_share(
    corpus: Corpus, tokenizers: Sequence[Tokenizer], work: EvaluationWork, *, means: bool, progress: Progress
) -> int:
    """Count some of the parts of a corpus, as one of several processes; `evaluating` with `resume` then adds all up.

    Args:
        corpus: as for `evaluating`.
        tokenizers: the opened tokenizers.
        work: must have a share and a folder.
        means: whether means over documents will be requested.
        progress: called with how much of the work is done.

    Returns:
        The total number of parts.

    Raises:
        ConfigError: there is no folder.
        StoreError, CorpusError, DistributedError: as `evaluating`.
    """
    if work.folder is None or work.share is None:
        raise ConfigError("some parts are counted into a folder", hint="name it with --parts")
    with evaluating(corpus, tokenizers, work, means=means, progress=progress) as parted:
        parted.count_parts(progress=progress)
        return parted.num_parts
