"""The commands that do something with text: encode, decode, viz."""

from __future__ import annotations

import sys
from enum import StrEnum
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Annotated

import typer

from tokbench.cli import shards
from tokbench.cli.corpora import DocumentUnit
from tokbench.cli.id_lists import write_as_it_comes
from tokbench.cli.opening import EngineOption, PatternOption, SpecialTokenOption, open_tokenizer
from tokbench.cli.options import (
    MAX_DOCUMENT,
    ColorChoice,
    ColorOption,
    DecodeErrors,
    DropoutOption,
    EngineChoice,
    ErrorPolicy,
    ErrorsOption,
    FileFlag,
    JsonFlag,
    MaxDocumentOption,
    ProgressChoice,
    ProgressOption,
    SeedOption,
    SpecialOption,
    TextFieldOption,
    TextFlag,
    TokenizerOption,
)
from tokbench.cli.texts import STDIN, TextsArgument, read_texts
from tokbench.tokens import SpecialPolicy

if TYPE_CHECKING:
    from tokbench.sampling import Sampling


_IDS_AT_ONCE = 1 << 16


class Layout(StrEnum):
    """How several tokenizers are shown."""

    stacked = "stacked"
    side_by_side = "side-by-side"


def encode(
    context: typer.Context,
    inputs: TextsArgument = None,
    *,
    tokenizer: TokenizerOption = "default",
    pattern: PatternOption = None,
    special_token: SpecialTokenOption = None,
    engine: EngineOption = EngineChoice.auto,
    special: SpecialOption = SpecialPolicy.TEXT,
    dropout: DropoutOption = None,
    seed: SeedOption = None,
    text: TextFlag = False,
    file: FileFlag = False,
    text_field: TextFieldOption = "text",
    errors: ErrorsOption = ErrorPolicy.STRICT,
    max_document_bytes: MaxDocumentOption = MAX_DOCUMENT,
    out: shards.OutOption = None,
    format: shards.FormatOption = shards.ShardFormat.npy,
    dtype: shards.DtypeOption = shards.TokenType.auto,
    append_eos: shards.AppendEosFlag = False,
    eos: shards.EosOption = None,
    shard_tokens: shards.ShardTokensOption = shards.SHARD_TOKENS,
    documents: shards.DocumentsOption = DocumentUnit.file,
    threads: shards.ThreadsOption = None,
    resume: shards.ResumeFlag = False,
    force: shards.ForceFlag = False,
    json: JsonFlag = False,
    color: ColorOption = ColorChoice.auto,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Turn text into ids: a line for each text; `--json` adds the pieces and their byte spans.

    With --out, files become shards: documents one behind another in files that numpy maps as they are, with
    an index and a file of offsets beside each. What was interrupted goes on with --resume, to the same bytes.
    """
    from tokbench import workbench
    from tokbench.render.console import print_json

    shards.refuse_contradictions(context, makes_shards=out is not None)
    opened = open_tokenizer(
        tokenizer, pattern=pattern, special_token=special_token, engine=engine, progress=progress
    )
    if out is not None:
        shards.encode_files(
            opened,
            inputs or [STDIN],
            out,
            reading=shards.Reading(
                documents=documents,
                text_field=text_field,
                errors=errors,
                max_document_bytes=max_document_bytes,
            ),
            format=format.value,
            dtype=dtype.value,
            eos=shards.chosen_eos(append_eos=append_eos, eos=eos),
            shard_tokens=shard_tokens,
            special=special,
            threads=threads,
            resume=resume,
            overwrite=force,
            json=json,
            color=color,
            progress=progress,
        )
        return
    texts = read_texts(
        inputs,
        text=text,
        file=file,
        text_field=text_field,
        errors=errors,
        max_document_bytes=max_document_bytes,
    )
    sampling = _sampling(dropout, seed)
    if json:
        for result in workbench.encode(opened, texts, special=special, sampling=sampling):
            print_json(result.document())
        return
    for ids in workbench.encode_ids(opened, texts, special=special, sampling=sampling):
        _print_ids(ids)


def decode(
    ids: Annotated[
        list[str],
        typer.Argument(
            metavar="IDS", help="Ids, or - for what `encode` writes, from stdin; or a folder of shards."
        ),
    ],
    *,
    tokenizer: TokenizerOption = "default",
    pattern: PatternOption = None,
    special_token: SpecialTokenOption = None,
    engine: EngineOption = EngineChoice.auto,
    errors: Annotated[
        DecodeErrors, typer.Option(help="Bytes that are no whole characters: U+FFFD, or an error.")
    ] = DecodeErrors.REPLACE,
    document: shards.DocumentOption = None,
    json: JsonFlag = False,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Turn ids back into text: plain numbers, or the JSON that `encode --json` prints.

    Ids from stdin are shown as their lines come. Documents of shards stand on lines of their own: a line end
    is put behind each that has none. `--json` gives each as {"text": …}, exactly, which `encode` reads again.
    """
    from tokbench import workbench
    from tokbench.cli.id_lists import read_ids
    from tokbench.render.console import print_json

    opened = open_tokenizer(
        tokenizer, pattern=pattern, special_token=special_token, engine=engine, progress=progress
    )
    if (folder := shards.folder_of(ids)) is not None:
        shards.decode_documents(opened, folder, document=document, errors=errors.value, json=json)
        return
    shards.refuse_documents(document)
    if "-" in ids and not json:
        write_as_it_comes(opened, ids, errors=errors.value)
        return
    result = workbench.decode(opened, read_ids(ids), errors=errors.value)
    if json:
        print_json(result.document())
        return
    sys.stdout.buffer.write(result.data.decode(errors="replace").encode())
    if sys.stdout.isatty() and not result.data.endswith(b"\n"):
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


def viz(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="TEXT", help="Texts, files, folders, patterns, or - for stdin."),
    ],
    *,
    tokenizer: Annotated[
        list[str] | None,
        typer.Option(
            "-t",
            "--tokenizer",
            metavar="NAME",
            help="A tokenizer, by default `default`; several are shown together.",
        ),
    ] = None,
    pattern: PatternOption = None,
    special_token: SpecialTokenOption = None,
    engine: EngineOption = EngineChoice.auto,
    layout: Annotated[Layout, typer.Option(help="How several tokenizers are shown.")] = Layout.stacked,
    ids: Annotated[bool, typer.Option("--ids", help="Show the ids under the tokens.")] = False,
    special: SpecialOption = SpecialPolicy.TEXT,
    dropout: DropoutOption = None,
    seed: SeedOption = None,
    text: TextFlag = False,
    file: FileFlag = False,
    text_field: TextFieldOption = "text",
    errors: ErrorsOption = ErrorPolicy.STRICT,
    max_document_bytes: MaxDocumentOption = MAX_DOCUMENT,
    json: JsonFlag = False,
    color: ColorOption = ColorChoice.auto,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Show the tokens of a text in colour: where they begin and end, what they are, what they cut."""
    from tokbench import workbench
    from tokbench.render.console import make_console, print_json
    from tokbench.render.tables import render_source
    from tokbench.render.viz import render_viz, viz_document

    opened = [
        open_tokenizer(name, pattern=pattern, special_token=special_token, engine=engine, progress=progress)
        for name in tokenizer or ["default"]
    ]
    console = make_console(color=color.value)
    texts = read_texts(
        inputs,
        text=text,
        file=file,
        text_field=text_field,
        errors=errors,
        max_document_bytes=max_document_bytes,
    )
    sampling = _sampling(dropout, seed)
    several = False
    for item, following in pairwise(chain(texts, [None])):
        assert item is not None
        result = workbench.viz(opened, item.text, special=special, sampling=sampling)
        if json:
            print_json(viz_document(result))
            continue
        if several := several or following is not None:
            render_source(item.source, console=console)
        render_viz(result, console=console, ids=ids, layout=layout.value)
        if following is not None:
            console.print()


def _sampling(dropout: float | None, seed: int | None) -> Sampling | None:
    """What --dropout and --seed ask for. Raises `ConfigError`."""
    from tokbench.errors import ConfigError
    from tokbench.sampling import Sampling

    if dropout is None and seed is not None:
        raise ConfigError(
            "--seed chooses among random segmentations", hint="add --dropout 0.1, or leave it out"
        )
    return None if dropout is None else Sampling(dropout=dropout, seed=seed or 0)


def _print_ids(ids: list[int]) -> None:
    """Some at a time: a text may have millions."""
    for start in range(0, len(ids), _IDS_AT_ONCE):
        sys.stdout.write(" " if start else "")
        sys.stdout.write(" ".join(map(str, ids[start : start + _IDS_AT_ONCE])))
    sys.stdout.write("\n")
