"""The files of a corpus: resolution of paths, folders, patterns and URLs."""

from __future__ import annotations

import errno
import os
import stat
from collections import defaultdict
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tokbench.core.wording import printable
from tokbench.corpus.paths import WILDCARDS, expand, files_below, missing_path, status_of, unreadable
from tokbench.errors import CorpusError, ModelFormatError
from tokbench.files.storage.open import is_url, place_of, remote_place
from tokbench.files.untrusted import read_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tokbench.corpus.file_spans import FileSpan
    from tokbench.files.storage.place import Stored
    from tokbench.files.untrusted import Compression

Kind = Literal["text", "jsonl", "parquet"]

STDIN = "<stdin>"

_KINDS: dict[str, Kind] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
_COMPRESSIONS: dict[str, Compression] = {".gz": "gz", ".bz2": "bz2", ".xz": "xz", ".zst": "zst"}
_KNOWN_SUFFIXES = frozenset({".txt", ".text", ".md", ".rst", ".csv", ".tsv", *_KINDS})
"""Suffixes that are never treated as binary in a folder: UTF-16 in such files should be reported, not skipped."""

_MANIFEST = "MANIFEST.toml"
_MOST_MANIFEST_BYTES = 16 << 20
_ABOUT_TEXTS = {
    "COPYING",
    "LANGUAGES",
    "LICENCE",
    "LICENSE",
    "MANIFEST",
    "NOTICE",
    "README",
    "SOURCE",
    "SOURCES",
}


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """A file of a corpus.

    Attributes:
        path: its path, as named by the user or found in a folder.
        name: its name in messages.
        size: bytes on disk; 0 for a stream.
        kind: "text", "jsonl" or "parquet", by its extension.
        compression: "gz", "bz2", "xz", "zst" or None, by its extension.
        below: the components of its path below the named folder; for a file that was named itself, its name.
        stream: whether it can be read only once (standard input, a pipe, a device).
        url: its URL, if it is not on this machine; then `path` serves only for its name and folders.
        span: the part of it to read; None for all. `size` is then about that of the part.
        number: its index among the files of the whole corpus, if it belongs to a part of one.
        named: the path components that determine groups, if `path` is not as the user named it.
    """

    path: Path
    name: str
    size: int
    kind: Kind
    compression: Compression | None
    below: tuple[str, ...]
    stream: bool = False
    url: str | None = None
    span: FileSpan | None = None
    number: int | None = None
    named: tuple[str, ...] | None = None

    @property
    def address(self) -> str:
        """Its path or URL, as `place_of` takes it."""
        return self.url or str(self.path)

    @property
    def is_stdin(self) -> bool:
        """Whether it is standard input."""
        return self.stream and self.name == STDIN

    @property
    def plain_name(self) -> str:
        """Its file name without the extension of its compression: "data.jsonl" for "data.jsonl.zst"."""
        return self.path.name.removesuffix(self.path.suffix) if self.compression else self.path.name


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The numbers of files and folders in the named folders that were not read as text.

    Attributes:
        hidden: files and folders whose name starts with a dot, and `__pycache__`.
        binary: files with a NUL byte near their beginning, and Git LFS pointers that are not named like texts.
        special: sockets, pipes, devices, and broken links.
        unlisted: files that the manifest of their folder does not list, including the manifest.
        about: files beside translations that describe them, such as README.md and SOURCE.txt.
        results: folders below them with saved tokenizers, counted words or shards.
        written: files of the folder to which output is written.
    """

    hidden: int = 0
    binary: int = 0
    special: int = 0
    unlisted: int = 0
    about: int = 0
    results: int = 0
    written: int = 0

    def __str__(self) -> str:
        counts = {
            "hidden": self.hidden,
            "binary": self.binary,
            "special": self.special,
            f"not listed in {_MANIFEST}": self.unlisted,
            "about the translations (README, LICENSE, SOURCE, …)": self.about,
            "with results of tokbench (tokenizers, words, shards)": self.results,
            "in the folder that is written": self.written,
        }
        return ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "nothing"


def find_files(
    paths: Iterable[str | Path], *, is_binary: Callable[[CorpusFile], bool]
) -> tuple[tuple[CorpusFile, ...], LeftOut]:
    """Find the files of paths, folders, patterns, URLs and "-", each once, sorted; and count what was left out.

    Folders are walked recursively, following links to other folders. A pattern (`docs/**/*.md`) matches as in a
    shell, as if each match had been named; `**` matches folders of any depth and follows no links.

    Args:
        paths: files, folders or patterns, also as URLs, or "-" for standard input.
        is_binary: whether a file found in a folder is binary and left out.

    Raises:
        CorpusError: a path is missing or cannot be read; a folder or pattern has no text file.
    """
    finder = _Finder(is_binary)
    for path in paths:
        finder.add(path)
    return finder.found()


class _Finder:
    """Collects files, each once, identified by device and inode."""

    def __init__(self, is_binary: Callable[[CorpusFile], bool]) -> None:
        self._is_binary = is_binary
        self._files: dict[object, CorpusFile] = {}
        self._left: dict[str, set[str]] = defaultdict(set)
        self._listings = Listings()

    def found(self) -> tuple[tuple[CorpusFile, ...], LeftOut]:
        return tuple(sorted(self._files.values(), key=lambda file: file.name)), self._left_out()

    def add(self, named: object) -> None:
        if not isinstance(named, str | os.PathLike):
            hint = "open_corpus(*paths) takes several" if isinstance(named, list | tuple) else None
            raise CorpusError(f"a file must be given as a path, not {type(named).__name__}", hint=hint)
        text = os.fspath(named)
        if not text:
            raise CorpusError(
                "an empty path was named", hint='name a file or folder; "." is the current folder'
            )
        if text == "-":
            self._files.setdefault(STDIN, CorpusFile(Path(text), STDIN, 0, "text", None, (), stream=True))
            return
        if is_url(text):
            local = place_of(text).local
            if local is None:
                self._add_url(text)
                return
            text = str(local)
        path = Path(text)
        status = status_of(path)
        if status is not None:
            self._add_named(path, status)
        elif WILDCARDS.isdisjoint(text):
            raise missing_path(path)
        else:
            self._add_pattern(path)

    def _add_named(self, path: Path, status: os.stat_result) -> None:
        if stat.S_ISDIR(status.st_mode):
            if not self._walk(path):
                raise self._nothing(f"no text files in {path}{os.sep}")
        elif stat.S_ISSOCK(status.st_mode) or stat.S_ISBLK(status.st_mode):
            raise CorpusError(f"{path}: a socket or block device, not a text", hint="name a file or folder")
        else:
            self._keep(_describe(path, (path.name,), status), status)

    def _add_pattern(self, pattern: Path) -> None:
        anchor = Path(pattern.anchor)
        matches = sorted(set(expand(anchor, pattern.relative_to(anchor).parts)))
        found = 0
        for path in matches:
            status = status_of(path)
            if status is not None and stat.S_ISDIR(status.st_mode):
                found += self._walk(path)
            elif status is not None and stat.S_ISREG(status.st_mode):
                self._add_named(path, status)
                found += 1
            else:
                self._left["special"].add(str(path))
        if not found:
            raise self._nothing(f"no text files match {pattern}" if matches else f"nothing matches {pattern}")

    def _add_url(self, url: str) -> None:
        """Add a file, a folder or a pattern given as a URL."""
        place = remote_place(url)
        try:
            try:
                self._keep_stored(place.stat(), Path(place.name), is_named=True)
                return
            except FileNotFoundError:
                found = place.files() if WILDCARDS.isdisjoint(url) else place.matches()
        except OSError as error:
            raise unreadable(url, error) from error
        if not found:
            raise CorpusError(
                f"{url} does not exist", hint="check the address; a folder exists there only with files in it"
            )
        kept = [
            self._keep_stored(file, Path(str(file.place)).relative_to(_literal_part(url)), is_named=False)
            for file in found
        ]
        if not any(kept):
            raise self._nothing(f"no text files in {url}")

    def _keep_stored(self, stored: Stored, below: Path, *, is_named: bool) -> bool:
        url = str(stored.place)
        file = _described(
            Path(url), printable(url), size=stored.size, below=below.parts, stream=False, url=url
        )
        if not is_named and is_about_translations(file.path):
            self._left["about"].add(url)
            return False
        if not is_named and self._looks_binary(file):
            self._left["binary"].add(url)
            return False
        self._files.setdefault(url, file)
        return True

    def _looks_binary(self, file: CorpusFile) -> bool:
        return Path(file.plain_name).suffix.lower() not in _KNOWN_SUFFIXES and self._is_binary(file)

    def _walk(self, root: Path) -> int:
        """Keep the text files below a folder; return their number, including files that were kept before."""
        number = 0
        for path in files_below(root, hidden=self._left["hidden"], results=self._left["results"]):
            status = status_of(path)
            if status is None or not stat.S_ISREG(status.st_mode):
                self._left["special"].add(str(path))
                continue
            if self._listings.leave_out(path, root=root):
                self._left["unlisted"].add(str(path))
                continue
            if is_about_translations(path):
                self._left["about"].add(str(path))
                continue
            file = _describe(path, path.relative_to(root).parts, status)
            if self._looks_binary(file):
                self._left["binary"].add(str(path))
            else:
                self._keep(file, status)
                number += 1
        return number

    def _keep(self, file: CorpusFile, status: os.stat_result) -> None:
        if not os.access(file.path, os.R_OK):
            raise unreadable(file.name, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
        # Some file systems have no inode numbers; there a file is identified by its path.
        identity = (status.st_dev, status.st_ino) if status.st_ino else file.path.resolve()
        self._files.setdefault(identity, file)

    def _left_out(self) -> LeftOut:
        return LeftOut(**{reason: len(paths) for reason, paths in self._left.items()})

    def _nothing(self, message: str) -> CorpusError:
        left_out = self._left_out()
        if left_out == LeftOut():
            return CorpusError(message, hint="name a file with text, or a folder that contains one")
        return CorpusError(message, hint=f"left out: {left_out}; a file that is named itself is always read")


def _describe(path: Path, below: tuple[str, ...], status: os.stat_result) -> CorpusFile:
    regular = stat.S_ISREG(status.st_mode)
    size = status.st_size if regular else 0
    return _described(path, printable(str(path)), size=size, below=below, stream=not regular)


def _described(
    path: Path, name: str, *, size: int, below: tuple[str, ...], stream: bool, url: str | None = None
) -> CorpusFile:
    compression = _COMPRESSIONS.get(path.suffix.lower())
    suffix = path.with_suffix("").suffix if compression else path.suffix
    return CorpusFile(
        path=path,
        name=name,
        size=size,
        kind=_KINDS.get(suffix.lower(), "text"),
        compression=compression,
        below=below,
        stream=stream,
        url=url,
    )


def _literal_part(url: str) -> Path:
    """Return the part of a URL before the first component with a wildcard."""
    parts = Path(url).parts
    return Path(*takewhile(WILDCARDS.isdisjoint, parts))


def holds_translations(folder: str) -> bool:
    """Whether the files of a folder of this name are translations of one another.

    >>> holds_translations("parallel"), holds_translations("parallel_web"), holds_translations("parallels")
    (True, True, False)
    """
    return folder == "parallel" or folder.startswith(("parallel_", "parallel-"))


def is_about_translations(path: Path) -> bool:
    """Whether a file in a folder of translations describes them, by its name without extensions.

    >>> from pathlib import Path
    >>> is_about_translations(Path("parallel/README.md")), is_about_translations(Path("docs/README.md"))
    (True, False)
    """
    return path.name.partition(".")[0].upper() in _ABOUT_TEXTS and holds_translations(
        path.absolute().parent.name
    )


class Listings:
    """The files that the manifests of folders list; each manifest is read once.

    A manifest is a TOML file with tables `[[file]]`, each with the `path` of a text, as for the bundled texts. A file
    of that name without such tables is an ordinary text. Beside translations, where each file is a language, files
    whose names describe texts (`README.md`, `SOURCE.txt`) are not languages either.
    """

    def __init__(self) -> None:
        self._listed: dict[Path, frozenset[str] | None] = {}

    def leave_out(self, path: Path, *, root: Path) -> bool:
        """Whether the nearest manifest, from the file's folder up to `root`, does not list it; False without one."""
        for folder in path.parents:
            if folder not in self._listed:
                self._listed[folder] = _listed_in(folder)
            listed = self._listed[folder]
            if listed is not None:
                return path.relative_to(folder).as_posix() not in listed
            if folder == root:
                break
        return False


def _listed_in(folder: Path) -> frozenset[str] | None:
    """Return the paths that a folder's manifest lists, None if there is no manifest."""
    import tomllib

    try:
        entries = tomllib.loads(read_regular(folder / _MANIFEST, limit=_MOST_MANIFEST_BYTES).decode())["file"]
        return frozenset(str(entry["path"]) for entry in entries) or None
    except (OSError, ModelFormatError, ValueError, LookupError, TypeError, RecursionError):
        return None
