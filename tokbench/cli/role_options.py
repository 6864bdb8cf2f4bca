"""Options for the roles of special tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tokbench.errors import ConfigError, ModelFormatError
from tokbench.files.untrusted import decode_text, read_named, unreadable

if TYPE_CHECKING:
    from pathlib import Path

_MAX_TEMPLATE_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class RoleChoices:
    """The roles that the user assigns to tokens of an opened tokenizer."""

    role: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=TEXT",
            rich_help_panel="Opening the tokenizer",
            help="Set the role of a token, overriding the tokenizer's files: bos, eos, pad, unk, mask, "
            "cls, sep or turn_end; repeatable.",
        ),
    ] = None

    def roles(self) -> dict[str, str]:
        """Return role → text. Raises `ConfigError`."""
        return parsed_roles(self.role or [])


def parsed_roles(given: list[str]) -> dict[str, str]:
    """Parse ROLE=TEXT options; the text may contain "=". Raises `ConfigError`."""
    roles: dict[str, str] = {}
    for one in given:
        role, equals, text = one.partition("=")
        if not equals or not text:
            raise ConfigError(f"--role {one!r} names no token", hint="write it as --role 'bos=<|bos|>'")
        if role in roles:
            raise ConfigError(f"the role {role!r} is given twice", hint="give it one token")
        roles[role] = text
    return roles


def read_template(path: Path | None) -> str | None:
    """Read a chat template. Raises `ConfigError`."""
    if path is None:
        return None
    try:
        return decode_text(read_named(path, limit=_MAX_TEMPLATE_BYTES), path=path)
    except (OSError, ModelFormatError) as error:
        raise unreadable("chat template", path, error) from None
