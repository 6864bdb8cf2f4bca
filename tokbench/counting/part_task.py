"""The plan of a word count, and the task that counts the words of one part of the corpus."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.config import build_config
from tokbench.core.counted_words import PART_SEED, PARTS, TrainsOnWords, WordArrays, WordTotals
from tokbench.corpus.bytes import bounds_in
from tokbench.distributed.corpus_plan import PART_BYTES, plan_of
from tokbench.distributed.plan_folder import open_plan
from tokbench.errors import ConfigError, CorpusError
from tokbench.registry import get_backend
from tokbench.words.parquet import open_writer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.core.counted_words import WordCounter, WordCounting
    from tokbench.core.progress import Progress
    from tokbench.corpus.corpus import Corpus
    from tokbench.distributed.corpus_plan import CorpusPlan
    from tokbench.distributed.tasks import TaskContext
    from tokbench.words.parquet import WordsWriter

SCHEMA = "tokbench.words.plan/1"
PART_MEMORY = 1 << 30
"""The bytes that the table of a part may take before it is written out and cleared."""


def make_plan(
    corpus: Corpus,
    *,
    backend: str,
    options: Mapping[str, Any],
    cuts_at_lines: bool,
    part_bytes: int = PART_BYTES,
) -> CorpusPlan:
    """Divide a corpus into parts of about `part_bytes` bytes, whose words a backend counts.

    Args:
        corpus: the documents.
        backend: the name of the backend that counts.
        options: its options, as JSON.
        cuts_at_lines: whether its words allow cutting a document between two lines.
        part_bytes: as for `tokbench.distributed.corpus_plan.plan_of`.

    Raises:
        CorpusError: a file can be read only once, or not at all.
    """
    return plan_of(
        corpus,
        schema=SCHEMA,
        settings={"backend": backend, "options": dict(options)},
        cuts_at_lines=cuts_at_lines,
        part_bytes=part_bytes,
    )


def part_name(part: int) -> str:
    """Return the name of the file of a part's words, in the folder of the counting."""
    return f"parts/part-{part:05}.parquet"


def count_part(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Count the words of a part, and publish them as one file, divided by their hashes.

    Args:
        arguments: folder, with the plan; plan, its id; part, its number; memory, the limit of the table in bytes.
        context: the task's context.

    Returns:
        The totals of the part, which are also in its file.

    Raises:
        CorpusError: a file cannot be read, or has changed.
    """
    folder, plan = open_plan(arguments, schema=SCHEMA)
    part, counting = int(arguments["part"]), counting_of(plan)
    counter = counting.new_counter(threads=context.threads, seed=PART_SEED)
    plan.check_unchanged(part)
    corpus = plan.corpus(part)
    with tempfile.TemporaryDirectory(prefix="tokbench-part-") as temporary:
        path = Path(temporary) / "part.parquet"
        with open_writer(path, is_soon_read=True) as writer:
            spill = Spill(
                counting,
                counter,
                writer,
                memory=int(arguments["memory"]),
                progress=lambda _phase, done, _total, _unit: context.tell(done),
            )
            try:
                counting.count(counter, corpus, progress=spill)
            except CorpusError:
                if not _is_without_text(corpus):
                    raise
                counter.finish()
            spill.write()
            plan.check_unchanged(part)
            totals = WordTotals(
                documents=counter.documents - _num_continued(corpus),
                num_bytes=counter.num_bytes,
                words=spill.words,
                too_long=getattr(counter, "too_long", 0),
            )
            result = {**asdict(totals), **corpus.problems.counters()}
            writer.tell({"plan": plan.id, "part": part, "totals": result, "parts_of_groups": spill.parts})
        (folder / part_name(part)).put(path)
    return result


def counting_of(plan: CorpusPlan) -> WordCounting:
    """Return how the backend of a plan counts. Raises `ConfigError`, `UnknownBackendError`."""
    name, options = plan.settings["backend"], plan.settings["options"]
    backend = get_backend(name)
    if not isinstance(backend, TrainsOnWords):
        raise ConfigError(f"the backend {name!r} does not train on counted words", hint="train it on text")
    return backend.word_counting(build_config(backend.config_type, options, where=f"the backend {name!r}"))


def _is_without_text(corpus: Corpus) -> bool:
    """Whether a part has no document, which is not an error: other parts may have some."""
    try:
        return next(iter(corpus), None) is None
    except CorpusError as error:
        return error.message == corpus.no_document().message


def _num_continued(corpus: Corpus) -> int:
    """Return the number of documents of a part that began in the previous part, and are counted there."""
    if corpus.options.documents != "file":
        return 0
    spans = [file for file in corpus.files if file.kind == "text" and file.span and file.span.start > 0]
    return sum(begin < end for begin, end in map(bounds_in, spans))


class Spill:
    """Progress callback of a count that spills the counter's table to a file of words when it has grown too large.

    Attributes:
        words: the number of word occurrences that were written.
        parts: the hash part of each row group that was written.
    """

    def __init__(
        self,
        counting: WordCounting,
        counter: WordCounter,
        writer: WordsWriter,
        *,
        memory: int,
        progress: Progress,
    ) -> None:
        """Start with nothing written.

        Args:
            counting: drains the counter.
            counter: a counter whose parts are those of `PART_SEED`.
            writer: the writer of the file.
            memory: the limit of the table in bytes.
            progress: called with the same arguments as this object.
        """
        self.words = 0
        self.parts: list[int] = []
        self._counting, self._counter, self._writer = counting, counter, writer
        self._memory, self._progress = memory, progress

    def __call__(self, phase: str, done: int, total: int | None, unit: str) -> None:
        """See `tokbench.core.progress.Progress`."""
        self._progress(phase, done, total, unit)
        if self._counter.memory > self._memory:
            self.write()

    def write(self) -> None:
        """Write out the counted words, and clear them."""
        self._counting.drain(self._counter)
        for part in range(PARTS):
            words = WordArrays(*self._counter.arrays(part, part + 1))
            self.words += int(words.counts.sum())
            self.parts += [part] * self._writer.write(words)
        self._counter.clear_counts()
