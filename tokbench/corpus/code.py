"""Recognise program code: by the folder or extension of a file, or the group that a record names."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from tokbench.corpus.groups import stands_below

if TYPE_CHECKING:
    from tokbench.corpus.files import CorpusFile

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


def is_code_file(file: CorpusFile) -> bool:
    """Whether all documents of a file are program code: it stands in a folder `code`, or has such an extension."""
    suffix = PurePath(file.plain_name).suffix.lower().removeprefix(".")
    return suffix in _EXTENSIONS or stands_below(file, "code")


def is_code_name(group: str) -> bool:
    """Whether a group that a record names is a programming language.

    >>> is_code_name("Python"), is_code_name("Latin")
    (True, False)
    """
    return group.lower() in _NAMES
