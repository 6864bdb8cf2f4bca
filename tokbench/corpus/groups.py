"""The group of a file's documents by the grouping option, and whether they are program code."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from tokbench.core.wording import printable
from tokbench.corpus.document import group_field, no_group
from tokbench.corpus.files import holds_translations

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.corpus.files import CorpusFile

NO_EXTENSION = "(none)"

_EXTENSIONS = frozenset((
    "adb", "ads", "asm", "awk", "bash", "bat", "c", "cc", "cjs", "clj", "cljs", "cmake", "coffee", "cpp", "cr",
    "cs", "css", "cu", "cuh", "cxx", "d", "dart", "el", "elm", "erl", "ex", "exs", "f", "f90", "fs", "fsx",
    "gd", "glsl", "go", "gradle", "groovy", "h", "hh", "hpp", "hs", "hxx", "inl", "ipp", "java", "jl", "js",
    "jsx", "kt", "kts", "less", "lhs", "lisp", "lua", "m", "mjs", "ml", "mli", "mm", "nim", "nix", "pas", "php",
    "pl", "pm", "proto", "ps1", "py", "pyi", "pyx", "r", "rb", "rkt", "rs", "s", "sass", "scala", "scm", "scss",
    "sh", "sol", "sql", "sv", "swift", "tcl", "tf", "ts", "tsx", "v", "vb", "vhd", "vhdl", "vim", "vue", "wat",
    "xsl", "xslt", "zig", "zsh",
))  # fmt: skip
_NAMES = frozenset((
    "ada", "assembly", "awk", "bash", "c", "c#", "c++", "clojure", "cobol", "cpp", "csharp", "css", "cuda", "d",
    "dart", "delphi", "elixir", "elm", "erlang", "f#", "fortran", "fsharp", "go", "golang", "groovy", "haskell",
    "java", "javascript", "js", "julia", "kotlin", "lisp", "lua", "matlab", "nim", "objective-c", "objectivec",
    "ocaml", "pascal", "perl", "php", "powershell", "prolog", "python", "python3", "r", "ruby", "rust", "scala",
    "scheme", "scss", "shell", "solidity", "sql", "swift", "tcl", "tsx", "typescript", "verilog", "vhdl", "vue",
    "zig", "zsh",
))  # fmt: skip


def file_group(file: CorpusFile, group_by: str) -> str | None:
    """Return the common group of a file's documents, or None if each document has its own."""
    match group_by:
        case "auto":
            group = _bundled_group(file)
        case "path":
            group = _bundled_group(file) or (file.below[0] if len(file.below) > 1 else _stem(file))
        case "extension":
            group = PurePath(file.plain_name).suffix.lower().lstrip(".") or NO_EXTENSION
        case _:
            field = group_field(group_by)
            group = no_group(field) if field and file.kind == "text" else None
    return None if group is None else printable(group)


def is_translation(file: CorpusFile) -> bool:
    """Whether a file is in a folder of translations, so that its name is a language."""
    return any(holds_translations(folder) for folder in named_parts(file)[:-1])


def folder_groups(files: Iterable[CorpusFile], group_by: str) -> dict[str, frozenset[str]]:
    """Return the folders `code` and `parallel` that contain files → the groups of their files."""
    groups_of_folders: dict[str, set[str]] = {}
    for file in files:
        group = file_group(file, group_by)
        folder = next(
            (part for part in named_parts(file)[:-1] if part == "code" or holds_translations(part)), None
        )
        if folder is not None and group is not None:
            groups_of_folders.setdefault(folder, set()).add(group)
    return {folder: frozenset(groups) for folder, groups in groups_of_folders.items()}


def _bundled_group(file: CorpusFile) -> str | None:
    """Return the name after a folder `parallel` or `code`: "de" for parallel/de.txt, "python" for code/python/a.py."""
    parts = named_parts(file)
    for folder, entry in pairwise(parts[:-1]):
        if folder == "code" or holds_translations(folder):
            return entry
    is_in_one = len(parts) > 1 and (parts[-2] == "code" or holds_translations(parts[-2]))
    return _stem(file) if is_in_one else None


def named_parts(file: CorpusFile) -> tuple[str, ...]:
    """Return the path components that determine groups: for an absolute path the named folder and those below it.

    A project in ~/code is thus not one group. For a bare file name, the current folder counts if it contains
    translations.
    """
    if file.named is not None:
        return file.named
    parts = file.path.parts
    if file.path.is_absolute() or file.url is not None:
        return parts[-1 - len(file.below) :]
    here = Path.cwd().name
    return (here, *parts) if len(parts) == 1 and not file.stream and holds_translations(here) else parts


def _stem(file: CorpusFile) -> str:
    return "stdin" if file.is_stdin else PurePath(file.plain_name).stem


def is_code_file(file: CorpusFile) -> bool:
    """Whether all documents of a file are program code: it is in a folder `code`, or its extension says so."""
    suffix = PurePath(file.plain_name).suffix.lower().removeprefix(".")
    return suffix in _EXTENSIONS or "code" in named_parts(file)[:-1]


def is_code_name(group: str) -> bool:
    """Whether a group that a record names is a programming language.

    >>> is_code_name("Python"), is_code_name("Latin")
    (True, False)
    """
    return group.lower() in _NAMES
