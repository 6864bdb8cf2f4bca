"""The commands that do something with text: train, encode, decode, count, viz."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tokbench.cli.options import (
    ColorChoice,
    ColorOption,
    DecodeErrors,
    FileFlag,
    JsonFlag,
    ProgressChoice,
    ProgressOption,
    SpecialOption,
    TextFlag,
    TokenizerOption,
)
from tokbench.tokens import SpecialPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.corpus import Corpus
    from tokbench.inputs import TextInput
    from tokbench.interfaces import Tokenizer


class DocumentUnit(Enum):
    """What a text file falls into."""

    file = "file"
    lines = "lines"
    paragraphs = "paragraphs"


class ErrorPolicy(Enum):
    """What to do about bytes that are not UTF-8."""

    strict = "strict"
    replace = "replace"
    skip = "skip"


class Layout(Enum):
    """How several tokenizers are shown."""

    stacked = "stacked"
    side_by_side = "side-by-side"


def train(
    paths: Annotated[
        list[str] | None,
        typer.Argument(help="Files, folders, patterns, or - for stdin. By default the bundled texts."),
    ] = None,
    *,
    backend: Annotated[
        str | None, typer.Option(help="The algorithm, by default bpe; `tokbench backends` lists them.")
    ] = None,
    vocab_size: Annotated[
        int | None, typer.Option(help="Entries, special tokens included. By default fitted to the text.")
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            help="How text is split: gpt2, gpt4 (the default), gpt4o, llama3, qwen2, nanochat, rustbpe, code, "
            "none, or a regular expression."
        ),
    ] = None,
    special: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="A special token; can be given several times.")
    ] = None,
    min_frequency: Annotated[
        int | None, typer.Option(help="Stop when the most frequent pair is rarer than this; by default 2.")
    ] = None,
    max_token_length: Annotated[int | None, typer.Option(help="Bytes that a token may have.")] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="A preset's name or TOML file; options given beside it take precedence."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder to save in; by default tokenizers/BACKEND-SIZE.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Save in tokenizers/NAME.")] = None,
    documents: Annotated[DocumentUnit, typer.Option(help="What a text file falls into.")] = DocumentUnit.file,
    text_field: Annotated[
        str, typer.Option(help="The field of a JSONL or Parquet record with the text.")
    ] = "text",
    errors: Annotated[
        ErrorPolicy, typer.Option(help="What to do about bytes that are not UTF-8.")
    ] = ErrorPolicy.strict,
    threads: Annotated[
        int | None, typer.Option(help="Threads; never changes the result. By default all.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seeds hash tables and the saved self-test; never changes the merges.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a saved tokenizer.")] = False,
    json: JsonFlag = False,
    color: ColorOption = ColorChoice.auto,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Train a tokenizer and save it: on the bundled texts, or on yours."""
    from tokbench import workbench
    from tokbench.corpus import bundled_corpus, open_corpus
    from tokbench.errors import ConfigError
    from tokbench.render.console import make_console, print_json
    from tokbench.render.progress import showing_progress
    from tokbench.render.tables import render_train

    if out is not None and name is not None:
        raise ConfigError("--out and --name both say where to save", hint="give one of them")
    if name is not None and Path(name).name != name:
        raise ConfigError(f"--name {name!r} is a path", hint="--out takes a path")
    options: dict[str, Any] = {
        "vocab_size": vocab_size,
        "pattern": pattern,
        "special_tokens": special,
        "min_frequency": min_frequency,
        "max_token_length": max_token_length,
        "threads": threads,
        "seed": seed,
    }
    if paths:
        corpus = open_corpus(*paths, documents=documents.value, text_field=text_field, errors=errors.value)
    else:
        corpus = bundled_corpus()
    with showing_progress(progress.value) as report:
        result = workbench.train_and_save(
            corpus,
            backend=backend,
            preset=preset,
            options={key: value for key, value in options.items() if value not in (None, [])},
            directory=workbench.TOKENIZERS / name if name else out,
            overwrite=force,
            progress=report,
        )
    _tell_problems(corpus)
    if json:
        print_json(result.document())
    else:
        render_train(result, console=make_console(color=color.value))


