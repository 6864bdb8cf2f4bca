"""What the commands do with shards: `encode --out`, `decode` of a folder, and `verify`."""

from __future__ import annotations

import os
import re
import sys
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tokbench.cli import completion
from tokbench.cli.corpora import DocumentUnit, chosen_corpus
from tokbench.cli.numbers import tokens_option
from tokbench.cli.opening import TextOpeningChoices
from tokbench.cli.option_groups import taking_groups
from tokbench.cli.options import (
    ColorChoice,
    ColorOption,
    JsonFlag,
    ProgressChoice,
    ProgressOption,
)
from tokbench.cli.texts import TextChoices, tell_problems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.tokens import SpecialPolicy
    from tokbench.corpus import Corpus
    from tokbench.shards.reading import Shards

SHARD_TOKENS = 100_000_000
_FAILED = 3
_RANGE = re.compile(r"([0-9]{1,18})(?::([0-9]{1,18}))?")


class ShardFormat(StrEnum):
    """In which form ids are written."""

    npy = "npy"
    bin = "bin"


class TokenType(StrEnum):
    """The type of an id in a shard."""

    auto = "auto"
    uint16 = "uint16"
    uint32 = "uint32"


OutOption = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Write shards into a folder; the arguments are files and folders."),
]
FormatOption = Annotated[
    ShardFormat, typer.Option(help="Of shards: .npy for numpy.load, or the bare little-endian ids.")
]
DtypeOption = Annotated[
    TokenType, typer.Option(help="Of ids in shards: auto is uint16 where every id is below 65,536.")
]
AppendEosFlag = Annotated[
    bool,
    typer.Option("--append-eos", help="End each document in shards with the tokenizer's end of text."),
]
EosOption = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="The special token for --append-eos, where another is meant."),
]
ShardTokensOption = Annotated[
    int,
    tokens_option(
        help="The most tokens of a shard, as 100_000_000 or 100M; a longer document has one for itself."
    ),
]
DocumentsOption = Annotated[DocumentUnit, typer.Option(help="What a text file falls into, with --out.")]
ThreadsOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Threads, with --out; never changes the result. By default all."),
]
ResumeFlag = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with the shards that an interrupted run left in --out: they are read and checked first, and "
        "the corpus must have the same files, wherever they are now.",
    ),
]
ForceFlag = Annotated[bool, typer.Option("--force", help="Replace the shards in --out.")]
DocumentOption = Annotated[
    str | None,
    typer.Option(metavar="N[:M]", help="Of shards: this document alone, or those from N to before M."),
]

_FOR_SHARDS = (
    *("format", "dtype", "append_eos", "eos", "shard_tokens", "documents", "threads", "resume", "force"),
    "color",
)
_FOR_TEXTS = ("dropout", "seed", "text")


@dataclass(frozen=True, slots=True)
class ShardChoices:
    """What shards are made of, and how they are written."""

    format: FormatOption = ShardFormat.npy
    dtype: DtypeOption = TokenType.auto
    append_eos: AppendEosFlag = False
    eos: EosOption = None
    shard_tokens: ShardTokensOption = SHARD_TOKENS
    documents: DocumentsOption = DocumentUnit.file
    threads: ThreadsOption = None
    resume: ResumeFlag = False
    force: ForceFlag = False

    def encode_files(
        self,
        tokenizer: Tokenizer,
        paths: Sequence[str],
        out: Path,
        *,
        reading: TextChoices,
        special: SpecialPolicy,
        json: bool,
        color: ColorChoice,
        progress: ProgressChoice,
    ) -> None:
        """Write shards and tell what was written. Raises as `tokbench.write_shards`."""
        from tokbench.render.console import make_console, print_json
        from tokbench.render.progress import showing_progress
        from tokbench.render.shards import render_shards
        from tokbench.shards.results import ShardsResult
        from tokbench.shards.writing import write_shards

        started = time.perf_counter()
        with showing_progress(progress.value) as report:
            report("reading", 0, None, "files")
            corpus = self._corpus(paths, reading)
            written = write_shards(
                tokenizer,
                corpus,
                out,
                format=self.format.value,
                dtype=self.dtype.value,
                eos=chosen_eos(append_eos=self.append_eos, eos=self.eos),
                shard_tokens=self.shard_tokens,
                special=special,
                threads=self.threads,
                resume=self.resume,
                overwrite=self.force,
                progress=report,
            )
        seconds = time.perf_counter() - started
        tell_problems(corpus)
        result = ShardsResult(info=tokenizer.info, folder=out, index=written.index.to_json(), seconds=seconds)
        if json:
            print_json(result.to_json())
        else:
            render_shards(result, console=make_console(color=color.value))

    def _corpus(self, paths: Sequence[str], reading: TextChoices) -> Corpus:
        """The corpus of some paths. Raises `CorpusError`, `ConfigError` for an argument that is a text."""
        from tokbench.corpus.inputs import is_text
        from tokbench.errors import ConfigError

        for path in paths:
            if is_text(path):
                raise ConfigError(
                    f"{path[:40]!r} names no file or folder",
                    hint="--out writes the shards of files; without it a text is encoded",
                )
        return chosen_corpus(
            list(paths),
            documents=self.documents,
            text_field=reading.text_field,
            errors=reading.errors,
            max_document_bytes=reading.max_document_bytes,
        )


