"""The command that encodes conversations."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from tokbench.cli.chat_options import TemplateInputs
from tokbench.cli.completion import chat_templates
from tokbench.cli.options import taking_groups
from tokbench.cli.output_options import ColorOption, JsonFlag, ProgressOption, refuse_folder
from tokbench.cli.standard_input import STDIN, tell_of_stdin
from tokbench.cli.tokenizer_options import DEFAULT, OpeningChoices, TokenizerOption
from tokbench.errors import ConfigError, CorpusError, ModelFormatError, TokbenchError
from tokbench.render.console import make_console, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedIOBase

    from tokbench.chat.conversation_files import ReadConversation
    from tokbench.workbench.chat import ChatResult

_FOUND = 3
_TOGETHER = 64
"""Conversations that are encoded at once, at most; of a stream, those that have arrived."""

TemplateOption = Annotated[
    str,
    typer.Option(
        autocompletion=chat_templates,
        metavar="NAME|FILE",
        help="The chat template: a built-in name, a Jinja file, or auto: the tokenizer's own, else the built-in one "
        "that its special tokens are made for.",
    ),
]
TrainOnOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ROLE", help="Include the turns of this role in the loss, by default assistant; repeatable."
    ),
]

_BLOCK = 1 << 18


@taking_groups
def chat(
    *,
    path: Annotated[
        str,
        typer.Argument(metavar="FILE", help="Conversations as JSON, JSON lines or Parquet; - for stdin."),
    ],
    tokenizer: TokenizerOption = DEFAULT,
    opening: OpeningChoices,
    template: TemplateOption = "auto",
    train_on: TrainOnOption = None,
    completion: Annotated[
        bool,
        typer.Option(
            "--completion", help="End with the opening of an assistant turn (add_generation_prompt)."
        ),
    ] = False,
    continue_final: Annotated[
        bool,
        typer.Option(
            "--continue-final",
            help="End with the content of the last message, for the model to continue (continue_final_message).",
        ),
    ] = False,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Drop whole turns, the oldest first, until N tokens are left; system messages stay.",
        ),
    ] = None,
    seam: Annotated[
        str,
        typer.Option(
            metavar="joint|segment",
            help="Encode the text between two control tokens at once, or cut where template and content meet.",
        ),
    ] = "joint",
    inputs: TemplateInputs,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 3 if content has the text of a control token.")
    ] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write an HTML page.")] = None,
    npz: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write ids, loss_mask, message_index and offsets of one conversation for NumPy.",
        ),
    ] = None,
    json: JsonFlag = False,
    color: ColorOption = "auto",
    progress: ProgressOption = "bar",
) -> None:
    """Encode conversations: ids, loss mask, and what in the content looks like a control token.

    Only the template writes control tokens. Content that spells one is encoded as text and reported as a finding;
    with --strict, findings give exit code 3.
    """
    from tokbench.chat.template import ChatTemplate
    from tokbench.render.chat import render_chat
    from tokbench.workbench.chat import encode_conversations

    if seam not in ("joint", "segment"):
        raise ConfigError(f"unknown --seam {seam!r}", hint="choose joint or segment")
    if completion and continue_final:
        raise ConfigError("--completion and --continue-final contradict each other", hint="give one of them")
    tools, variables, day = inputs.tool_schemas(), inputs.variables(), inputs.day()
    refuse_folder(html, option="--html")
    refuse_folder(npz, option="--npz")
    _refuse_unreadable(path)
    opened = opening.open(tokenizer, progress=progress)
    chosen = ChatTemplate.of(opened, template, date=day)
    console = make_console(color=color)
    results: list[ChatResult] = []
    has_findings = is_learned = False
    arriving = None
    if path == STDIN:
        tell_of_stdin("conversations")
        arriving = ArrivingLines(cast("BufferedIOBase", sys.stdin.buffer))
    conversations = (
        replace(
            each,
            conversation=replace(
                each.conversation.completed(tools=tools, variables=variables), is_unfinished=continue_final
            ),
        )
        for each in _conversations(path, arriving, only_one=npz is not None)
    )
    encoded = chain.from_iterable(
        encode_conversations(
            opened,
            chosen,
            batch,
            prompt=completion,
            train_on=train_on or ["assistant"],
            by_segment=seam == "segment",
            max_tokens=max_tokens,
        )
        for batch in _batches(conversations, arriving)
    )
    for number, result in enumerate(encoded):
        has_findings |= bool(result.chat.findings)
        is_learned |= result.learned > 0
        if html is not None or npz is not None:
            results.append(result)
        if json:
            print_json(result.to_json())
        else:
            if number:
                console.print()
            render_chat(result, console=console)
    _write_files(results, html=html, npz=npz)
    if train_on and not is_learned:
        print(
            f"note: nothing is learned: no turn of the role {' or '.join(train_on)} was found",
            file=sys.stderr,
        )
    if strict and has_findings:
        raise typer.Exit(_FOUND)


def _conversations(
    path: str, arriving: ArrivingLines | None, *, only_one: bool
) -> Iterator[ReadConversation]:
    """Yield the conversations of a file or stdin; with `only_one`, raise an error if there are several."""
    found = _read_conversations(path, arriving)
    if only_one:
        first, *others = islice(found, 2)
        if others:
            raise ConfigError(
                f"--npz writes one conversation, and {path} has several",
                hint="`tokbench shards write --chat` writes many",
            )
        found = iter([first])
    return found


def _read_conversations(path: str, arriving: ArrivingLines | None) -> Iterator[ReadConversation]:
    from tokbench.chat.conversation_files import read_conversations
    from tokbench.chat.parquet_rows import MAGIC, parquet_conversations

    if arriving is not None:
        yield from read_conversations(arriving, name="stdin")
        return
    try:
        with Path(path).open("rb") as stream:
            if stream.peek(len(MAGIC)).startswith(MAGIC):
                yield from _at_least_one(parquet_conversations(Path(path), name=path), path)
            else:
                yield from read_conversations(stream, name=path)
    except OSError as error:
        raise _unreadable(path, error) from None


def _refuse_unreadable(path: str) -> None:
    """Raise `CorpusError` if the file cannot be opened; a pipe, which can be opened once, is not tried."""
    if path != STDIN and not Path(path).is_fifo():
        try:
            Path(path).open("rb").close()
        except OSError as error:
            raise _unreadable(path, error) from None


def _unreadable(path: str, error: OSError) -> CorpusError:
    return CorpusError(
        f"{path} cannot be read: {error.strerror or error}", hint="name a file of conversations, or -"
    )


def _at_least_one(found: Iterator[ReadConversation], path: str) -> Iterator[ReadConversation]:
    first = next(found, None)
    if first is None:
        raise ModelFormatError(path, "a conversation", "a file without rows")
    yield from chain([first], found)


def _batches(
    conversations: Iterator[ReadConversation], arriving: ArrivingLines | None
) -> Iterator[list[ReadConversation]]:
    """Yield conversations in batches without waiting for more to arrive; an error comes after those before it."""
    batch: list[ReadConversation] = []
    try:
        for each in conversations:
            batch.append(each)
            if len(batch) == _TOGETHER or (arriving is not None and not arriving.is_next_there):
                yield batch
                batch = []
    except TokbenchError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def _write_files(results: list[ChatResult], *, html: Path | None, npz: Path | None) -> None:
    from tokbench.files.atomic import write_file

    if npz is not None:
        import io

        import numpy as np

        stream = io.BytesIO()
        np.savez(stream, **results[0].arrays())
        write_file(npz, stream.getvalue())
    if html is not None:
        from tokbench.render.chat import chat_page

        write_file(html, chat_page(results))


class ArrivingLines:
    r"""The lines of a stream, including line ends, as soon as each is complete.

    Attributes:
        is_next_there: whether the next line has already arrived.

    >>> from io import BytesIO
    >>> lines = ArrivingLines(BytesIO(b"a\nb\nc"))
    >>> [(line, lines.is_next_there) for line in lines]
    [(b'a\n', True), (b'b\n', False), (b'c', False)]
    """

    def __init__(self, stream: BufferedIOBase) -> None:
        self.is_next_there = False
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        unfinished: list[bytes] = []
        while block := self._stream.read1(_BLOCK):
            *ended, rest = block.split(b"\n")
            lines = [line + b"\n" for line in ended]
            if lines and unfinished:
                lines[0] = b"".join([*unfinished, lines[0]])
                unfinished = []
            if rest:
                unfinished.append(rest)
            for number, line in enumerate(lines, 1):
                self.is_next_there = number < len(lines)
                yield line
        if unfinished:
            yield b"".join(unfinished)
