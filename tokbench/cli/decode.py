"""The command that decodes ids to text."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tokbench.cli.id_lists import read_ids, write_as_it_comes
from tokbench.cli.options import taking_groups
from tokbench.cli.output_options import JsonFlag, ProgressOption
from tokbench.cli.text_options import DecodeErrorsOption
from tokbench.cli.tokenizer_options import DEFAULT, OpeningChoices, TokenizerOption
from tokbench.core.streaming import StreamingDecoder
from tokbench.render.console import print_json
from tokbench.workbench.decode import decode_ids


@taking_groups
def decode(
    *,
    ids: Annotated[
        list[str],
        typer.Argument(metavar="IDS", help="Ids, or - for what `encode` writes, from stdin."),
    ],
    tokenizer: TokenizerOption = DEFAULT,
    opening: OpeningChoices,
    errors: DecodeErrorsOption = "replace",
    stop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE|ID",
            help="Stop before this id, or a token with this role, e.g. turn_end; repeatable.",
        ),
    ] = None,
    skip_special: Annotated[bool, typer.Option("--skip-special", help="Leave special tokens out.")] = False,
    json: JsonFlag = False,
    progress: ProgressOption = "bar",
) -> None:
    """Decode token ids to text: from numbers, or from the JSON of `encode --json`.

    Ids from stdin are decoded line by line as they arrive.
    """
    opened = opening.open(tokenizer, progress=progress)
    ends = [int(each) if each.isascii() and each.isdigit() else each for each in stop or []]
    if "-" in ids and not json:
        decoder = StreamingDecoder(opened, errors=errors, stop=ends, skip_special=skip_special)
        write_as_it_comes(decoder, ids)
        return
    result = decode_ids(opened, read_ids(ids), errors=errors, stop=ends, skip_special=skip_special)
    if json:
        print_json(result.to_json())
        return
    sys.stdout.buffer.write(result.data.decode(errors="replace").encode())
    if sys.stdout.isatty() and not result.data.endswith(b"\n"):
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()
