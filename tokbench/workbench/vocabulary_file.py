r"""Write a vocabulary to a file: a token a line (TSV), or JSON.

In both the bytes of a token are in hexadecimal, so that every token can be told from every other. Its text is
JSON's in JSON, null where the bytes are not whole characters; in TSV it is one line with escapes, where a backslash
is doubled and `\xNN` is a byte that belongs to no character (`tokbench.inspection.vocabulary_tokens.escaped`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.core.result_json import tokenizer_fields
from tokbench.errors import ConfigError
from tokbench.files.atomic_file import write_file
from tokbench.inspection.vocabulary_tokens import escaped
from tokbench.workbench.search_vocabulary import vocabulary_token_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tokbench.inspection.vocabulary_tokens import VocabularyToken, VocabularyTokens
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


def write_vocabulary(path: Path, vocabulary: VocabularyTokens, *, counts: CorpusCounts | None = None) -> None:
    """Write all tokens in the order of their ids, atomically.

    Args:
        path: a file whose name ends in .tsv or .json.
        vocabulary: the vocabulary.
        counts: how often a corpus has each id; without them there are no frequencies.

    Raises:
        ConfigError: the name ends otherwise.
        StoreError: the file cannot be written.
    """
    import orjson

    check_name(path)
    if path.suffix == ".tsv":
        lines = ("\t".join(row) for row in vocabulary_rows(vocabulary, counts=counts))
        write_file(path, ("\n".join(lines) + "\n").encode())
        return
    document = {
        "schema": SCHEMA,
        "tokenizer": tokenizer_fields(vocabulary.contents.tokenizer.info),
        "tokens": [
            {**vocabulary_token_fields(token), "frequency": _frequency(token, counts)} for token in vocabulary
        ],
    }
    write_file(path, orjson.dumps(document) + b"\n")


def vocabulary_rows(
    vocabulary: Iterable[VocabularyToken], *, counts: CorpusCounts | None = None
) -> Iterator[tuple[str, ...]]:
    """The lines of a TSV in cells, the names of the columns first; what is not known is empty."""
    yield COLUMNS
    for token in vocabulary:
        spelling = None if token.spelling is None else escaped(token.spelling.encode())
        values: tuple[Any, ...] = (
            *(token.id, token.data.hex(), escaped(token.data), token.kind.value, spelling),
            *(token.score, token.rank, _frequency(token, counts)),
        )
        yield tuple("" if value is None else str(value) for value in values)


def _frequency(token: VocabularyToken, counts: CorpusCounts | None) -> int | None:
    return None if counts is None else int(counts.frequencies[token.id])
