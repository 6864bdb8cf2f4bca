"""Count the words of a corpus, merge earlier counts, and open word counts for training."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from tokbench.config import build_config
from tokbench.core.counted_words import RareWords, TrainsOnWords, WordArrays, WordTotals, frequent_words
from tokbench.core.progress import no_progress
from tokbench.corpus.opening import without_folder
from tokbench.corpus.text import Problems
from tokbench.counting.joining import num_files, parts_of, summing_counter, words_name, write_joined
from tokbench.counting.part_task import make_plan
from tokbench.counting.run import PartTotals, count_all, count_share, index_of, remove_counting
from tokbench.distributed.corpus_plan import PART_BYTES, refuse_unshared
from tokbench.distributed.engines.open import InProcessEngine
from tokbench.errors import ConfigError, ModelFormatError, StoreError
from tokbench.files.storage.folder_lock import locked
from tokbench.files.storage.open import place_of, refuse_unwritable, within
from tokbench.registry import get_backend
from tokbench.words.folder import INDEX_NAME, Fingerprints, WordsFolder
from tokbench.words.opening import open_words
from tokbench.words.parquet import require_pyarrow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.core.counted_words import WordCounter
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.distributed.corpus_plan import CorpusPlan
    from tokbench.distributed.plan_folder import Share
    from tokbench.distributed.tasks import Engine
    from tokbench.files.storage.place import Place
    from tokbench.words.counted_files import CountedFiles
    from tokbench.words.folder import WordsIndex
    from tokbench.words.opening import WordsTable


@dataclass(frozen=True, slots=True)
class CountWordsResult:
    """The result of counting words.

    Attributes:
        folder: the folder of the counts.
        index: index of the finished folder; None if only some parts were counted.
        parts: number of parts in the plan; None if there was no plan.
        counted: totals of the parts that this run knows of; None if nothing was counted.
    """

    folder: str
    index: WordsIndex | None
    parts: int | None = None
    counted: PartTotals | None = None

    @property
    def problems(self) -> Problems:
        """The problems of reading: skipped documents and replaced bytes."""
        return Problems() if self.counted is None else self.counted.problems

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
        counted = None if self.counted is None else self.counted.totals
        return {
            "schema": "tokbench.count-words/1",
            "folder": self.folder,
            "finished": self.index is not None,
            "parts": self.parts,
            "counted": None
            if counted is None
            else {"documents": counted.documents, "bytes": counted.num_bytes, "words": counted.words},
            "words": None if self.index is None else self.index.to_json(),
        }


def count_words(
    corpus: Corpus,
    *,
    out: str,
    backend: str = "bpe",
    options: Mapping[str, Any],
    engine: Engine,
    part_bytes: int = PART_BYTES,
    min_count: int = 1,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress = no_progress,
) -> CountWordsResult:
    """Count the words of a corpus into a folder; training on it gives the same result as training on the text.

    Args:
        corpus: the text; files in `out` are ignored.
        out: the folder, a path or a URL.
        backend: the backend that splits text into words.
        options: its options that affect counting.
        engine: runs the parts.
        part_bytes: maximum size of a part.
        min_count: drop rarer words, after all counts are added up.
        resume: whether to continue an interrupted run.
        overwrite: whether to delete an earlier count in the folder.
        progress: called with how much of the work is done.

    Raises:
        StoreError: the folder holds something else, or cannot be written.
        ConfigError, CorpusError, BackendUnavailableError, DistributedError: as a task raises them.
    """
    refuse_unwritable(out, is_for_others=not engine.is_in_process)
    refuse_unshared(corpus, engine)
    plan = _plan(corpus, out=out, backend=backend, options=options, part_bytes=part_bytes)
    words, counted = count_all(
        plan,
        place_of(out),
        engine=engine,
        min_count=min_count,
        resume=resume,
        overwrite=overwrite,
        progress=progress,
    )
    return CountWordsResult(out, words.index, len(plan.parts), counted)


def count_words_share(
    corpus: Corpus,
    *,
    out: str,
    share: Share,
    threads: int,
    backend: str = "bpe",
    options: Mapping[str, Any],
    part_bytes: int = PART_BYTES,
    progress: Progress = no_progress,
) -> CountWordsResult:
    """Count a share of the parts, as one process of several; `count_words` with `resume` then finishes the folder.

    Args:
        corpus: the whole text; files in `out` are ignored.
        out: the folder that all processes write to.
        share: the parts of this process.
        threads: number of threads to use.
        backend: as for `count_words`, like the following options.
        options: its options.
        part_bytes: maximum size of a part.
        progress: called with how much of the work is done.

    Raises:
        StoreError, ConfigError, CorpusError, BackendUnavailableError, DistributedError: as `count_words`.
    """
    refuse_unwritable(out, is_for_others=True)
    plan = _plan(corpus, out=out, backend=backend, options=options, part_bytes=part_bytes)
    engine = InProcessEngine(threads=threads)
    counted = count_share(plan, place_of(out), share, engine=engine, progress=progress)
    return CountWordsResult(out, None, len(plan.parts), counted)


def merge_words(
    names: Sequence[str],
    *,
    out: str,
    min_count: int = 1,
    overwrite: bool = False,
    progress: Progress = no_progress,
) -> CountWordsResult:
    """Merge word counts, as if their texts had been counted together.

    Args:
        names: folders of `count_words`, and word counts of other programs.
        out: the folder to create.
        min_count: drop rarer words, after all counts are added up.
        overwrite: whether to delete an earlier count in the folder.
        progress: called with the number of files written.

    Raises:
        ConfigError: the words were counted differently or lack rare words, or an input is in the folder to overwrite.
        StoreError: the folder holds something else, or cannot be written.
        CorpusError, ModelFormatError: an input holds no word counts.
    """
    require_pyarrow()
    refuse_unwritable(out)
    sources = [open_words(name) for name in names]
    counting, text = _common(names, sources)
    folder = place_of(out)
    with locked(folder, is_shared=False):
        if overwrite:
            if inside := list(filter(within(out), names)):
                raise ConfigError(
                    f"{inside[0]} would be replaced by the sum",
                    hint="name another folder with --out",
                )
            remove_counting(folder)
        if folder.files():
            raise StoreError(f"{folder} exists", hint="--force replaces it; --out names another folder")
        try:
            index = _write_sums(
                sources, folder, counting=counting, text=text, progress=progress, min_count=min_count
            )
        except BaseException:
            with suppress(StoreError):
                remove_counting(folder)
            raise
    return CountWordsResult(out, index)


def _write_sums(
    sources: Sequence[WordsFolder | WordsTable],
    folder: Place,
    *,
    counting: Mapping[str, Any] | None,
    text: Mapping[str, Any] | None,
    min_count: int,
    progress: Progress,
) -> WordsIndex:
    """Write the sums of word counts into an empty folder, the index last, and return the index."""
    totals = sum(map(_totals, sources), WordTotals(0, 0, 0))
    files = num_files(totals.num_bytes)
    facts = []
    for number in range(files):
        progress("adding up", number, files, "files")
        facts.append(
            write_joined(
                (arrays for source in sources for arrays in source.arrays()),
                folder / words_name(number),
                parts=parts_of(number, files),
                min_count=min_count,
            )
        )
    index = index_of(facts, counting=counting, text=text, corpus=_counted_files(sources), totals=totals)
    (folder / INDEX_NAME).write(index.dump())
    progress("adding up", files, files, "files")
    return index


@dataclass(frozen=True, slots=True)
class TrainingWords:
    """Counted words that a backend learns from; implements `tokbench.core.counted_words.CountedWords`.

    Attributes:
        name: the place of the counts.
        settings: how the words were counted; None if unknown.
        totals: totals of the counted text.
        rare: the words that are skipped because they are rare.
        identify_text: None, as the source text is not identified.
        memory: None, as memory is not bounded.
        seconds: 0, as the words were counted earlier.
    """

    name: str
    settings: Mapping[str, Any] | None
    totals: WordTotals
    rare: RareWords
    _record: Mapping[str, Any]
    _whole: WordsFolder | _SummedWords
    identify_text: None = None
    memory: None = None
    seconds: float = 0.0

    @property
    def backend(self) -> str | None:
        """The backend that split the words; None if unknown."""
        name = (self.settings or {}).get("backend")
        return name if isinstance(name, str) else None

    @property
    def record(self) -> Mapping[str, Any]:
        """The training record: which words these are, and their minimum count."""
        return {**self._record, "min_count": self.rare.min_count}

    def arrays(self) -> Iterator[WordArrays]:
        """Yield the words that are frequent enough, in batches. Raises `TrainingError` if there are none."""
        return frequent_words(self._whole.arrays(), rare=self.rare)


def training_words(name: str, *, min_count: int = 1) -> TrainingWords:
    """Open word counts to train on.

    Args:
        name: a folder of `count_words`, or the word counts of another program.
        min_count: skip rarer words.

    Raises:
        CorpusError, StoreError, ModelFormatError: as `open_words`.
    """
    found, rare = open_words(name), RareWords(min_count)
    if isinstance(found, WordsFolder):
        return TrainingWords(name, found.index.counting, found.totals, rare, found.record, found)
    counter = summing_counter()
    for words in found.arrays():
        try:
            counter.add_arrays(*words)
        except ValueError as error:
            raise ModelFormatError(name, "words in UTF-8 with their counts", str(error)) from None
    whole = _SummedWords(counter)
    return TrainingWords(name, None, found.totals(), rare, whole.record, whole)


@dataclass(frozen=True, slots=True)
class _SummedWords:
    """Words of files that may list a word more than once, with their counts summed."""

    counter: WordCounter

    @property
    def record(self) -> dict[str, Any]:
        fingerprints, distinct = Fingerprints(), 0
        for words in self.arrays():
            fingerprints.update(words)
            distinct += len(words.counts)
        return {"fingerprint": fingerprints.hexdigest(), "distinct": distinct, "dropped": None}

    def arrays(self) -> Iterator[WordArrays]:
        yield WordArrays(*self.counter.arrays())


def _plan(
    corpus: Corpus, *, out: str, backend: str, options: Mapping[str, Any], part_bytes: int
) -> CorpusPlan:
    require_pyarrow()
    chosen = get_backend(backend)
    if not isinstance(chosen, TrainsOnWords):
        raise ConfigError(f"the backend {backend!r} does not train on counted words", hint="train it on text")
    config = build_config(chosen.config_type, options, where=f"the backend {backend!r}")
    return make_plan(
        without_folder(corpus, out),
        backend=backend,
        options=options,
        cuts_at_lines=chosen.word_counting(config).cuts_at_lines,
        part_bytes=part_bytes,
    )


def _common(
    names: Sequence[str], sources: Sequence[WordsFolder | WordsTable]
) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
    """Return how all words were counted and their texts read, as far as known. Raises `ConfigError`."""
    folders = [
        (name, source) for name, source in zip(names, sources, strict=True) if isinstance(source, WordsFolder)
    ]
    for name, folder in folders:
        if folder.index.dropped is not None:
            raise ConfigError(
                f"{name} lacks words below a count of {folder.index.dropped.min_count}: its counts cannot be merged",
                hint="count it without --min-count, which merge-words and train take, too",
            )
    known = [(name, folder) for name, folder in folders if folder.index.counting is not None]
    if not known:
        return None, None
    (first_name, first_folder), *others = known
    counting = first_folder.index.counting or {}
    for name, folder in others:
        if differing := [
            key for key, value in (folder.index.counting or {}).items() if counting.get(key) != value
        ]:
            raise ConfigError(
                f"{first_name} and {name} were counted in different ways: {', '.join(differing)}",
                hint="words can be added up only where these are equal",
            )
    texts = [folder.index.text for _, folder in known]
    return counting, texts[0] if all(text == texts[0] for text in texts) else None


def _counted_files(sources: Sequence[WordsFolder | WordsTable]) -> CountedFiles | None:
    """Return the files that were counted; None if some are unknown."""
    known = [
        source.index.corpus
        for source in sources
        if isinstance(source, WordsFolder) and source.index.corpus is not None
    ]
    return reduce(add, known) if len(known) == len(sources) else None


def _totals(source: WordsFolder | WordsTable) -> WordTotals:
    return source.totals if isinstance(source, WordsFolder) else source.totals()
