"""The command that cuts documents into chunks."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from tokbench.cli.corpus_options import TextChoices, TextsArgument
from tokbench.cli.options import taking_groups, tokens_option
from tokbench.cli.output_options import ProgressOption
from tokbench.cli.tokenizer_options import DEFAULT, OpeningChoices, SpecialPolicyOption, TokenizerOption
from tokbench.core.batches import post_processing_of
from tokbench.core.post_processing import template_size
from tokbench.core.tokens import SpecialPolicy
from tokbench.render.console import print_json, showing_progress
from tokbench.workbench.chunk import chunk_texts


@taking_groups
def chunk(
    *,
    inputs: TextsArgument = None,
    tokenizer: TokenizerOption = DEFAULT,
    max_tokens: Annotated[
        int, tokens_option("--max-tokens", help="The maximum tokens per chunk, the overlap included.")
    ],
    overlap: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="The maximum tokens that a chunk repeats from the one before it."
        ),
    ] = 0,
    respect: Annotated[
        Literal["paragraphs", "lines", "sentences"] | None,
        typer.Option(
            help="End chunks at these where possible; one that is too long is cut at the next finer unit, by default "
            "at words."
        ),
    ] = None,
    template: Annotated[
        bool,
        typer.Option(
            "--template",
            help="Count the special tokens that the tokenizer's files put around a text, e.g. [CLS] … [SEP].",
        ),
    ] = False,
    special_policy: SpecialPolicyOption = SpecialPolicy.TEXT,
    opening: OpeningChoices,
    reading: TextChoices,
    progress: ProgressOption = "bar",
) -> None:
    """Cut documents into chunks of at most N tokens, for retrieval: JSON lines with text, tokens and byte offsets.

    Chunks without their overlap concatenate to the document, byte for byte; no character is cut.
    """
    opened = opening.open(tokenizer, progress=progress)
    if template and template_size(post_processing_of(opened).template, pair=False) == 0:
        print(f"note: {opened.info.name} has no template: no special tokens are counted", file=sys.stderr)
    with showing_progress(progress) as report:
        records = chunk_texts(
            opened,
            reading.read(inputs, progress=report),
            max_tokens=max_tokens,
            overlap=overlap,
            respect=respect,
            special=special_policy,
            template=template,
        )
        for record in records:
            print_json(record.to_json())
