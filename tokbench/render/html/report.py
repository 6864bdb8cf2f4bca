"""The HTML report: its parts and its tables, in a page that loads nothing and runs only its own script."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench import __version__
from tokbench.core.result_json import json_bytes
from tokbench.core.tokens import TokenKind
from tokbench.evaluation.evaluated_tokenizer import best_of
from tokbench.evaluation.holdout import gaps_of
from tokbench.metrics.catalogue import METRICS
from tokbench.render.charts import comparison as charts
from tokbench.render.charts.comparison import LONGEST_TOKEN, token_lengths
from tokbench.render.charts.layout import Frame, require_vl_convert, svg
from tokbench.render.charts.sweep import sweep_chart, words_of_size
from tokbench.render.charts.theme import DARK, LIGHT, PAGE
from tokbench.render.comparison import groups_table, premiums_table
from tokbench.render.comparison_tables import headline_of, legend_lines, mix_table, summary_table
from tokbench.render.figures import shown
from tokbench.render.glyphs import visible
from tokbench.render.html.samples import samples_document
from tokbench.render.report_tables import depth_tables
from tokbench.render.sweep import (
    curve_of,
    legend_of_sweep,
    sentences_of,
    sizes_by_group,
    sizes_table,
    subtitle_of,
)
from tokbench.render.table import Cell, Column, Table, count_column, text_column, value_column
from tokbench.render.token_view import CUBE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.color import Color

    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.report import Report
    from tokbench.evaluation.samples import Sample
    from tokbench.evaluation.sweep import Sweep
    from tokbench.metrics.metric import Metric
    from tokbench.render.charts.layout import Spec
    from tokbench.render.charts.sweep import Point

_WIDE, _NARROW = 560, 350

_AGGREGATED = {
    "pooled": "Figures are pooled: ratios of sums over all text.",
    "macro": "Figures are means over groups.",
    "per_document": "Figures are means over documents.",
}


@dataclass(frozen=True, slots=True)
class _Figure:
    """A chart in a wide and a narrow version, with its figures as a table."""

    title: str
    caption: str
    wide: str
    narrow: str
    table: Table | None


def html_report(
    comparison: Comparison,
    samples: Sequence[Sample] = (),
    *,
    metrics: Sequence[Metric] | None = None,
    sweep: Sweep | None = None,
    report: Report | None = None,
) -> bytes:
    """Render a comparison as one HTML file: sortable tables, charts, and the tokens of samples.

    The page loads nothing, runs only its own script, and escapes all text. The same comparison gives the same bytes.

    Args:
        comparison: the comparison.
        samples: the lines that its viewer shows, see `tokbench.evaluation.samples`.
        metrics: the columns of the summary; by default the most important metrics.
        sweep: a sweep, whose sizes and recommendation are shown first.
        report: an in-depth report of one tokenizer.

    Raises:
        BackendUnavailableError: vl-convert-python is not installed.

    Usage:

        path.write_bytes(html_report(comparison, samples_of(comparison, corpus)))
    """
    require_vl_convert("an HTML report")
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["visible"] = visible
    # Paper is always light.
    dark = f"@media screen and (prefers-color-scheme:dark){{:root{{{DARK.variables()}}}}}"
    style = f":root{{{LIGHT.variables()}{_token_colors()}}}\n{dark}\n{_read_resource('report.css')}"
    script = _read_resource("report.js")
    sizes, setup = None if sweep is None else _sizes_of(sweep), comparison.training_setup
    heading = "Tokenizers compared" if len(comparison.tokenizers) > 1 else "A tokenizer evaluated"
    page = environment.from_string(_read_resource("report.html.j2")).render(
        comparison=comparison,
        aggregation=_AGGREGATED[comparison.aggregation],
        heading=sizes["title"] if sizes else heading,
        sizes=sizes,
        depth=[] if report is None else list(depth_tables(report)),
        gaps=list(gaps_of(setup.shares)) if setup is not None and sweep is None else [],
        version=__version__,
        policy=_policy(style=style, script=script),
        style=Markup(style),  # noqa: S704 -- our own file
        script=Markup(script),  # noqa: S704 -- our own file
        summary=summary_table(comparison, metrics=metrics),
        legend=list(legend_lines(comparison, metrics=metrics, mark="bold, *:")),
        mix=mix_table(comparison),
        figures=list(_figures(comparison, metrics, sweep)),
        drawing=Markup,
        everything=figures_table(comparison),
        provenance=provenance_table(comparison),
        samples=bool(samples),
        data=Markup(_json(samples_document(comparison, samples))),  # noqa: S704 -- escaped there
    )
    return page.encode()


def _sizes_of(sweep: Sweep) -> dict[str, Any]:
    """Return what the page shows of a sweep, except the chart."""
    first, last = sweep.points[0].vocab_size, sweep.points[-1].vocab_size
    by_group = sizes_by_group(sweep)
    return {
        "title": f"Vocabulary sizes of {sweep.backend}: {first:,} to {last:,} tokens",
        "subtitle": subtitle_of(sweep),
        "sentences": list(sentences_of(sweep)),
        "legend": list(legend_of_sweep(sweep)),
        "tables": [sizes_table(sweep), *([] if by_group is None else [by_group])],
    }


def _read_resource(name: str) -> str:
    return files("tokbench.render.html").joinpath(name).read_text("utf-8")


def _policy(*, style: str, script: str) -> str:
    """Return the content security policy, which allows only this style and this script, by their hashes."""
    allowed = {
        "default-src": "'none'",
        "style-src": _hash_of(style),
        "script-src": _hash_of(script),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{what} {source}" for what, source in allowed.items())


def _hash_of(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _json(document: dict[str, Any]) -> str:
    r"""Serialize JSON, escaped for a script element.

    >>> _json({"a": "</script>"})
    '{"a":"\\u003c/script\\u003e"}'
    """
    text = json_bytes(document).decode()
    return text.translate({ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


# --- colours --------------------------------------------------------------------------------------


def _token_colors() -> str:
    """Return the terminal's token colours as CSS variables, shared by dark and light pages."""
    variables: dict[str, Color | None] = {}
    for kind in (TokenKind.NORMAL, TokenKind.SPECIAL, TokenKind.UNKNOWN):
        looks = CUBE.tokens[kind]
        variables |= {f"{kind.value}-{turn}": look.text.bgcolor for turn, look in enumerate(looks)}
        variables |= {
            f"{kind.value}-ink": looks[0].text.color,
            f"{kind.value}-faint": looks[0].stand_in.color,
        }
    colors = ((name, color) for name, color in variables.items() if color is not None)
    return "".join(f"--{name}:{color.get_truecolor().hex};" for name, color in colors)


