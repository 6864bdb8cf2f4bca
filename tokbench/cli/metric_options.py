"""Which metrics a command shows, and what explains them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tokbench.cli import completion
from tokbench.metrics.catalogue import METRICS, metrics_named

if TYPE_CHECKING:
    from tokbench.cli.output_options import OutputChoices
    from tokbench.metrics.metric import Metric

_ALL, _HELP = "all", "help"

MetricsOption = Annotated[
    str | None,
    typer.Option(
        autocompletion=completion.metrics,
        metavar="NAME,…",
        help="The metrics to show; `all` shows all, `help` explains them.",
    ),
]


def tells_metrics(names: str | None, form: OutputChoices) -> bool:
    """Whether `--metrics help` was asked for; then every figure has been explained."""
    from tokbench.render.metric_help import metric_help_forms, render_metric_help

    if (names or "").strip() != _HELP:
        return False
    form.output().write(metric_help_forms(), lambda console: render_metric_help(console=console))
    return True


def chosen_metrics(names: str | None) -> tuple[Metric, ...] | None:
    """The metrics of `--metrics`, None where it was not given. Raises `ConfigError` with the nearest names."""
    chosen = [name.strip() for name in (names or "").split(",") if name.strip()]
    return tuple(METRICS.values()) if chosen == [_ALL] else metrics_named(chosen) or None
