"""Options for the arguments of a chat template."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path  # noqa: TC003 - typer reads the annotation
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tokbench.cli.options import first_given
from tokbench.errors import ConfigError, CorpusError

if TYPE_CHECKING:
    from collections.abc import Mapping

_PANEL = "Input of the chat template"
_MOST_TOOL_BYTES = 1 << 24


@dataclass(frozen=True, slots=True)
class TemplateInputs:
    """The arguments of a chat template besides the messages."""

    tools: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=_PANEL,
            help="JSON schemas of tools, for conversations that define none.",
        ),
    ] = None
    var: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            rich_help_panel=_PANEL,
            help="Set a variable of the template, as JSON or text; repeatable.",
        ),
    ] = None
    date: Annotated[
        str | None,
        typer.Option(
            metavar="YYYY-MM-DD",
            rich_help_panel=_PANEL,
            help="Today's date, for templates that use it.",
        ),
    ] = None

    @property
    def first_given(self) -> str | None:
        """Return the first of these options that is given, for commands in which they require another option."""
        return first_given({"--tools": self.tools, "--var": self.var, "--date": self.date})

    def day(self) -> datetime | None:
        """Return the date of --date. Raises `ConfigError`."""
        if self.date is None:
            return None
        try:
            return datetime.strptime(self.date, "%Y-%m-%d").replace(tzinfo=UTC)
        except ValueError:
            raise ConfigError(f"--date {self.date!r} is not a date", hint="write it as 2024-07-26") from None

    def variables(self) -> dict[str, Any]:
        """Parse the variables of --var: a value is JSON if it parses as such, otherwise text.

        Raises:
            ConfigError: a variable has no value.

        >>> TemplateInputs(var=["enable_thinking=false", "name=Ada"]).variables()
        {'enable_thinking': False, 'name': 'Ada'}
        """
        import orjson

        made: dict[str, Any] = {}
        for one in self.var or []:
            name, equals, value = one.partition("=")
            if not equals or not name.isidentifier():
                raise ConfigError(f"--var {one!r} has no value", hint="write it as enable_thinking=false")
            try:
                made[name] = orjson.loads(value)
            except orjson.JSONDecodeError:
                made[name] = value
        return made

    def tool_schemas(self) -> tuple[Mapping[str, Any], ...]:
        """Read the tools of --tools. Raises `CorpusError`, `ModelFormatError`."""
        from tokbench.chat.conversation_files import parse_tools
        from tokbench.files.untrusted import read_named

        if self.tools is None:
            return ()
        try:
            return tuple(parse_tools(read_named(self.tools, limit=_MOST_TOOL_BYTES), name=str(self.tools)))
        except OSError as error:
            raise CorpusError(f"{self.tools} cannot be read: {error.strerror or error}") from None
