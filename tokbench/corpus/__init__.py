"""Documents from files, folders and standard input, read as a stream.

A document is a text file, or one of its lines or paragraphs; a record of a `.jsonl` or `.ndjson`
file; a row of a `.parquet` file. Files that end in `.gz`, `.bz2`, `.xz` or `.zst` are decompressed
while they are read. Text is UTF-8; a byte order mark at the start of a file is not part of it.
"""

from __future__ import annotations

from tokbench.corpus.corpus import Corpus
from tokbench.corpus.document import (
    MAX_DOCUMENT_BYTES,
    MOST_DOCUMENT_BYTES,
    CorpusOptions,
    Document,
    DocumentUnit,
    ErrorPolicy,
)
from tokbench.corpus.files import CorpusFile, LeftOut
from tokbench.corpus.fingerprint import Fingerprint
from tokbench.corpus.opening import bundled_corpus, open_corpus
from tokbench.corpus.text import Problems
from tokbench.files.bundled import BundledFile, bundled_files

__all__ = [
    "MAX_DOCUMENT_BYTES",
    "MOST_DOCUMENT_BYTES",
    "BundledFile",
    "Corpus",
    "CorpusFile",
    "CorpusOptions",
    "Document",
    "DocumentUnit",
    "ErrorPolicy",
    "Fingerprint",
    "LeftOut",
    "Problems",
    "bundled_corpus",
    "bundled_files",
    "open_corpus",
]
