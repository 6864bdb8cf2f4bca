"""Tests for `--metrics help`: it explains every figure that is shown, with its unit and direction."""

from __future__ import annotations

import csv
import io

import orjson
import pytest
from rich.cells import cell_len
from rich.console import Console

from tokbench.metrics.catalogue import METRICS
from tokbench.metrics.explanations import EXPLAINED
from tokbench.render.listings import metric_help_forms, render_metric_help


def test_every_metric_is_explained_once() -> None:
    names = [metric.name for metric in EXPLAINED]
    assert names[: len(METRICS)] == list(METRICS)
    assert len(set(names)) == len(names)
    assert {"relative_tokens", "premium", "max_premium", "gini", "tokens_per_byte"} <= set(names)
    assert all(metric.unit and metric.meaning and metric.title for metric in EXPLAINED)


def test_every_format_has_the_same_metrics() -> None:
    forms = metric_help_forms()
    names = [metric.name for metric in EXPLAINED]
    assert [metric["name"] for metric in orjson.loads(forms["json"]())["metrics"]] == names
    assert [row["name"] for row in csv.DictReader(io.StringIO(forms["csv"]().decode()))] == names
    for form in ("markdown", "latex"):
        text = forms[form]().decode().replace("\\", "")
        assert all(name in text for name in names)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_output_fits_the_terminal_width(width: int) -> None:
    text = io.StringIO()
    render_metric_help(console=Console(file=text, width=width, color_system=None, highlight=False))
    lines = text.getvalue().splitlines()
    assert max(cell_len(line.rstrip()) for line in lines) <= width
    joined = " ".join(" ".join(lines).split())
    for metric in EXPLAINED:
        assert metric.name in joined
        assert metric.unit in joined
