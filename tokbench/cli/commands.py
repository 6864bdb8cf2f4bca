"""The commands that do something with text: train, encode, decode, count, viz."""

from __future__ import annotations

import sys
from enum import Enum
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tokbench.cli.opening import EngineOption, PatternOption, SpecialTokenOption, open_tokenizer
from tokbench.cli.options import (
    ColorChoice,
    ColorOption,
    DecodeErrors,
    DropoutOption,
    EngineChoice,
    ErrorPolicy,
    ErrorsOption,
    FileFlag,
    JsonFlag,
    ProgressChoice,
    ProgressOption,
    SeedOption,
    SpecialOption,
    TextFieldOption,
    TextFlag,
    TokenizerOption,
)
from tokbench.tokens import SpecialPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.corpus import Corpus
    from tokbench.inputs import TextInput
    from tokbench.sampling import Sampling


_IDS_AT_ONCE = 1 << 16


class DocumentUnit(Enum):
    """What a text file falls into."""

    file = "file"
    lines = "lines"
    paragraphs = "paragraphs"


class Layout(Enum):
    """How several tokenizers are shown."""

    stacked = "stacked"
    side_by_side = "side-by-side"


def train(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH", help="Files, folders, patterns, or - for stdin. By default the bundled texts."
        ),
    ] = None,
    *,
    backend: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The algorithm, by default bpe; `tokbench backends` lists them."),
    ] = None,
    vocab_size: Annotated[
        int | None,
        typer.Option(metavar="N", help="Entries, special tokens included. By default fitted to the text."),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How text is split: gpt2, gpt4 (the default), gpt4o, llama3, qwen2, nanochat, rustbpe, code, "
            "none, or a regular expression.",
        ),
    ] = None,
    special: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="A special token; can be given several times.")
    ] = None,
    min_frequency: Annotated[
        int | None,
        typer.Option(metavar="N", help="Stop when the most frequent pair is rarer than this; by default 2."),
    ] = None,
    max_token_length: Annotated[
        int | None,
        typer.Option(metavar="N", help="How long a token may be: bytes for bpe, characters for the others."),
    ] = None,
    character_coverage: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Of the text's characters that become entries (sentencepiece)."),
    ] = None,
    byte_fallback: Annotated[
        bool | None,
        typer.Option(
            "--byte-fallback/--no-byte-fallback",
            help="Whether characters without an entry become bytes (sentencepiece).",
        ),
    ] = None,
    normalization: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What is done to the text first, as identity or nmt_nfkc."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Any other option of the backend, as `tokbench backends` lists them; can be given several times.",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A preset's name or TOML file; options given beside it take precedence."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The folder to save in; by default tokenizers/BACKEND-SIZE."),
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Save in tokenizers/NAME.")] = None,
    documents: Annotated[DocumentUnit, typer.Option(help="What a text file falls into.")] = DocumentUnit.file,
    text_field: TextFieldOption = "text",
    errors: ErrorsOption = ErrorPolicy.strict,
    threads: Annotated[
        int | None, typer.Option(metavar="N", help="Threads; never changes the result. By default all.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Seeds hash tables and the saved self-test; never changes the merges."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a saved tokenizer.")] = False,
    json: JsonFlag = False,
    color: ColorOption = ColorChoice.auto,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Train a tokenizer and save it: on the bundled texts, or on yours."""
    from tokbench import workbench
    from tokbench.corpus import bundled_corpus, open_corpus
    from tokbench.render.console import make_console, print_json
    from tokbench.render.progress import showing_progress
    from tokbench.render.tables import render_train

    directory = _directory(name, out)
    options: dict[str, Any] = {
        "vocab_size": vocab_size,
        "pattern": pattern,
        "special_tokens": special,
        "min_frequency": min_frequency,
        "max_token_length": max_token_length,
        "character_coverage": character_coverage,
        "byte_fallback": byte_fallback,
        "normalization": normalization,
        "threads": threads,
        "seed": seed,
    }
    with showing_progress(progress.value) as report:
        report("reading", 0, None, "files")
        if paths:
            corpus = open_corpus(
                *paths, documents=documents.value, text_field=text_field, errors=errors.value
            )
        else:
            corpus = bundled_corpus()
        result = workbench.train_and_save(
            corpus,
            backend=backend,
            preset=preset,
            options={
                **workbench.parsed_options(option or [], backend=backend, preset=preset),
                **{key: value for key, value in options.items() if value not in (None, [])},
            },
            directory=directory,
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
        list[str],
        typer.Argument(metavar="TEXT", help="Texts, files, folders, patterns, or - for stdin."),
    ],
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
    errors: ErrorsOption = ErrorPolicy.strict,
    json: JsonFlag = False,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Turn text into ids: a line for each text; `--json` adds the pieces and their byte spans."""
    from tokbench import workbench
    from tokbench.render.console import print_json

    opened = open_tokenizer(
        tokenizer, pattern=pattern, special_token=special_token, engine=engine, progress=progress
    )
    texts = _inputs(inputs, text=text, file=file, text_field=text_field, errors=errors)
    sampling = _sampling(dropout, seed)
    if json:
        for result in workbench.encode(opened, texts, special=special, sampling=sampling):
            print_json(result.document())
        return
    for ids in workbench.encode_ids(opened, texts, special=special, sampling=sampling):
        _print_ids(ids)


def decode(
    ids: Annotated[
        list[str], typer.Argument(metavar="IDS", help="Ids, or - for what `encode` writes, from stdin.")
    ],
    *,
    tokenizer: TokenizerOption = "default",
    pattern: PatternOption = None,
    special_token: SpecialTokenOption = None,
    engine: EngineOption = EngineChoice.auto,
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

    opened = open_tokenizer(
        tokenizer, pattern=pattern, special_token=special_token, engine=engine, progress=progress
    )
    result = workbench.decode(opened, read_ids(ids), errors=errors.value)
    if json:
        print_json(result.document())
        return
    sys.stdout.buffer.write(result.data.decode(errors="replace").encode())
    if sys.stdout.isatty() and not result.data.endswith(b"\n"):
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


def count(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Files, folders, patterns, texts, or - for stdin."),
    ],
    *,
    tokenizer: TokenizerOption = "default",
    pattern: PatternOption = None,
    special_token: SpecialTokenOption = None,
    engine: EngineOption = EngineChoice.auto,
    special: SpecialOption = SpecialPolicy.TEXT,
    text: TextFlag = False,
    file: FileFlag = False,
    text_field: TextFieldOption = "text",
    errors: ErrorsOption = ErrorPolicy.strict,
    json: JsonFlag = False,
    color: ColorOption = ColorChoice.auto,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Count tokens, bytes and characters of each text, and in total."""
    from tokbench import workbench
    from tokbench.render.console import make_console, print_json
    from tokbench.render.tables import render_count

    opened = open_tokenizer(
        tokenizer, pattern=pattern, special_token=special_token, engine=engine, progress=progress
    )
    texts = _inputs(inputs, text=text, file=file, text_field=text_field, errors=errors)
    result = workbench.count(opened, texts, special=special)
    if json:
        print_json(result.document())
    else:
        render_count(result, console=make_console(color=color.value))


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
    errors: ErrorsOption = ErrorPolicy.strict,
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
    texts = _inputs(inputs, text=text, file=file, text_field=text_field, errors=errors)
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


def _directory(name: str | None, out: Path | None) -> Path | None:
    """Where to save: what --out or --name says, or None for the default. Raises `ConfigError`."""
    from tokbench import workbench
    from tokbench.errors import ConfigError

    if out is not None and name is not None:
        raise ConfigError("--out and --name both say where to save", hint="give one of them")
    if name is None:
        return out
    if not name or name.startswith(".") or Path(name).name != name:
        raise ConfigError(
            f"--name {name!r} cannot be a name below {workbench.TOKENIZERS}", hint="--out takes any path"
        )
    return workbench.TOKENIZERS / name


def _inputs(
    arguments: list[str], *, text: bool, file: bool, text_field: str, errors: ErrorPolicy
) -> Iterator[TextInput]:
    from tokbench.errors import ConfigError
    from tokbench.inputs import read_inputs

    if text and file:
        raise ConfigError("--text and --file cannot both be meant", hint="give one of them, or neither")
    return read_inputs(
        arguments,
        kind="text" if text else "file" if file else "auto",
        text_field=text_field,
        errors=errors.value,
        tell=_tell_problems,
    )


def _print_ids(ids: list[int]) -> None:
    """Some at a time: a text may have millions."""
    for start in range(0, len(ids), _IDS_AT_ONCE):
        sys.stdout.write(" " if start else "")
        sys.stdout.write(" ".join(map(str, ids[start : start + _IDS_AT_ONCE])))
    sys.stdout.write("\n")


def _tell_problems(corpus: Corpus) -> None:
    if message := str(corpus.problems):
        print(f"note: {message}", file=sys.stderr)
    if corpus.left_out.binary:
        print(f"note: left out of the folders: {corpus.left_out}", file=sys.stderr)
