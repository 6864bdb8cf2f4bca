"""In which form results are written, and where to."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tokbench.errors import ConfigError
from tokbench.files.atomic_file import write_file
from tokbench.render.console import ColorChoice, as_text, make_console
from tokbench.render.progress import ProgressChoice

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from tokbench.render.exports import Form, Forms

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
CsvFlag = Annotated[bool, typer.Option("--csv", help="Print CSV: a row for each metric and group.")]
MarkdownFlag = Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")]
LatexFlag = Annotated[bool, typer.Option("--latex", help="Print a LaTeX table.")]
OutOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the output to a file, atomically.")
]
ColorOption = Annotated[
    ColorChoice, typer.Option(help="When to use colour; auto: on a terminal, unless NO_COLOR is set.")
]
ProgressOption = Annotated[
    ProgressChoice, typer.Option(help="How to show progress on stderr; a bar is shown on a terminal only.")
]

_FORM = {"json", "csv", "markdown", "latex", "out", "html", "plot", "color", "progress", "metrics", "times"}
"""Options that say how figures are shown."""


def refuse_folder(out: Path | None) -> None:
    """Raise `ConfigError`, before any work, where --out names a folder."""
    if out is not None and out.is_dir():
        raise ConfigError(f"{out} is a folder", hint="--out names the file to write")


@dataclass(frozen=True, slots=True)
class Output:
    """What the options say of the output.

    Attributes:
        form: the form.
        out: the file, or None for stdout.
        color: "auto", "always" or "never".
    """

    form: Form
    out: Path | None
    color: Literal["auto", "always", "never"]

    def write(self, forms: Forms, render: Callable[[Console], None]) -> None:
        """Print, or write to the file, which is written whole or not at all.

        Args:
            forms: what each form but the terminal's looks like.
            render: shows it on a console.

        Raises:
            StoreError: the file cannot be written.
        """
        if self.form == "terminal" and self.out is None:
            render(make_console(color=self.color))
            return
        data = as_text(render).encode() if self.form == "terminal" else forms[self.form]()
        if self.out is not None:
            write_file(self.out, data)
        else:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()


@dataclass(frozen=True, slots=True)
class OutputChoices:
    """In which form figures are written, and where to."""

    json: JsonFlag = False
    csv: CsvFlag = False
    markdown: MarkdownFlag = False
    latex: LatexFlag = False
    out: OutOption = None
    color: ColorOption = "auto"

    def output(self) -> Output:
        """Read the options, before any work. Raises `ConfigError`."""
        flags: dict[Form, bool] = {
            "json": self.json,
            "csv": self.csv,
            "markdown": self.markdown,
            "latex": self.latex,
        }
        forms = [form for form, is_set in flags.items() if is_set]
        if len(forms) > 1:
            raise ConfigError(
                f"--{forms[0]} and --{forms[1]} exclude each other", hint="give one of them, or neither"
            )
        refuse_folder(self.out)
        return Output(form=forms[0] if forms else "terminal", out=self.out, color=self.color)


def asked_for(context: typer.Context) -> dict[str, Any]:
    """The arguments of a command that are not so by default and that its figures depend on, as plain data."""
    return {
        name: _plain(value)
        for name, value in context.params.items()
        if name not in _FORM and (source := context.get_parameter_source(name)) and source.name != "DEFAULT"
    }


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Enum):
        return value.value
    return value if value is None or isinstance(value, bool | int | float) else str(value)
