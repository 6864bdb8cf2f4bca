"""The commands that do something with text: encode, decode, viz."""

from __future__ import annotations

import sys
from enum import StrEnum
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Annotated

import typer

from tokbench.cli.id_lists import write_as_it_comes
from tokbench.cli.option_groups import taking_groups
from tokbench.cli.options import (
    ColorChoice,
    ColorOption,
    DecodeErrors,
    DecodeErrorsOption,
    DropoutOption,
    JsonFlag,
    ProgressChoice,
    ProgressOption,
    SeedOption,
    SpecialPolicyOption,
    TokenizerOption,
    TokenizersOption,
)
from tokbench.cli.text_options import TextChoices, TextsArgument
from tokbench.cli.tokenizer_options import DEFAULT, OpeningChoices, VocabularyChoices
from tokbench.core.tokens import SpecialPolicy

if TYPE_CHECKING:
    from tokbench.core.sampling import Sampling


_IDS_AT_ONCE = 1 << 16


class Layout(StrEnum):
    """How several tokenizers are shown."""

    stacked = "stacked"
    side_by_side = "side-by-side"


@taking_groups
def encode(
    *,
    inputs: TextsArgument = None,
    tokenizer: TokenizersOption = None,
    opening: VocabularyChoices,
    special_policy: SpecialPolicyOption = SpecialPolicy.TEXT,
    dropout: DropoutOption = None,
    seed: SeedOption = None,
    reading: TextChoices,
    json: JsonFlag = False,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Turn text into ids: a line for each text; `--json` adds the pieces and their byte spans.

    Several tokenizers have a line each for each text, which begins with the tokenizer's name and a tab.
    """
    from tokbench.render.console import print_json
    from tokbench.render.progress import showing_progress
    from tokbench.workbench.encode import encode_ids, encode_texts

    opened = opening.open_all(tokenizer, progress=progress)
    sampling = _sampling(dropout, seed)
    with showing_progress(_beside_output(progress).value) as report:
        for item in reading.read(inputs, progress=report):
            for one in opened:
                if json:
                    [result] = encode_texts(one, [item], special=special_policy, sampling=sampling)
                    print_json(result.to_json())
                    continue
                [ids] = encode_ids(one, [item], special=special_policy, sampling=sampling)
                _print_ids(ids, name=one.info.name if len(opened) > 1 else None)


@taking_groups
def decode(
    *,
    ids: Annotated[
        list[str],
        typer.Argument(metavar="IDS", help="Ids, or - for what `encode` writes, from stdin."),
    ],
    tokenizer: TokenizerOption = DEFAULT,
    opening: OpeningChoices,
    errors: DecodeErrorsOption = DecodeErrors.REPLACE,
    json: JsonFlag = False,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Turn ids back into text: plain numbers, or the JSON that `encode --json` prints.

    Ids from stdin are decoded line by line, as they come.
    """
    from tokbench.cli.id_lists import read_ids
    from tokbench.render.console import print_json
    from tokbench.workbench.decode import decode_ids

    opened = opening.open(tokenizer, progress=progress)
    if "-" in ids and not json:
        write_as_it_comes(opened, ids, errors=errors.value)
        return
    result = decode_ids(opened, read_ids(ids), errors=errors.value)
    if json:
        print_json(result.to_json())
        return
    sys.stdout.buffer.write(result.data.decode(errors="replace").encode())
    if sys.stdout.isatty() and not result.data.endswith(b"\n"):
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


@taking_groups
def viz(
    *,
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="TEXT", help="Texts, files, folders, patterns, or - for stdin."),
    ],
    tokenizer: TokenizersOption = None,
    opening: OpeningChoices,
    layout: Annotated[Layout, typer.Option(help="How several tokenizers are shown.")] = Layout.stacked,
    ids: Annotated[bool, typer.Option("--ids", help="Show the ids under the tokens.")] = False,
    special_policy: SpecialPolicyOption = SpecialPolicy.TEXT,
    dropout: DropoutOption = None,
    seed: SeedOption = None,
    reading: TextChoices,
    json: JsonFlag = False,
    color: ColorOption = ColorChoice.auto,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Show the tokens of a text in colour: where they begin and end, what they are, what they cut."""
    from tokbench.render.console import make_console, print_json
    from tokbench.render.tables import render_source
    from tokbench.render.viz import render_viz, viz_document
    from tokbench.workbench.viz import visualise

    opened = opening.open_all(tokenizer, progress=progress)
    console = make_console(color=color.value)
    sampling = _sampling(dropout, seed)
    several = False
    for item, following in pairwise(chain(reading.read_with_progress(inputs, progress=progress), [None])):
        assert item is not None
        result = visualise(opened, item.text, special=special_policy, sampling=sampling)
        if json:
            print_json(viz_document(result))
            continue
        if several := several or following is not None:
            render_source(item.source, console=console)
        render_viz(result, console=console, ids=ids, layout=layout.value)
        if following is not None:
            console.print()


def _beside_output(progress: ProgressChoice) -> ProgressChoice:
    """No bar where ids are written as they come to the terminal that it would stand on."""
    is_bar = progress is ProgressChoice.bar
    return ProgressChoice.none if is_bar and sys.stdout.isatty() else progress


def _sampling(dropout: float | None, seed: int | None) -> Sampling | None:
    """What --dropout and --seed ask for. Raises `ConfigError`."""
    from tokbench.core.sampling import Sampling
    from tokbench.errors import ConfigError

    if dropout is None and seed is not None:
        raise ConfigError(
            "--seed chooses among random segmentations", hint="add --dropout 0.1, or leave it out"
        )
    return None if dropout is None else Sampling(dropout=dropout, seed=seed or 0)


def _print_ids(ids: list[int], *, name: str | None) -> None:
    """Some at a time: a text may have millions. Behind the name of their tokenizer, where there are several."""
    if name is not None:
        sys.stdout.write(f"{name}\t")
    for start in range(0, len(ids), _IDS_AT_ONCE):
        sys.stdout.write(" " if start else "")
        sys.stdout.write(" ".join(map(str, ids[start : start + _IDS_AT_ONCE])))
    sys.stdout.write("\n")
