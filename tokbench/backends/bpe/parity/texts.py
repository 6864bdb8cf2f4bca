"""The training texts and the development texts of the languages in parity-aware training."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.backends.bpe.config import PARITY_RULES
from tokbench.backends.bpe.counting import PretokenCounting
from tokbench.core.documents import GroupedDocuments
from tokbench.core.progress import reading_of
from tokbench.core.training import limits_reported
from tokbench.errors import ConfigError, TrainingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tokbench.backends.bpe.config import BpeConfig
    from tokbench.backends.bpe.kernel import PretokenCounter
    from tokbench.core.documents import GroupedText
    from tokbench.core.progress import Progress

_BATCH_CHARACTERS = 1 << 20


@dataclass(frozen=True, slots=True)
class DevelopmentText:
    """The counts of the development text of one language.

    Attributes:
        counter: the counted pre-tokens.
        lines: the number of lines; the last line counts even without a line feed.
        characters: the number of code points.
    """

    counter: PretokenCounter
    lines: int
    characters: int


@dataclass(frozen=True, slots=True)
class Development:
    """The development texts of some languages.

    Attributes:
        texts: the counts by language, sorted.
        left_out: the languages whose number of lines differs from that of most languages, sorted.
    """

    texts: Mapping[str, DevelopmentText]
    left_out: tuple[str, ...] = ()

    def divisors(self, rule: str) -> list[int]:
        """Return by which number the token count of each language is divided under a rule of `PARITY_RULES`."""
        match rule:
            case "tokens-per-byte":
                return [text.counter.num_bytes for text in self.texts.values()]
            case "tokens-per-character":
                return [text.characters for text in self.texts.values()]
            case _:
                return [1] * len(self.texts)


def open_development(config: BpeConfig, *, progress: Progress) -> Development:
    """Count the folder of development text that a configuration names.

    Raises:
        CorpusError: a file cannot be read.
        ConfigError: the folder has fewer than two languages, or no two of them have the same number of lines
            and the rule compares lines.
    """
    from tokbench.corpus import open_corpus

    corpus = open_corpus(str(config.parity), group_by="path")
    texts = _Texts(config)
    lines: Counter[str] = Counter()
    characters: Counter[str] = Counter()

    def note(group: str, text: str) -> None:
        lines[group] += text.count("\n") + (not text.endswith("\n"))
        characters[group] += len(text)

    texts.add(corpus.documents(), report=_quiet(progress), note=note)
    counters = texts.finished()
    found = {name: DevelopmentText(counters[name], lines[name], characters[name]) for name in counters}
    kept = _aligned(lines) if config.parity_rule == PARITY_RULES[0] else sorted(found)
    if len(found) < 2:
        raise ConfigError(
            f"{config.parity} has text of one language only: {', '.join(found)}",
            hint="put a file or a folder for each language there",
        )
    if len(kept) < 2:
        raise ConfigError(
            f"no two languages of {config.parity} have the same number of lines",
            hint="tokens are compared line by line; --parity-rule tokens-per-byte needs no translations",
        )
    return Development({name: found[name] for name in kept}, tuple(sorted(set(found) - set(kept))))


def count_languages(
    documents: Iterable[str], config: BpeConfig, *, progress: Progress
) -> dict[str, PretokenCounter]:
    """Count the pre-tokens of each group of documents.

    Raises:
        CorpusError: a document cannot be read.
        ConfigError: the documents have no groups.
    """
    if not isinstance(documents, GroupedDocuments):
        raise ConfigError(
            "parity needs the language of each document, and these have no groups",
            hint='train on open_corpus(folder, group_by="path")',
        )
    texts = _Texts(config)
    read = reading_of(documents)
    texts.add(documents.documents(), report=lambda done: progress("counting", *read(done), "bytes"))
    return texts.finished()


class _Texts:
    """The counters of the groups, created as groups appear; each uses a single thread, as there are many."""

    def __init__(self, config: BpeConfig) -> None:
        self._counting = PretokenCounting(config)
        self._seed = config.seed
        self._counters: dict[str, PretokenCounter] = {}
        self._waiting: dict[str, list[str]] = {}
        self._size = self._done = 0

    def add(
        self,
        documents: Iterable[GroupedText],
        *,
        report: Callable[[int], None],
        note: Callable[[str, str], None] = lambda _group, _text: None,
    ) -> None:
        for document in documents:
            self._waiting.setdefault(document.group, []).append(document.text)
            note(document.group, document.text)
            self._size += len(document.text)
            if self._size >= _BATCH_CHARACTERS:
                self._count_waiting()
                report(self._done)
        self._count_waiting()
        report(self._done)

    def finished(self) -> dict[str, PretokenCounter]:
        """Finish the counters, and return them by group, sorted."""
        with limits_reported():
            for counter in self._counters.values():
                counter.finish()
        return dict(sorted(self._counters.items()))

    def _count_waiting(self) -> None:
        for group, texts in self._waiting.items():
            if group not in self._counters:
                self._counters[group] = self._counting.new_counter(threads=1, seed=self._seed)
            self._counting.add(self._counters[group], texts)
            self._done += sum(len(text.encode()) for text in texts)
        self._waiting.clear()
        self._size = 0


def _aligned(lines: Mapping[str, int]) -> list[str]:
    """Return the languages that have the most common number of lines, sorted.

    >>> _aligned({"de": 20, "en": 20, "fr": 19})
    ['de', 'en']
    """
    sizes = Counter(lines.values())
    if not sizes:
        raise TrainingError("there is no development text")
    most = max(sizes, key=lambda size: (sizes[size], size))
    return sorted(name for name, size in lines.items() if size == most)


def _quiet(progress: Progress) -> Callable[[int], None]:
    """Return a report of the progress without a total, for the development text, which is short."""
    return lambda done: progress("reading", done, None, "bytes")
