r"""Write a vocabulary to a file: a token a line (TSV), or JSON.

In both the bytes of a token are in hexadecimal, so that every token can be told from every other. Its text is
JSON's in JSON, null where the bytes are not whole characters; in TSV it is one line with escapes, where a backslash
is doubled and `\xNN` is a byte that belongs to no character (`tokbench.inspection.entries.escaped`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.core.result_json import tokenizer_fields
from tokbench.errors import ConfigError
from tokbench.files.atomic_file import write_file
from tokbench.inspection.entries import escaped
from tokbench.workbench.search_vocabulary import entry_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tokbench.inspection.entries import Entries, Entry
    from tokbench.lint.corpus_counts import CorpusCounts

SCHEMA = "tokbench.vocabulary/1"
COLUMNS = ("id", "bytes", "text", "kind", "spelling", "score", "rank", "frequency")
_SUFFIXES = (".tsv", ".json")


def check_name(path: Path) -> None:
    """Raise `ConfigError`, before any work, where the name of a file does not say its form."""
    if path.suffix not in _SUFFIXES or path.is_dir():
        raise ConfigError(
            f"{path} does not say which form is meant", hint="--vocab-out takes a file .tsv or .json"
        )


def write_vocabulary(path: Path, entries: Entries, *, counts: CorpusCounts | None = None) -> None:
    """Write all tokens in the order of their ids, atomically.

    Args:
        path: a file whose name ends in .tsv or .json.
        entries: the vocabulary.
        counts: how often a corpus has each id; without them there are no frequencies.

    Raises:
        ConfigError: the name ends otherwise.
        StoreError: the file cannot be written.
    """
    import orjson

    check_name(path)
    if path.suffix == ".tsv":
        lines = ("\t".join(row) for row in vocabulary_rows(entries, counts=counts))
        write_file(path, ("\n".join(lines) + "\n").encode())
        return
    document = {
        "schema": SCHEMA,
        "tokenizer": tokenizer_fields(entries.contents.tokenizer.info),
        "tokens": [{**entry_fields(entry), "frequency": _frequency(entry, counts)} for entry in entries],
    }
    write_file(path, orjson.dumps(document) + b"\n")


def vocabulary_rows(
    entries: Iterable[Entry], *, counts: CorpusCounts | None = None
) -> Iterator[tuple[str, ...]]:
    """The lines of a TSV in cells, the names of the columns first; what is not known is empty."""
    yield COLUMNS
    for entry in entries:
        spelling = None if entry.spelling is None else escaped(entry.spelling.encode())
        values: tuple[Any, ...] = (
            *(entry.id, entry.data.hex(), escaped(entry.data), entry.kind.value, spelling),
            *(entry.score, entry.rank, _frequency(entry, counts)),
        )
        yield tuple("" if value is None else str(value) for value in values)


def _frequency(entry: Entry, counts: CorpusCounts | None) -> int | None:
    return None if counts is None else int(counts.frequencies[entry.id])
