"""Line-aligned translations: the aligned groups, and their lines as documents."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tokbench.core.progress import files_read
from tokbench.evaluation.units import aligned_unit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from tokbench.corpus import Document

NO_TRANSLATIONS = "the corpus has no folder of translations (parallel/<language>.txt)"

_FEWEST_LINES = 5


@dataclass(frozen=True, slots=True)
class Alignment:
    """Languages whose texts are translations of one another, line by line.

    Attributes:
        languages: sorted names of the groups; at least two.
        lines: number of lines of each group.
        left_out: groups of translations with a different number of lines.
    """

    languages: tuple[str, ...]
    lines: int
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AlignedLines:
    r"""Documents in which each line of a translation is a document; line n of all languages is one resampling unit.

    Line ends and blank lines are dropped. Documents of other groups are unchanged. Premiums and intervals are
    computed from these documents; figures of whole files are counted on the files.

    >>> from tokbench.corpus import Document
    >>> documents = [Document("one\n\ntwo\n", "en", "en.txt"), Document("eins\n\nzwei", "de", "de.txt")]
    >>> lines = list(AlignedLines(documents, Alignment(("de", "en"), 3)))
    >>> [line.text for line in lines], [line.unit for line in lines] == [aligned_unit(n) for n in (1, 3, 1, 3)]
    (['one', 'two', 'eins', 'zwei'], True)
    """

    documents: Iterable[Document]
    alignment: Alignment
    lines_before: Mapping[str, int] = field(default_factory=dict)
    """Group → number of its lines before these documents."""

    @property
    def files_read(self) -> tuple[int, int] | None:
        """Progress of reading the documents' files; None if unknown."""
        return files_read(self.documents)

    def __iter__(self) -> Iterator[Document]:
        languages = frozenset(self.alignment.languages)
        lines_before = Counter(self.lines_before)
        for document in self.documents:
            if document.group not in languages:
                yield document
                continue
            lines = document.text.removesuffix("\n").split("\n")
            for number, line in enumerate(lines, start=1):
                text = line.removesuffix("\r")
                source = document.source if len(lines) == 1 else f"{document.source}, line {number}"
                if text and not text.isspace():
                    unit = aligned_unit(lines_before[document.group] + number)
                    yield replace(document, text=text, source=source, unit=unit)
            lines_before[document.group] += len(lines)


def lines_of(documents: Iterable[Document], groups: Collection[str]) -> dict[str, int]:
    """Count the lines of some groups; the last line of a document counts even without a line feed."""
    lines: Counter[str] = Counter()
    for document in documents:
        if document.group in groups:
            lines[document.group] += document.text.count("\n") + (not document.text.endswith("\n"))
    return dict(lines)


def align(lines: Mapping[str, int]) -> Alignment | str:
    """Return the largest set of languages with the same number of lines, or the reason why there is none.

    >>> align({"de": 20, "en": 20, "fr": 19})
    Alignment(languages=('de', 'en'), lines=20, left_out=('fr',))
    >>> align({"de": 20, "en": 21})
    'the translations do not have the same number of lines'
    """
    if not lines:
        return NO_TRANSLATIONS
    if len(lines) < 2:
        return f"there is one language only: {next(iter(lines))}"
    sizes = Counter(lines.values())
    most = max(sizes, key=lambda size: (sizes[size], size))
    if sizes[most] < 2:
        return "the translations do not have the same number of lines"
    if most < _FEWEST_LINES:
        return f"the translations have {most} lines, too few to compare languages on"
    languages = sorted(group for group, size in lines.items() if size == most)
    return Alignment(tuple(languages), most, left_out=tuple(sorted(set(lines) - set(languages))))
