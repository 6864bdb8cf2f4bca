"""The command that converts a tokenizer to another format, and compares two."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tokbench.cli import completion
from tokbench.cli.options import refuse_combined, taking_groups, tokenizer_argument
from tokbench.cli.output_options import ProgressOption, ResultChoices
from tokbench.cli.tokenizer_options import (
    DEFAULT,
    OpeningChoices,
    TokenizerOption,
    parsed_roles,
    read_template,
)
from tokbench.errors import ConfigError
from tokbench.render.console import ProgressChoice, make_console, print_json, showing_progress

if TYPE_CHECKING:
    from tokbench.convert.proof import ProofResult
    from tokbench.core.interfaces import Tokenizer

_DIFFERENT = 3
_COMPARED = 2


@taking_groups
def convert(
    *,
    compared: Annotated[
        list[str] | None,
        tokenizer_argument(
            "A B",
            help="With --check, the two tokenizers to compare; --pattern and --special-token apply "
            "to files that need them.",
        ),
    ] = None,
    tokenizer: TokenizerOption = DEFAULT,
    to: Annotated[
        str | None,
        typer.Option(
            autocompletion=completion.formats,
            metavar="FORMAT",
            help="tiktoken, tokenizers, transformers, sentencepiece, vocab.txt, tokbin, llama2c or token_bytes.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="PATH", help="The file to write, or the folder (transformers).")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare two tokenizers instead. Exit code 3 if they differ.")
    ] = False,
    role: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=TEXT",
            help="The role of a special token, for transformers: bos, eos, pad, unk, mask, cls, sep or turn_end.",
        ),
    ] = None,
    chat_template: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A Jinja chat template, for transformers.")
    ] = None,
    accept_rounding: Annotated[
        bool,
        typer.Option(
            "--accept-rounding",
            help="Accept a Unigram model whose score sums the two libraries round differently.",
        ),
    ] = False,
    special_as_text: Annotated[
        bool,
        typer.Option(
            "--special-as-text",
            help="For transformers: treat special tokens in a text as ordinary text, as tokbench does.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of the proof's generated texts.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    opening: OpeningChoices,
    form: ResultChoices,
    progress: ProgressOption = "bar",
) -> None:
    """Convert a tokenizer to another tool's format, and prove equality on many texts before writing."""
    import tokbench.workbench.convert as conversion
    from tokbench.convert.conversion import target_named
    from tokbench.convert.proof import ProofError
    from tokbench.render.conversion import render_conversion

    names = compared or []
    refuse_combined(
        {"--check": check},
        {
            "--to": to is not None,
            "--out": out is not None,
            "--role": role,
            "--chat-template": chat_template is not None,
            "--accept-rounding": accept_rounding,
            "--special-as-text": special_as_text,
            "--force": force,
        },
        taken={},
    )
    if check and len(names) != _COMPARED:
        raise ConfigError("--check compares two tokenizers", hint="tokbench convert --check A B")
    if not check and names:
        raise ConfigError(
            f"{names[0]!r} is an unexpected argument",
            hint=f"-t {names[0]} converts it; --check A B compares two tokenizers",
        )
    missing = [option for option, value in (("--to", to), ("--out", out)) if value is None]
    if not check and missing:
        raise ConfigError(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} required",
            hint="tokbench convert -t NAME --to FORMAT --out PATH",
        )
    if to is None or out is None:
        first, second = _opened_both(names, opening, progress=progress)
        with showing_progress(progress) as report:
            proof = conversion.compare(first, second, names=names, seed=seed, progress=report)
        _show(proof, to=None, form=form)
        raise typer.Exit(0 if proof.agrees else _DIFFERENT)
    target_named(to)  # refused before a large tokenizer is opened
    roles, template = parsed_roles(role or []), read_template(chat_template)
    source = opening.open(tokenizer, progress=progress)
    try:
        with showing_progress(progress) as report:
            result = conversion.convert(
                source,
                to=to,
                out=out,
                overwrite=force,
                roles=roles,
                chat_template=template,
                accept_rounding=accept_rounding,
                special_as_text=special_as_text,
                seed=seed,
                progress=report,
            )
    except ProofError as error:
        _show(error.proof, to=to, form=form)
        raise
    form.show(result, render_conversion)


def _opened_both(names: list[str], opening: OpeningChoices, *, progress: ProgressChoice) -> list[Tokenizer]:
    """Open two tokenizers. Additions such as patterns only apply to a file that does not define them itself.

    Raises:
        ConfigError: neither accepts the additions, or one needs them and cannot use them.
    """
    opened, refused = [], []
    bare = OpeningChoices(engine=opening.engine)
    for name in names:
        try:
            opened.append(opening.open(name, progress=progress))
        except ConfigError as error:
            refused.append(error)
            try:
                opened.append(bare.open(name, progress=progress))
            except ConfigError:
                raise error from None
    if len(refused) == len(names):
        raise refused[0]
    return opened


def _show(proof: ProofResult, *, to: str | None, form: ResultChoices) -> None:
    """Show a proof without a written file: of a comparison, or of a failed conversion."""
    from tokbench.render.conversion import render_proof

    if form.json:
        print_json({"schema": "tokbench.convert/1", "to": to, "out": None, "proof": proof.to_json()})
    else:
        render_proof(proof, console=make_console(color=form.color))