def encode(
    inputs: Annotated[
        list[str], typer.Argument(metavar="TEXT…", help="Texts, files, folders, or - for stdin.")
    ],
    *,
    tokenizer: TokenizerOption = "default",
    special: SpecialOption = SpecialPolicy.TEXT,
    text: TextFlag = False,
    file: FileFlag = False,
    json: JsonFlag = False,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Turn text into ids: a line for each text; `--json` adds the pieces and their byte spans."""
    from tokbench import workbench
    from tokbench.render.console import print_json

    opened = _open(tokenizer, progress)
    if json:
        for result in workbench.encode(opened, _inputs(inputs, text=text, file=file), special=special):
            print_json(result.document())
        return
    for ids in workbench.encode_ids(opened, _inputs(inputs, text=text, file=file), special=special):
        print(*ids)


def decode(
    ids: Annotated[
        list[str], typer.Argument(metavar="IDS…", help="Ids, or - for what `encode` writes, from stdin.")
    ],
    *,
    tokenizer: TokenizerOption = "default",
    errors: Annotated[
        DecodeErrors, typer.Option(help="Bytes that are no whole characters: U+FFFD, or an error.")
    ] = DecodeErrors.replace,
    json: JsonFlag = False,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Turn ids back into text: plain numbers, or the JSON that `encode --json` prints."""
    from tokbench import workbench
    from tokbench.cli.id_lists import read_ids
    from tokbench.render.console import print_json

    result = workbench.decode(_open(tokenizer, progress), read_ids(ids), errors=errors.value)
    if json:
        print_json(result.document())
        return
    sys.stdout.buffer.write(result.data.decode(errors="replace").encode())
    if sys.stdout.isatty() and not result.data.endswith(b"\n"):
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


def count(
    inputs: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="Files, folders, texts, or - for stdin.")
    ],
    *,
    tokenizer: TokenizerOption = "default",
    special: SpecialOption = SpecialPolicy.TEXT,
    text: TextFlag = False,
    file: FileFlag = False,
    json: JsonFlag = False,
    color: ColorOption = ColorChoice.auto,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Count tokens, bytes and characters of each text, and in total."""
    from tokbench import workbench
    from tokbench.render.console import make_console, print_json
    from tokbench.render.tables import render_count

    opened = _open(tokenizer, progress)
    result = workbench.count(opened, _inputs(inputs, text=text, file=file), special=special)
    if json:
        print_json(result.document())
    else:
        render_count(result, console=make_console(color=color.value))


def viz(
    inputs: Annotated[list[str], typer.Argument(metavar="TEXT…", help="Texts, files, or - for stdin.")],
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
    layout: Annotated[Layout, typer.Option(help="How several tokenizers are shown.")] = Layout.stacked,
    ids: Annotated[bool, typer.Option("--ids", help="Show the ids under the tokens.")] = False,
    special: SpecialOption = SpecialPolicy.TEXT,
    text: TextFlag = False,
    file: FileFlag = False,
    json: JsonFlag = False,
    color: ColorOption = ColorChoice.auto,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Show the tokens of a text in colour: where they begin and end, what they are, what they cut."""
    from tokbench import workbench
    from tokbench.render.console import make_console, print_json
    from tokbench.render.viz import render_viz, viz_document

    opened = [_open(name, progress) for name in tokenizer or ["default"]]
    console = make_console(color=color.value)
    for item in _inputs(inputs, text=text, file=file):
        result = workbench.viz(opened, item.text, special=special)
        if json:
            print_json(viz_document(result))
        else:
            render_viz(result, console=console, ids=ids, layout=layout.value)


def _open(name: str, progress: ProgressChoice) -> Tokenizer:
    from tokbench import workbench
    from tokbench.render.progress import showing_progress

    with showing_progress(progress.value) as report:
        return workbench.open_tokenizer(name, progress=report)


def _inputs(arguments: list[str], *, text: bool, file: bool) -> Iterator[TextInput]:
    from tokbench.errors import ConfigError
    from tokbench.inputs import read_inputs

    if text and file:
        raise ConfigError("--text and --file cannot both be meant", hint="give one of them, or neither")
    return read_inputs(arguments, kind="text" if text else "file" if file else "auto")


def _tell_problems(corpus: Corpus) -> None:
    if message := str(corpus.problems):
        print(f"note: {message}", file=sys.stderr)
    if corpus.left_out.binary:
        print(f"note: left out of the folders: {corpus.left_out}", file=sys.stderr)
