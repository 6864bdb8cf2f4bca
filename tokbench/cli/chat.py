"""The command that encodes conversations."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tokbench.cli.options import taking_groups
from tokbench.cli.output_options import ColorOption, JsonFlag, ProgressOption
from tokbench.cli.tokenizer_options import DEFAULT, OpeningChoices, TokenizerOption
from tokbench.errors import ConfigError, CorpusError
from tokbench.render.console import make_console, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.chat.conversation_files import ReadConversation
    from tokbench.workbench.chat import ChatResult

_FOUND = 3
_MOST_TOOL_BYTES = 1 << 24

TemplateOption = Annotated[
    str,
    typer.Option(
        metavar="NAME|FILE",
        help="The chat template: a built-in name, a Jinja file, or auto: the tokenizer's own, else the built-in one "
        "that its special tokens are made for.",
    ),
]
TrainOnOption = Annotated[
    list[str] | None,
    typer.Option(metavar="ROLE", help="Learn the turns of this role, by default assistant; repeatable."),
]
DateOption = Annotated[
    str | None, typer.Option(metavar="YYYY-MM-DD", help="What templates that write a date take for today.")
]


@taking_groups
def chat(
    *,
    path: Annotated[
        str,
        typer.Argument(metavar="FILE", help="Conversations as JSON or JSON lines; - for stdin."),
    ],
    tokenizer: TokenizerOption = DEFAULT,
    opening: OpeningChoices,
    template: TemplateOption = "auto",
    train_on: TrainOnOption = None,
    completion: Annotated[
        bool, typer.Option("--completion", help="End ready for the assistant (add_generation_prompt).")
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
            help="Encode text between control tokens together, or each part of one origin alone.",
        ),
    ] = "joint",
    tools: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSON schemas of tools, for conversations without.")
    ] = None,
    var: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Set a variable of the template, as JSON or text; repeatable."
        ),
    ] = None,
    date: DateOption = None,
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

    Only the template makes control tokens. Where content has the text of one, it stays text and is told: a finding.
    Exit code 3 is for findings under --strict.
    """
    from tokbench.chat.template import ChatTemplate
    from tokbench.render.chat import render_chat
    from tokbench.workbench.chat import encode_conversation

    if seam not in ("joint", "segment"):
        raise ConfigError(f"there is no --seam {seam!r}", hint="choose joint or segment")
    day = chosen_date(date)
    variables = chosen_variables(var or [])
    given_tools = _tools(tools)
    for option, target in (("--html", html), ("--npz", npz)):
        if target is not None and target.is_dir():
            raise ConfigError(f"{target} is a folder", hint=f"{option} names the file to write")
    opened = opening.open(tokenizer, progress=progress)
    chosen = ChatTemplate.of(opened, template, date=day)
    console = make_console(color=color)
    results: list[ChatResult] = []
    has_findings = False
    for number, each in enumerate(_conversations(path)):
        with _naming(each):
            result = encode_conversation(
                opened,
                chosen,
                _completed(each, given_tools, variables),
                place=each.place,
                prompt=completion,
                train_on=train_on or ["assistant"],
                by_segment=seam == "segment",
                max_tokens=max_tokens,
            )
        has_findings |= bool(result.chat.findings)
        if html is not None or npz is not None:
            results.append(result)
        if json:
            print_json(result.to_json())
        else:
            if number:
                console.print()
            render_chat(result, console=console)
    _write_files(results, html=html, npz=npz)
    if strict and has_findings:
        raise typer.Exit(_FOUND)


def chosen_date(date: str | None) -> datetime | None:
    """The day of --date. Raises `ConfigError`."""
    if date is None:
        return None
    try:
        return datetime.strptime(date, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise ConfigError(f"--date {date!r} is no day", hint="write it as 2024-07-26") from None


def chosen_variables(given: list[str]) -> dict[str, Any]:
    """The variables of --var: a value that is JSON is taken as that, another one as text. Raises `ConfigError`.

    >>> chosen_variables(["enable_thinking=false", "name=Ada"])
    {'enable_thinking': False, 'name': 'Ada'}
    """
    import orjson

    made: dict[str, Any] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name.isidentifier():
            raise ConfigError(f"--var {one!r} sets nothing", hint="write it as enable_thinking=false")
        try:
            made[name] = orjson.loads(value)
        except orjson.JSONDecodeError:
            made[name] = value
    return made


def _tools(path: Path | None) -> tuple[Any, ...]:
    from tokbench.chat.conversation_files import parse_tools
    from tokbench.files.untrusted import read_named

    if path is None:
        return ()
    try:
        return tuple(parse_tools(read_named(path, limit=_MOST_TOOL_BYTES), name=str(path)))
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error.strerror or error}") from None


def _conversations(path: str) -> Iterator[ReadConversation]:
    from tokbench.chat.conversation_files import read_conversations

    if path == "-":
        yield from read_conversations(sys.stdin.buffer, name="stdin")
        return
    try:
        with Path(path).open("rb") as stream:
            yield from read_conversations(stream, name=path)
    except OSError as error:
        raise CorpusError(
            f"{path} cannot be read: {error.strerror or error}", hint="name a file of conversations, or -"
        ) from None


def _completed(each: ReadConversation, tools: tuple[Any, ...], variables: dict[str, Any]) -> Any:
    from dataclasses import replace

    conversation = each.conversation
    return replace(
        conversation,
        tools=conversation.tools or tools,
        variables={**conversation.variables, **variables},
    )


@contextmanager
def _naming(each: ReadConversation) -> Iterator[None]:
    """Say in an error of a conversation which one it is about."""
    from tokbench.errors import TemplateError, TextError

    try:
        yield
    except (TemplateError, TextError) as error:
        raise type(error)(f"{each.place}: {error.message}", hint=error.hint) from None


def _write_files(results: list[ChatResult], *, html: Path | None, npz: Path | None) -> None:
    from tokbench.files.atomic_file import write_file

    if npz is not None:
        import io

        import numpy as np

        if len(results) != 1:
            raise ConfigError(
                f"--npz writes one conversation, and there are {len(results)}",
                hint="`tokbench shards write --chat` writes many",
            )
        stream = io.BytesIO()
        np.savez(stream, **results[0].arrays())
        write_file(npz, stream.getvalue())
    if html is not None:
        from tokbench.render.chat_html import chat_page

        write_file(html, chat_page(results))