def refuse_several(tokenizers: list[str] | None) -> None:
    """Raise `ConfigError` where --out is given with more than one tokenizer."""
    from tokbench.errors import ConfigError

    if tokenizers and len(tokenizers) > 1:
        raise ConfigError(
            "shards are those of one tokenizer", hint="run it once for each, with another --out"
        )


def refuse_contradictions(context: typer.Context, *, makes_shards: bool) -> None:
    """Raise `ConfigError` for an option that would do nothing."""
    from tokbench.errors import ConfigError

    for name in _FOR_TEXTS if makes_shards else _FOR_SHARDS:
        source = context.get_parameter_source(name)
        if source is None or source.name == "DEFAULT":
            continue
        option = f"--{name.replace('_', '-')}"
        if makes_shards:
            raise ConfigError(f"{option} and --out cannot both be meant", hint=f"leave out {option}")
        raise ConfigError(f"{option} is for shards", hint="--out FOLDER writes them")


def chosen_eos(*, append_eos: bool, eos: str | None) -> str | bool | None:
    """What --append-eos and --eos say together. Raises `ConfigError`."""
    from tokbench.errors import ConfigError

    if eos is not None and not append_eos:
        raise ConfigError("--eos says what --append-eos appends", hint="add --append-eos, or leave it out")
    if eos == "":
        raise ConfigError("--eos is empty", hint="name one of the tokenizer's special tokens")
    return eos or append_eos


def folder_of(arguments: Sequence[str]) -> Path | None:
    """The folder that `decode` is given instead of ids. Raises `ConfigError` for more beside it."""
    from tokbench.errors import ConfigError

    # Unlike Path's, this is False and no error for ids that no path could be as long as.
    folders = [argument for argument in arguments if argument and os.path.isdir(argument)]  # noqa: PTH112
    if folders and len(arguments) > 1:
        raise ConfigError(f"{folders[0]} is a folder of its own", hint="give one folder of shards, or ids")
    return Path(folders[0]) if folders else None


def refuse_documents(document: str | None) -> None:
    """Raise `ConfigError` where --document is given with ids."""
    from tokbench.errors import ConfigError

    if document is not None:
        raise ConfigError("--document chooses from shards", hint="name their folder instead of ids")


def decode_documents(
    tokenizer: Tokenizer, folder: Path, *, document: str | None, errors: str, json: bool
) -> None:
    """Write the documents of shards. Raises `ConfigError` for another tokenizer than theirs."""
    from tokbench.render.console import print_json
    from tokbench.shards.reading import open_shards

    shards = open_shards(folder)
    shards.check_tokenizer(tokenizer)
    for number in _numbers(document, shards):
        text = shards.text(number, tokenizer, errors=errors)
        if json:
            print_json({"text": text})
        else:
            sys.stdout.buffer.write(text.encode() + (b"" if text.endswith("\n") else b"\n"))
    sys.stdout.buffer.flush()


def _numbers(document: str | None, shards: Shards) -> range:
    from tokbench.errors import ConfigError

    if document is None:
        return range(len(shards))
    match = _RANGE.fullmatch(document)
    if match is None:
        raise ConfigError(f"--document {document!r} is no number", hint="as --document 7, or 10:20")
    first = int(match[1])
    numbers = range(first, first + 1 if match[2] is None else min(int(match[2]), len(shards)))
    if first >= len(shards) or not numbers:
        raise ConfigError(
            f"--document {document} is none of the {len(shards):,} documents", hint="they count from 0"
        )
    return numbers


@taking_groups
def verify(
    *,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of shards.")],
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="The corpus, to be encoded anew and compared; needs -t."),
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            "-t",
            "--tokenizer",
            autocompletion=completion.tokenizers,
            metavar="NAME",
            help="Check that this one made them.",
        ),
    ] = None,
    opening: TextOpeningChoices,
    sample: Annotated[
        int | None,
        typer.Option(metavar="N", help="Compare so many documents, evenly spread, instead of all."),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Threads for encoding. By default all.")
    ] = None,
    json: JsonFlag = False,
    color: ColorOption = ColorChoice.auto,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Check shards: files against sha256 and sizes, ids, offsets, ends of documents; exit code 3 if wrong.

    The corpus is read as the index says it was. Nothing is changed.
    """
    from tokbench.render.console import make_console, print_json
    from tokbench.render.progress import showing_progress
    from tokbench.render.shards import render_verify
    from tokbench.shards.reading import read_index
    from tokbench.shards.verification import corpus_as_read, verify_shards

    opened = None if tokenizer is None else opening.open(tokenizer, progress=progress)
    with showing_progress(progress.value) as report:
        result = verify_shards(
            folder,
            tokenizer=opened,
            corpus=corpus_as_read(read_index(folder), *paths) if paths else None,
            sample=sample,
            threads=threads,
            progress=report,
        )
    if json:
        print_json(result.to_json())
    else:
        render_verify(result, console=make_console(color=color.value))
    if not result.passed:
        raise typer.Exit(_FAILED)
