"""Opening of corpora: files, folders, patterns, standard input or the bundled texts; without the folder to write."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.corpus.bytes import looks_binary, require_zstd
from tokbench.corpus.corpus import Corpus
from tokbench.corpus.document import MAX_DOCUMENT_BYTES, CorpusOptions, group_field
from tokbench.corpus.files import CorpusFile, find_files
from tokbench.corpus.parquet import require_pyarrow
from tokbench.errors import ConfigError, CorpusError, ModelFormatError
from tokbench.files.bundled import corpora_directory
from tokbench.files.storage.open import place_of, within
from tokbench.files.untrusted import LFS_POINTER, open_regular

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokbench.corpus.document import DocumentUnit, ErrorPolicy


def open_corpus(
    *paths: str | Path,
    documents: DocumentUnit = "file",
    text_field: str | Sequence[str] = "text",
    group_by: str = "auto",
    errors: ErrorPolicy = "strict",
    max_document_bytes: int = MAX_DOCUMENT_BYTES,
) -> Corpus:
    r"""Open files, folders and patterns, or standard input ("-"), as a corpus.

    The files are found now and read whenever the corpus is iterated over.

    Args:
        paths: files, which are read whatever they are; folders, which are read recursively except for hidden and
            binary files, files that a MANIFEST.toml there does not list, and folders in them that tokbench has
            written (tokenizers, words, shards); patterns (`docs/**/*.md`), which are expanded as in a shell.
        documents: how text files are split into documents: the whole "file"; its "lines" without their ends
            ("\n" or "\r\n") and without blank lines; or its "paragraphs" between blank lines.
        text_field: the field of a JSON record, or column of a Parquet file, that contains the text; several
            fields are joined by a blank line, as far as a record has them.
        group_by: "auto" (the name after a folder `parallel`, `parallel_…` or `code`, else the Unicode script
            of most letters), "path" (the name after the named folder), "script", "extension" or "field:NAME";
            documents without that field are in the group "(no NAME)".
        errors: how to handle bytes that are not UTF-8: "strict" raises an error, "replace" writes U+FFFD,
            "skip" leaves the document out; `Corpus.problems` counts both. A record without a text (not JSON, or
            without a string in the field) is an error, or left out under "skip".
        max_document_bytes: a longer document is an error, or left out under "skip"; for a record the size of its
            line counts. Plain text files that are read in blocks, as for training a BPE, may be longer.

    Raises:
        CorpusError: a path is missing or cannot be read, or a folder has no text file.
        ConfigError: an option is invalid.
        BackendUnavailableError: a file's format needs a package that is not installed.

    Usage:

        corpus = open_corpus("docs", "data/*.jsonl.zst", documents="paragraphs")
        for document in corpus.documents():
            print(document.source, document.group, len(document.text))
    """
    fields = text_field if isinstance(text_field, str) else tuple(text_field)
    options = CorpusOptions(documents, fields, group_by, errors, max_document_bytes)
    if not paths:
        raise CorpusError("no file or folder was named", hint='name at least one, or "-" for standard input')
    files, left_out = find_files(paths, is_binary=looks_binary)
    for file in files:
        _check_readable(file)
    if group_field(group_by) and all(file.kind == "text" for file in files):
        raise ConfigError(
            f"{files[0].name} is text and has no fields to group by",
            hint="name a .jsonl or .parquet file too",
        )
    return Corpus(files, options=options, left_out=left_out)


def bundled_corpus(*, documents: DocumentUnit = "file", group_by: str = "auto") -> Corpus:
    """Open the bundled texts, grouped by language; without the hard cases of `edge`.

    Args:
        documents: how files are split into documents, as for `open_corpus`.
        group_by: how they are grouped, as for `open_corpus`.

    >>> "python" in {document.group for document in bundled_corpus().documents()}
    True
    """
    directory = corpora_directory()
    return open_corpus(directory / "parallel", directory / "code", documents=documents, group_by=group_by)


def _check_readable(file: CorpusFile) -> None:
    """Raise errors now that reading the file would raise later."""
    if file.compression == "zst":
        require_zstd(file.name)
    if file.kind == "parquet":
        require_pyarrow(file.name)
    if file.size in _POINTER_SIZES and not file.stream and file.url is None and _is_lfs_pointer(file.path):
        raise CorpusError(
            f"{file.name} is a Git LFS pointer: the file itself was not downloaded",
            hint="fetch it with `git lfs pull` in its clone",
        )
    if file.kind == "parquet" and (file.compression or file.stream):
        raise CorpusError(
            f"{file.name}: Parquet is read from plain files only", hint="unpack it to a file first"
        )


_POINTER_SIZES = range(100, 512)
"""The sizes of Git LFS pointers in bytes: other files are not opened to look for one."""


def _is_lfs_pointer(path: Path) -> bool:
    try:
        with open_regular(path) as stream:
            return stream.read(len(LFS_POINTER)) == LFS_POINTER
    except (OSError, ModelFormatError):
        return False  # reading it raises the error


def corpus_of(given: object) -> Corpus:
    """Return a corpus unchanged, or open a path, a pattern or "-" as one.

    Raises:
        CorpusError: it is neither, or the path is missing.
    """
    if isinstance(given, Corpus):
        return given
    if isinstance(given, str | os.PathLike):
        return open_corpus(os.fspath(given))
    hint = "open_corpus(*paths) takes several" if isinstance(given, list | tuple) else None
    raise CorpusError(
        f"a corpus must be a path or come from open_corpus, not {type(given).__name__}", hint=hint
    )


def texts_of(given: object) -> Iterable[str]:
    """Return texts unchanged, or the corpus of a path. Raises `CorpusError` for other types."""
    if isinstance(given, str | os.PathLike):
        return corpus_of(given)
    if isinstance(given, bytes | bytearray) or not isinstance(given, Iterable):
        raise CorpusError(
            f"texts must be an iterable of strings, a corpus or a path, not {type(given).__name__}",
            hint="train([text]), or train(open_corpus(path))",
        )
    return given


def without_folder(corpus: Corpus, folder: str | Path) -> Corpus:
    """Return the corpus without the files of the output folder, which this run or an earlier one writes.

    Args:
        corpus: not modified; returned itself if nothing is left out.
        folder: a path or a URL; it need not exist.

    Raises:
        CorpusError: the corpus has no other files.
    """
    local = place_of(folder).local
    if local is not None and not local.exists():
        return corpus
    is_written = within(folder)
    files = tuple(file for file in corpus.files if file.stream or not is_written(file.address))
    if len(files) == len(corpus.files):
        return corpus
    if not files:
        raise CorpusError(
            f"all files to read are in {folder}, which is the output folder",
            hint="name another folder to write",
        )
    written = len(corpus.files) - len(files)
    return replace(corpus, files=files, left_out=replace(corpus.left_out, written=written))
