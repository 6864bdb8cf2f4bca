"""The charts and reports that are written beside what is printed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tokbench.errors import ConfigError
from tokbench.files.atomic_file import write_file
from tokbench.render.charts.drawing import check_plot_file, drawn

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokbench.corpus import Corpus
    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.report import Report
    from tokbench.evaluation.sweep import Sweep
    from tokbench.metrics.metric import Metric
    from tokbench.render.charts.layout import Spec
    from tokbench.render.html.report import Curve

HtmlOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Also write an HTML report: tables, charts, and the tokens of sample lines."
    ),
]
PlotOption = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Also write a chart, as .svg or .png; repeatable."),
]


@dataclass(frozen=True, slots=True)
class Pictures:
    """The files that are written beside what is printed.

    Attributes:
        html: the report, or None.
        plots: charts.
    """

    html: Path | None
    plots: tuple[Path, ...]

    def refuse_several(self) -> None:
        """Raise `ConfigError` where something is to be drawn of several reports."""
        if self.html is not None or self.plots:
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
        """Write them, each whole or not at all. Raises `StoreError`, `CorpusError`."""
        if self.html is not None:
            _write_page(self.html, comparison, corpus, metrics=metrics, report=report)
        if self.plots:
            from tokbench.render.charts.comparison import compression_chart

            _write_plots(self.plots, compression_chart(comparison))

    def write_sweep(self, sweep: Sweep, corpus: Corpus, *, seed: int) -> None:
        """The same of a sweep; its page shows the largest tokenizer too. Raises `StoreError`, `CorpusError`."""
        if self.html is not None:
            from tokbench.render.html.report import page_curve
            from tokbench.workbench.sweep import compare_largest

            comparison = compare_largest(sweep, corpus, seed=seed)
            _write_page(self.html, comparison, corpus, curve=page_curve(sweep))
        if self.plots:
            from tokbench.render.charts.sweep import sweep_chart
            from tokbench.render.sweep import curve_of

            _write_plots(self.plots, sweep_chart(curve_of(sweep), sweep.knee, sweep.recommended))


def _write_page(
    path: Path,
    comparison: Comparison,
    corpus: Corpus,
    *,
    metrics: Sequence[Metric] | None = None,
    report: Report | None = None,
    curve: Curve | None = None,
) -> None:
    from tokbench.evaluation.samples import samples_of
    from tokbench.render.html.report import html_report

    samples = samples_of(comparison, corpus)
    write_file(path, html_report(comparison, samples, metrics=metrics, report=report, curve=curve))


def _write_plots(paths: Iterable[Path], chart: Spec) -> None:
    for path in paths:
        write_file(path, drawn(chart, path))


@dataclass(frozen=True, slots=True)
class PictureChoices:
    """What is drawn beside what is printed."""

    html: HtmlOption = None
    plot: PlotOption = None

    def pictures(self) -> Pictures:
        """Read the options, before any work. Raises `ConfigError`, `BackendUnavailableError`."""
        plots = tuple(self.plot or ())
        for option, path in (("--html", self.html), *(("--plot", plot) for plot in plots)):
            if path is not None and path.is_dir():
                raise ConfigError(f"{path} is a folder", hint=f"{option} names the file to write")
        for plot in plots:
            check_plot_file(plot)
        if self.html is not None:
            from tokbench.render.html.report import require_report

            require_report()
        return Pictures(html=self.html, plots=plots)
