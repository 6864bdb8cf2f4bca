"""A document: one text of a corpus; and the choices of how files become documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tokbench.core.plurals import shortened

DocumentUnit = Literal["file", "lines", "paragraphs"]
"""What a document of a text file is."""

ErrorPolicy = Literal["strict", "replace", "skip"]
"""How bytes that are not UTF-8 are handled: an error, U+FFFD in their place, or without the document."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text of a corpus.

    Attributes:
        text: never empty.
        group: a language, script, extension or whatever else the corpus is grouped by.
        source: what messages call it: "docs/a.txt", or "data.jsonl:17" for a part of a file, by its
            first line or its row.
        unit: what it was drawn with: the file that it was cut from, with its other parts; None where it was
            drawn by itself.
        is_code: whether it is program code, of which alone identifiers are counted.
        place: the number of its file in the corpus, and of its row or first byte there, however the corpus is divided
            into parts; None for a text from elsewhere. Of lines and paragraphs only the file is told.
    """

    text: str
    group: str
    source: str
    unit: str | None = None
    is_code: bool = False
    place: tuple[int, int] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """Short, however long the text is."""
        return f"<document {self.source}, {self.group}: {shortened(self.text)}>"
