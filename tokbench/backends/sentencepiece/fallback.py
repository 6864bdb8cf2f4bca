"""The kernel in Python: the interface of `_sentencepiece_training`, implemented by the reference."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.backends.sentencepiece import reference
from tokbench.backends.sentencepiece.reference import BOUNDARY, RESERVED, PieceRules, alphabet, segments_of
from tokbench.core.alternatives import longest_first
from tokbench.core.base import utf8
from tokbench.core.counting_fallback import PythonWords
from tokbench.core.special_tokens import SpecialTokenFinder
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.word_input import COUNTS_TOLD
from tokbench.formats.sentencepiece.model import SPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


class WordCounter(PythonWords):
    """A counter of the words of lines; see `tokbench.backends.sentencepiece.kernel.WordCounter`."""

    def __init__(
        self,
        *,
        dummy_prefix: bool,
        collapse: bool,
        whole_lines: bool,
        special_tokens: Sequence[str],
        threads: int,
        seed: int = 0,
    ) -> None:
        """Create an empty counter; it uses a single thread, whatever `threads` is."""
        del threads, seed
        self._dummy_prefix, self._collapse, self._whole_lines = dummy_prefix, collapse, whole_lines
        self._finder = SpecialTokenFinder(special_tokens)
        self._counts: Counter[str] = Counter()

    @property
    def counts(self) -> Counter[str]:
        """The words and their counts."""
        return self._counts

    def add_counted(self, word: str, count: int) -> None:
        """Add occurrences of a word that the caller counted."""
        self.counts[word] += count

    @property
    def words(self) -> int:
        """The number of words counted."""
        return self.counts.total()

    @property
    def distinct(self) -> int:
        """The number of distinct words."""
        return len(self.counts)

    def add_texts(self, texts: Iterable[str]) -> None:
        """Add whole documents."""
        for text in texts:
            self.num_bytes += len(utf8(text))
            self.documents += bool(text)
            for part in self._finder.cut(text, special=SpecialPolicy.ENCODE):
                if not part.is_special:
                    self._add_part(part.text)

    def finish(self) -> None:
        """End the counting; nothing is added afterwards."""

    def _add_part(self, text: str) -> None:
        spaced = text if self._collapse else text.replace(SPACE, " ")
        for line in spaced.replace(RESERVED, "\n").split("\n"):
            stripped = line.rstrip("\r")
            if stripped:
                self.counts.update(self._words(stripped))

    def _words(self, line: str) -> Iterator[str]:
        prefix = " " if self._dummy_prefix else ""
        if self._whole_lines:
            yield prefix + line
        elif self._collapse:
            for i, word in enumerate(filter(None, line.split(" "))):
                yield (prefix if i == 0 else " ") + word
        else:
            yield from re.findall(" *[^ ]+| +", prefix + line)


@dataclass(frozen=True, slots=True)
class TrainingText:
    """The segments of counted words, the alphabet, and the rules for pieces."""

    segments: Counter[str]
    occurrences: Mapping[str, int]
    num_characters: int
    rules: PieceRules
    too_many: Sequence[int] = ()

    @property
    def distinct(self) -> int:
        """The number of distinct segments."""
        return len(self.segments)

    @property
    def is_blank(self) -> bool:
        """Whether the text has no characters except spaces."""
        return self.occurrences.keys() <= {SPACE}

    @property
    def alphabet(self) -> int:
        """The number of characters in the alphabet, of which pieces consist."""
        return len(self.occurrences)

    @property
    def characters(self) -> list[tuple[str, int]]:
        """The characters of the alphabet in ascending order with their counts."""
        return sorted(self.occurrences.items())


def training_text(
    counter: WordCounter,
    *,
    starts: object,
    scripts: object,
    charsmap: bytes,
    collapse: bool,
    symbols: Sequence[str],
    coverage: float,
    required: Sequence[int],
    most_codes: int,
    **rules: Any,
) -> TrainingText:
    """Normalize the words of a counter and split them into segments."""
    del starts, scripts  # `reference.py` has its own tables
    piece_rules = PieceRules(**rules)
    normalize = _normalizer(charsmap)
    symbol_pattern = re.compile(longest_first(symbols))
    words: Counter[str] = Counter()
    characters: Counter[str] = Counter()
    for word, count in counter.counts.items():
        normal = normalize(word)
        if collapse and charsmap:
            normal = _collapsed(normal, begins_line=not word.startswith(" "))
        parts = symbol_pattern.split(normal.replace(" ", SPACE))
        if len(parts) > 1:
            characters[BOUNDARY] += count * (len(parts) - 1)
        for part in parts:
            words[part] += count
            for c in part:
                characters[c] += count
    del characters["\0"], characters[RESERVED]
    known = alphabet(characters, coverage=coverage, required="".join(map(chr, required)))
    occurrences = {character: characters[character] for character in known}
    unknown = dict.fromkeys(map(ord, {*characters} - known), "\0")  # a character that no piece contains
    segments = segments_of(_translated(words, unknown), piece_rules)
    codes = [0] * (COUNTS_TOLD + 1)
    for segment, count in segments.items():
        codes[min(count, COUNTS_TOLD)] += len(segment) + 1
    if sum(codes) >= most_codes:
        return TrainingText(Counter(), occurrences, characters.total(), piece_rules, codes)
    return TrainingText(segments, occurrences, characters.total(), piece_rules)


def train_bpe(
    text: TrainingText, *, num_pieces: int, threads: int, progress: Callable[[int], object] | None = None
) -> list[str]:
    """Learn pieces by merging pairs of pieces."""
    del threads
    pieces = reference.learn(text.segments, text.rules, num_pieces=num_pieces)
    if progress is not None:
        progress(len(pieces))
    return pieces


def _normalizer(charsmap: bytes) -> Callable[[str], str]:
    if not charsmap:
        return lambda text: text
    from tokbench.libraries.sentencepiece.normalization import Normalizer

    no_options = dict.fromkeys(
        ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces", "treat_whitespace_as_suffix"),
        False,
    )
    normalizer = Normalizer(charsmap, [], **no_options)
    return lambda text: normalizer.normalize(text.encode()).decode()


def _collapsed(word: str, *, begins_line: bool) -> str:
    """Collapse runs of spaces; remove the space at the end, and at the beginning if the word begins a line."""
    word = re.sub(" +", " ", word).removesuffix(" ")
    return word.removeprefix(" ") if begins_line else word


def _translated(words: Counter[str], table: dict[int, str]) -> Counter[str]:
    translated: Counter[str] = Counter()
    for word, count in words.items():
        translated[word.translate(table)] += count
    return translated
