"""Options for metrics: which to show, the mix of text that weights them, and the model for costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tokbench.cli import completion
from tokbench.cli.options import tokens_option
from tokbench.errors import ConfigError
from tokbench.evaluation.costs import Model
from tokbench.metrics.catalogue import METRICS, metrics_named
from tokbench.metrics.explanations import BESIDE

if TYPE_CHECKING:
    from tokbench.cli.output_options import OutputChoices
    from tokbench.metrics.metric import Metric

_ALL, _HELP = "all", "help"
_PARAMETER_BYTES = 2.0

MetricsOption = Annotated[
    str | None,
    typer.Option(
        autocompletion=completion.metrics,
        metavar="NAME,…",
        help="The metrics to show; `all` shows all, `help` explains them.",
    ),
]


MixOption = Annotated[
    str | None,
    typer.Option(
        metavar="GROUP=W,…",
        help="The expected mix of text as shares of bytes, e.g. en=0.6,de=0.3,code=0.1, normalized to 1: ranks "
        "tokenizers by its cost. A name is a group, or the folder `code` or `parallel` for all groups in it.",
    ),
]


ReferenceOption = Annotated[
    str | None,
    typer.Option(metavar="GROUP", help="The language that premiums are relative to; by default English."),
]


def tells_metrics(names: str | None, form: OutputChoices) -> bool:
    """Explain all metrics if `--metrics help` was given; return whether it was."""
    if _HELP not in _named(names):
        return False
    from tokbench.render.listings import metric_help_forms, render_metric_help

    form.output().write(metric_help_forms(), lambda console: render_metric_help(console=console))
    return True


def chosen_metrics(names: str | None) -> tuple[Metric, ...] | None:
    """Return the metrics of `--metrics`, or None. Raises `ConfigError` with the closest names."""
    if names is None:
        return None
    chosen = _named(names)
    if not chosen:
        raise ConfigError("--metrics names no metric", hint=f"`--metrics {_HELP}` lists them")
    for name in chosen:
        if name in (figure.name for figure in BESIDE):
            raise ConfigError(
                f"{name} is not chosen by --metrics",
                hint="it is shown beside the metrics wherever it applies",
            )
    found = metrics_named(name for name in chosen if name != _ALL)
    return tuple(METRICS.values()) if _ALL in chosen else found


def _named(names: str | None) -> list[str]:
    return [name.strip() for name in (names or "").split(",") if name.strip()]


@dataclass(frozen=True, slots=True)
class ModelChoices:
    """The parameters of the model; there are no defaults."""

    model_dim: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The model's width (hidden size).")
    ] = None
    layers: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The number of attention layers.")
    ] = None
    kv_heads: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The number of key-value heads per layer.")
    ] = None
    head_dim: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The size of an attention head.")
    ] = None
    context: Annotated[int | None, tokens_option(help="The context length in tokens, e.g. 8192 or 128k.")] = (
        None
    )
    parameter_bytes: Annotated[
        float,
        typer.Option(metavar="N", min=0.125, max=64, help="The bytes per parameter and per cached value."),
    ] = _PARAMETER_BYTES
    price: Annotated[
        float | None,
        typer.Option(metavar="N", min=0, max=100_000, help="The price of a million tokens, e.g. 2.50."),
    ] = None

    def model(self) -> Model:
        """Return the model that the options describe. Raises `ConfigError` for an option that no figure uses."""
        if unused := self._unused():
            option, others = unused
            raise ConfigError(f"{option} needs {others}", hint=f"add what is missing, or leave out {option}")
        return Model(
            dim=self.model_dim,
            layers=self.layers,
            kv_heads=self.kv_heads,
            head_dim=self.head_dim,
            context=self.context,
            bytes_per_parameter=self.parameter_bytes,
            price=self.price,
        )

    def _unused(self) -> tuple[str, str] | None:
        """Return an option that no figure of cost uses, and the options that it needs."""
        is_cached = None not in (self.layers, self.kv_heads, self.head_dim)
        if self.kv_heads is not None and not is_cached:
            return "--kv-heads", "--layers and --head-dim"
        if self.head_dim is not None and not is_cached:
            return "--head-dim", "--layers and --kv-heads"
        if self.model_dim is not None or is_cached:
            return None
        if self.layers is not None:
            return "--layers", "--model-dim, or --kv-heads and --head-dim"
        if self.parameter_bytes != _PARAMETER_BYTES:
            return "--parameter-bytes", "--model-dim, or --layers, --kv-heads and --head-dim"
        return None


def chosen_mix(text: str | None) -> dict[str, float] | None:
    """Parse --mix. Raises `ConfigError`."""
    from tokbench.evaluation.mix import parse_mix

    return None if text is None else parse_mix(text)