# --- charts ---------------------------------------------------------------------------------------


def _figures(
    comparison: Comparison, metrics: Sequence[Metric] | None, sweep: Sweep | None
) -> Iterator[_Figure]:
    headline = headline_of(metrics)
    drawings: list[tuple[Callable[[Frame], Spec | None], Table | None]] = [
        (
            lambda frame: charts.compression_chart(comparison, metric=headline, frame=frame),
            groups_table(comparison, headline),
        ),
        (lambda frame: charts.premium_chart(comparison, frame=frame), premiums_table(comparison)),
        (lambda frame: charts.length_chart(comparison, frame=frame), lengths_table(comparison)),
        (lambda frame: charts.frequency_chart(comparison, frame=frame), frequencies_table(comparison)),
    ]
    if sweep is not None:
        of_sweep = curve_of(sweep), sweep.knee, sweep.recommended
        drawings.insert(0, (lambda frame: sweep_chart(*of_sweep, frame=frame), sweep_table(*of_sweep)))
    for draw, table in drawings:
        figure = _figure(draw, table)
        if figure is not None:
            yield figure


def _figure(draw: Callable[[Frame], Spec | None], table: Table | None) -> _Figure | None:
    wide, narrow = (draw(Frame(width, PAGE)) for width in (_WIDE, _NARROW))
    if wide is None or narrow is None:
        return None
    # The page renders titles in its own font.
    title, none = wide["title"], {"title": None}
    return _Figure(title["text"], title["subtitle"], svg(wide | none), svg(narrow | none), table)


