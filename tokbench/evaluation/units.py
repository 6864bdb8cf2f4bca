"""The units of evaluation: what the bootstrap draws, the aligned lines of translations, blocks of lines to hold out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import groupby
from typing import TYPE_CHECKING, Literal

import numpy as np

from tokbench.core.progress import files_read

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.corpus import Document

UnitKind = Literal["aligned line", "record", "file"]

_ALIGNED = "\0line "
_RECORD = "\0record "

_FILE, _NAMED, _COUNTED = 1 << 62, 2 << 62, 3 << 62
_BITS_OF_PLACE = 44
"""Bits of a key for the position in a file, which is below 16 TiB."""
_MASK = (1 << 62) - 1


def aligned_unit(number: int) -> str:
    """Return the unit of line `number` of every language, a string that is no valid file name.

    >>> unit_kind(aligned_unit(3)), unit_kind("line 3.txt")
    ('aligned line', 'file')
    """
    return f"{_ALIGNED}{number}"


def record_unit(source: str) -> str:
    """Return the unit of all parts of one record of a file, which is one document.

    >>> unit_kind(record_unit("data.jsonl:17"))
    'record'
    """
    return f"{_RECORD}{source}"


def unit_kind(unit: str) -> UnitKind:
    """Return the kind of a unit; a unit that is neither a line nor a record is the name of a file."""
    if unit.startswith(_ALIGNED):
        return "aligned line"
    return "record" if unit.startswith(_RECORD) else "file"


class UnitKeys:
    """Assigns each document the key of its unit, and records the units that are not single documents.

    Attributes:
        single_documents: number of documents that are units by themselves.
        named: kind → the keys of its units.
        line_groups: groups with aligned lines.
    """

    def __init__(self) -> None:
        self.single_documents = 0
        self.named: dict[UnitKind, set[int]] = {"aligned line": set(), "record": set(), "file": set()}
        self.line_groups: set[str] = set()
        self._counted = 0

    def of(self, documents: Sequence[Document]) -> NDArray[np.uint64]:
        """Return the keys of the next documents, uint64[D]; without a unit and a place, the running number is used."""
        return _scrambled(np.fromiter(map(self._number, documents), np.uint64, len(documents)))

    def join(self, single_documents: int, named: Mapping[UnitKind, set[int]], line_groups: set[str]) -> None:
        """Add units that were recorded elsewhere."""
        self.single_documents += single_documents
        self.line_groups |= line_groups
        for kind, numbers in named.items():
            self.named[kind] |= numbers

    @property
    def units(self) -> dict[str, int]:
        """Kind of unit → number of units: "aligned lines", "files", "documents" (records included)."""
        found = {
            "aligned lines": len(self.named["aligned line"]),
            "files": len(self.named["file"]),
            "documents": self.single_documents + len(self.named["record"]),
        }
        return {kind: number for kind, number in found.items() if number}

    def _number(self, document: Document) -> int:
        unit, place = document.unit, document.place
        if unit is not None:
            return self._named(unit, document)
        self.single_documents += 1
        if place is not None:
            return (place[0] << _BITS_OF_PLACE | place[1]) & _MASK
        self._counted += 1
        return _COUNTED | self._counted

    def _named(self, unit: str, document: Document) -> int:
        kind = unit_kind(unit)
        if kind == "file" and document.place is not None:
            number = _FILE | document.place[0]
        else:
            digest = blake2b(unit.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            number = _NAMED | int.from_bytes(digest, "little") & _MASK
        self.named[kind].add(number)
        if kind == "aligned line":
            self.line_groups.add(document.group)
        return number


def _scrambled(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread consecutive numbers over the whole range by a bijection, so that distinct numbers stay distinct.

    Source: Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number Generators" (the mixing of SplitMix64).
    """
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


NO_TRANSLATIONS = "the corpus has no folder of translations (parallel/<language>.txt)"

_FEWEST_LINES = 5

_BLOCKS_WANTED = 100
_LONGEST_BLOCK = 20
_PIECES_WANTED = 20
_SHORTEST_PIECE, _LONGEST_PIECE = 200, 2000
"""Limits, in characters, on the pieces that long lines are cut into: a corpus may have no line ends at all."""


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


def aligned_blocks(
    document: Document, count: int, lines_before: Counter[str]
) -> Iterator[tuple[int, int, str]]:
    """Yield the blocks of a translation, numbered across all documents of its language; see `blocks_of`.

    Args:
        document: a document of the language.
        count: number of lines of the language.
        lines_before: language → lines in the documents so far; the lines of this document are added.
    """
    first = lines_before[document.group]
    lines_before.update(lines_of([document], {document.group}))
    return blocks_of(document.text, size=block_size(count), first=first)


def block_size(lines: int) -> int:
    """Return the number of lines per block for a text with this many lines.

    >>> block_size(60), block_size(500), block_size(100_000)
    (1, 5, 20)
    """
    return max(1, min(lines // _BLOCKS_WANTED, _LONGEST_BLOCK))


def blocks_in(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the blocks of a single text, a hundred or more if it has enough lines; see `blocks_of`.

    Lines longer than a twentieth of the text (at least 200, at most 2,000 characters) are cut.
    """
    longest = max(_SHORTEST_PIECE, min(len(text) // _PIECES_WANTED, _LONGEST_PIECE))
    size = block_size(sum(1 for _ in pieces_of(text, longest=longest)))
    return blocks_of(text, size=size, longest=longest)


def blocks_of(
    text: str, *, size: int, first: int = 0, longest: int | None = None
) -> Iterator[tuple[int, int, str]]:
    r"""Divide a text into blocks of lines with their line ends; yield block number, index of its first line, block.

    Args:
        text: the whole text.
        size: number of lines per block.
        first: number of the first line of the text.
        longest: length in characters at which longer lines are cut; None for no limit.

    >>> list(blocks_of("a\nb\nc", size=2))
    [(0, 0, 'a\nb\n'), (1, 2, 'c')]
    >>> list(blocks_of("a\nb\nc", size=2, first=3))
    [(1, 0, 'a\n'), (2, 1, 'b\nc')]
    """
    start = 0
    numbered = enumerate(pieces_of(text, longest=longest or len(text)), start=first)
    for number, lines in groupby(numbered, key=lambda line: line[0] // size):
        block = [line for _, line in lines]
        yield number, start, "".join(block)
        start += len(block)


def pieces_of(text: str, *, longest: int) -> Iterator[str]:
    r"""Yield the lines of a text with their line ends; longer lines in pieces, cut before a space if possible.

    >>> list(pieces_of("a\n\nb", longest=9)), list(pieces_of("one two", longest=5))
    (['a\n', '\n', 'b'], ['one', ' two'])
    """
    start = 0
    while start < len(text):
        stop = text.find("\n", start, start + longest) + 1
        if not stop and len(text) - start > longest:
            stop = text.rfind(" ", start + 1, start + longest)
            stop = stop if stop > start else start + longest
        stop = stop or len(text)
        yield text[start:stop]
        start = stop
