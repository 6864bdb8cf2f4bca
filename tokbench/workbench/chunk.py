"""Cut documents into chunks of at most N tokens."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.chunking import Chunk, chunks_of
from tokbench.core.tokens import SpecialPolicy
from tokbench.workbench.encode import naming_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokbench.core.interfaces import Tokenizer
    from tokbench.corpus.inputs import TextInput


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A chunk and its place in the input.

    Attributes:
        source: name of the document in messages.
        document: index of the document.
        number: index of the chunk within the document.
        chunk: the chunk.
    """

    source: str
    document: int
    number: int
    chunk: Chunk

    def to_json(self) -> dict[str, Any]:
        """Return a line of the JSONL output."""
        return {
            "schema": "tokbench.chunk/1",
            "source": self.source,
            "document": self.document,
            "chunk": self.number,
            **asdict(self.chunk),
        }


def chunk_texts(
    tokenizer: Tokenizer,
    inputs: Iterable[TextInput],
    *,
    max_tokens: int,
    overlap: int = 0,
    respect: str | None = None,
    special: SpecialPolicy = SpecialPolicy.TEXT,
    template: bool = False,
) -> Iterator[ChunkRecord]:
    """Yield the chunks of each text; arguments and errors are those of `tokbench.core.chunking.chunks_of`."""
    for document, item in enumerate(inputs):
        with naming_place(item):
            chunks = chunks_of(
                tokenizer,
                item.text,
                max_tokens=max_tokens,
                overlap=overlap,
                respect=respect,
                special=special,
                template=template,
            )
            for number, chunk in enumerate(chunks):
                yield ChunkRecord(item.source, document, number, chunk)