def figures_table(comparison: Comparison) -> Table:
    """Return a table with a row per metric: its meaning, and its value for each tokenizer."""
    metrics = METRICS.values()
    best = {metric.name: best_of(comparison.tokenizers, metric) for metric in metrics}
    columns = [
        Column(
            visible(tokenizer.name),
            tuple(
                Cell(shown(value, metric), value, best=best[metric.name] == tokenizer.name)
                for metric in metrics
                for value in (tokenizer.figures[metric.name].value,)
            ),
        )
        for tokenizer in comparison.tokenizers
    ]
    return Table(
        "All figures",
        (
            text_column("figure", (metric.title for metric in metrics)),
            *columns,
            text_column(
                "name", (metric.name for metric in metrics), meaning="as --metrics, JSON and CSV call it"
            ),
            text_column("meaning", (metric.meaning for metric in metrics)),
        ),
    )


def provenance_table(comparison: Comparison) -> Table:
    """Return a table with a row per tokenizer: its backend, its engine, and the hash of its tokens."""
    provenance = comparison.provenance
    names = [tokenizer.name for tokenizer in comparison.tokenizers]
    return Table(
        f"tokbench {provenance.versions['tokbench']}, Python {provenance.versions['python']}",
        (
            text_column("tokenizer", names),
            text_column(
                "backend", (tokenizer.candidate.tokenizer.info.backend for tokenizer in comparison.tokenizers)
            ),
            text_column("runs on", (provenance.versions[name] for name in names)),
            text_column("SHA-256 of the tokens", (provenance.vocabularies[name] for name in names)),
        ),
    )


def lengths_table(comparison: Comparison) -> Table:
    """Return a table with a row per length in bytes: the share of each tokenizer's tokens."""
    shares = [token_lengths(tokenizer).tolist() for tokenizer in comparison.tokenizers]
    lengths = [length for length, values in enumerate(zip(*shares, strict=True)) if length or any(values)]
    heads = (Cell(f"{length}+" if length == LONGEST_TOKEN else str(length), length) for length in lengths)
    return Table(
        "Share of tokens by their bytes",
        (
            Column("bytes", tuple(heads), first="ascending"),
            *(
                value_column(visible(tokenizer.name), (found[length] for length in lengths), "{:.2%}".format)
                for tokenizer, found in zip(comparison.tokenizers, shares, strict=True)
            ),
        ),
    )


def frequencies_table(comparison: Comparison) -> Table:
    """Return a table with a row per rank 1, 10, 100, …: the share of each tokenizer's token of that rank."""
    found = [
        np.sort(tokenizer.evaluation.frequencies[tokenizer.evaluation.frequencies > 0])[::-1]
        for tokenizer in comparison.tokenizers
    ]
    ranks = [10**power for power in range(len(str(max(map(len, found)))))]
    columns = []
    for tokenizer, sizes in zip(comparison.tokenizers, found, strict=True):
        shares = (float(sizes[rank - 1] / sizes.sum()) if rank <= len(sizes) else None for rank in ranks)
        columns.append(value_column(visible(tokenizer.name), shares, "{:.4%}".format))
    return Table("Share of tokens by rank", (count_column("rank", ranks, first="ascending"), *columns))


def sweep_table(points: Iterable[Point], knee: int | None, recommended: int | None) -> Table:
    """Return a table with a row per vocabulary size: bytes per token of each group; the recommended size is marked."""
    values = {(size, group): value for size, value, group in points}
    sizes, groups = sorted({size for size, _ in values}), list(dict.fromkeys(group for _, group in values))
    heads = (
        Cell(_marked(size, words_of_size(size, knee, recommended)), size, best=size == recommended)
        for size in sizes
    )
    return Table(
        "Bytes per token by vocabulary size",
        (
            Column("vocab", tuple(heads), first="ascending"),
            *(
                value_column(visible(group), (values.get((size, group)) for size in sizes), "{:.3f}".format)
                for group in groups
            ),
        ),
    )


def _marked(size: int, words: str) -> str:
    return f"{size:,} ({words})" if words else f"{size:,}"
