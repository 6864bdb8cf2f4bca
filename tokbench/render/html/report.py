"""The HTML report: its parts, and a page that loads nothing and runs only its own script."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tokbench import __version__
from tokbench.core.result_json import json_bytes
from tokbench.core.tokens import TokenKind
from tokbench.evaluation.holdout import gaps_of
from tokbench.render.charts import comparison as charts
from tokbench.render.charts.layout import Frame, require_vl_convert, svg
from tokbench.render.charts.sweep import sweep_chart
from tokbench.render.charts.theme import DARK, LIGHT, PAGE
from tokbench.render.comparison.group_tables import groups_table, premiums_table
from tokbench.render.comparison.tables import headline_of, legend_lines, mix_table, summary_table
from tokbench.render.glyphs import visible
from tokbench.render.html import tables
from tokbench.render.html.samples import samples_document
from tokbench.render.palette import CUBE
from tokbench.render.report.tables import depth_tables
from tokbench.render.sweep import (
    curve_of,
    legend_of_sweep,
    sentences_of,
    sizes_by_group,
    sizes_table,
    subtitle_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.color import Color

    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.report import Report
    from tokbench.evaluation.samples import Sample
    from tokbench.evaluation.sweep import Sweep
    from tokbench.metrics.metric import Metric
    from tokbench.render.charts.layout import Spec
    from tokbench.render.table import Table

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
        everything=tables.figures_table(comparison),
        provenance=tables.provenance_table(comparison),
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
        (lambda frame: charts.length_chart(comparison, frame=frame), tables.lengths_table(comparison)),
        (lambda frame: charts.frequency_chart(comparison, frame=frame), tables.frequencies_table(comparison)),
    ]
    if sweep is not None:
        of_sweep = curve_of(sweep), sweep.knee, sweep.recommended
        drawings.insert(0, (lambda frame: sweep_chart(*of_sweep, frame=frame), tables.sweep_table(*of_sweep)))
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
