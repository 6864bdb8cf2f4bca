"""Options for the format of results and pictures, and for the files to write."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path  # noqa: TC003 - typer reads the annotation
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import typer

from tokbench.errors import ConfigError
from tokbench.files.atomic import write_file
from tokbench.render.console import ColorChoice, ProgressChoice, as_text, make_console, print_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import Console

    from tokbench.corpus import Corpus
    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.report import Report
    from tokbench.evaluation.superword_sweep import SuperwordSweep
    from tokbench.evaluation.sweep import Sweep
    from tokbench.metrics.metric import Metric
    from tokbench.render.charts.layout import Spec
    from tokbench.render.table import Form, Forms

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
ColorOption = Annotated[
    ColorChoice, typer.Option(help="When to use colour; auto: on a terminal, unless NO_COLOR is set.")
]
ProgressOption = Annotated[
    ProgressChoice, typer.Option(help="How to show progress on stderr; a bar is shown on a terminal only.")
]

_ENDINGS: dict[str, Form] = {".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex"}
"""The form of a file whose name ends so, where no option names another."""
_OTHER_FORMATS = {
    ".html",
    ".htm",
    ".svg",
    ".png",
    ".pdf",
    ".jsonl",
    ".tsv",
    ".xml",
    ".yaml",
    ".yml",
    ".xlsx",
    ".parquet",
}
"""Endings of files that are no text as the terminal shows it."""

_FORM = {"json", "csv", "markdown", "latex", "out", "html", "plot", "color", "progress", "metrics", "times"}
"""Options that say how figures are shown."""


def refuse_folder(out: Path | None, *, option: str = "--out") -> None:
    """Raise `ConfigError`, before any work, if the value of a file option is a folder."""
    if out is not None and out.is_dir():
        raise ConfigError(f"{out} is a folder", hint=f"{option} names the file to write")


class HasJson(Protocol):
    """A result with a JSON form."""

    def to_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""


@dataclass(frozen=True, slots=True)
class ResultChoices:
    """Options for printing a result: JSON or text, and colour."""

    json: JsonFlag = False
    color: ColorOption = "auto"

    def show(self, result: HasJson, render: Callable[..., None]) -> None:
        """Print a result as JSON, or with a function that renders it on a console."""
        if self.json:
            print_json(result.to_json())
        else:
            render(result, console=make_console(color=self.color))


@dataclass(frozen=True, slots=True)
class Output:
    """The parsed options for the output.

    Attributes:
        form: the form.
        out: the file, or None for stdout.
        color: "auto", "always" or "never".
    """

    form: Form
    out: Path | None
    color: Literal["auto", "always", "never"]

    def write(self, forms: Forms, render: Callable[[Console], None]) -> None:
        """Print the result, or write it to the file atomically.

        Args:
            forms: a function for each format except the terminal's.
            render: renders the result on a console.

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
    """Options for the format of figures and the output file."""

    json: JsonFlag = False
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV instead.")] = False
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False
    latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX table.")] = False
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the output to a file, atomically; the suffix .json, .csv, .md or .tex sets the format unless "
            "an option does.",
        ),
    ] = None
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
                f"--{forms[0]} and --{forms[1]} contradict each other", hint="give one of them, or neither"
            )
        refuse_folder(self.out)
        return Output(form=forms[0] if forms else self._named_form(), out=self.out, color=self.color)

    def _named_form(self) -> Form:
        """Return the format that the file's suffix names. Raises `ConfigError` if it names another one."""
        suffix = "" if self.out is None else self.out.suffix.lower()
        if suffix in _OTHER_FORMATS:
            *endings, last = _ENDINGS
            raise ConfigError(
                f"--out {self.out} names a format that is not written",
                hint=f"end it in {', '.join(endings)} or {last}, or .txt for what the terminal shows",
            )
        return _ENDINGS.get(suffix, "terminal")


def asked_for(context: typer.Context) -> dict[str, Any]:
    """Return the arguments of a command that differ from their defaults and affect its figures, as plain data."""
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


@dataclass(frozen=True, slots=True)
class PictureChoices:
    """Options for pictures in addition to the printed result."""

    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also write an HTML report: tables, charts, and the tokens of sample lines."
        ),
    ] = None
    plot: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Also write a chart, as .svg or .png; repeatable."),
    ] = None

    def check(self) -> None:
        """Raise `ConfigError` or `BackendUnavailableError`, before any work, if a picture could not be written."""
        if self.html is None and not self.plot:
            return
        from tokbench.render.charts.layout import check_plot_file, require_vl_convert

        refuse_folder(self.html, option="--html")
        for plot in self.plot or ():
            refuse_folder(plot, option="--plot")
            check_plot_file(plot)
        if self.html is not None:
            require_vl_convert("an HTML report")

    def refuse_several(self) -> None:
        """Raise `ConfigError` if pictures of several reports are requested."""
        if self.html is not None or self.plot:
            option = "--plot" if self.html is None else "--html"
            raise ConfigError(
                f"{option} draws the report of one tokenizer",
                hint="`tokbench compare` draws several together",
            )

    def write(
        self,
        comparison: Comparison,
        corpus: Corpus,
        *,
        metrics: Sequence[Metric] | None = None,
        report: Report | None = None,
    ) -> None:
        """Write the pictures, each atomically. Raises `StoreError`, `CorpusError`."""
        if self.html is not None:
            _write_page(self.html, comparison, corpus, metrics=metrics, report=report)
        if self.plot:
            from tokbench.render.charts.comparison import compression_chart

            _write_plots(self.plot, compression_chart(comparison))

    def write_sweep(self, sweep: Sweep, corpus: Corpus, *, seed: int) -> None:
        """Write the pictures of a sweep; its page also shows the largest one. Raises `StoreError`, `CorpusError`."""
        if self.html is not None:
            from tokbench.workbench.sweep import compare_largest

            comparison = compare_largest(sweep, corpus, seed=seed)
            _write_page(self.html, comparison, corpus, sweep=sweep)
        if self.plot:
            from tokbench.render.charts.sweep import sweep_chart
            from tokbench.render.sweep import curve_of

            _write_plots(self.plot, sweep_chart(curve_of(sweep), sweep.knee, sweep.recommended))

    def write_superword_sweep(self, sweep: SuperwordSweep) -> None:
        """Write the chart of a sweep of superwords. Raises `StoreError`."""
        if self.plot:
            from tokbench.render.charts.sweep import sweep_chart
            from tokbench.render.sweep import curve_through

            chart = sweep_chart(
                curve_through(sweep.points),
                None,
                title=f"Compression by superwords, {sweep.vocab_size:,} tokens",
                axis="tokens after which merges cross spaces",
            )
            _write_plots(self.plot, chart)


def _write_page(
    path: Path,
    comparison: Comparison,
    corpus: Corpus,
    *,
    metrics: Sequence[Metric] | None = None,
    report: Report | None = None,
    sweep: Sweep | None = None,
) -> None:
    from tokbench.evaluation.samples import samples_of
    from tokbench.render.html.report import html_report

    samples = samples_of(comparison, corpus)
    write_file(path, html_report(comparison, samples, metrics=metrics, report=report, sweep=sweep))


def _write_plots(paths: Iterable[Path], chart: Spec) -> None:
    from tokbench.render.charts.layout import drawn

    for path in paths:
        write_file(path, drawn(chart, path))
