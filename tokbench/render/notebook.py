"""Results as HTML fragments for notebooks: no scripts, nothing loaded, styles included."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from itertools import islice
from typing import TYPE_CHECKING

from tokbench.core.tokens import Segmentation
from tokbench.core.wording import counted
from tokbench.errors import ConfigError
from tokbench.evaluation.comparison import Comparison
from tokbench.evaluation.report import Report
from tokbench.evaluation.sweep import Sweep
from tokbench.render.comparison import comparison_parts
from tokbench.render.glyphs import visible
from tokbench.render.report import report_parts
from tokbench.render.sweep import sweep_parts
from tokbench.render.table import BEST, Table
from tokbench.render.viz_files import TOKEN_STYLE, shown_result, token_list
from tokbench.workbench.viz import VizResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokbench.core.tokens import ShownInNotebooks
    from tokbench.render.table import Cell, Column

_MOST_TOKENS = 2000
"""Maximum number of tokens that are drawn per text, as a notebook stores its output."""

_STYLE = f"""<style>.tokbench{{overflow-x:auto;
table{{border-collapse:collapse;margin:.5rem 0}}
caption{{text-align:left;font-weight:700;white-space:nowrap}}
th,td{{text-align:right;padding:.15rem .6rem;white-space:nowrap}}
.text{{text-align:left;white-space:normal}}
{TOKEN_STYLE}}}</style>"""


def as_html(result: ShownInNotebooks) -> str:
    """Render a result as an HTML fragment, as a notebook displays it.

    Args:
        result: a segmentation, a result of `tok.viz`, a comparison, a sweep or a report. Only the first 2,000 tokens of
            a text are drawn.

    Returns:
        One element with its own styles: it runs no scripts and loads nothing, and all text in it is escaped.

    Raises:
        ConfigError: it has another type.

    >>> from tokbench.core.tokens import Segmentation, Span, Token, TokenKind
    >>> hi = Token(7, b"Hi", Span(0, 2), TokenKind.NORMAL)
    >>> 'title="id 7, bytes 48 69' in as_html(Segmentation("Hi", (hi,)))
    True
    """
    match result:
        case Segmentation():
            body = _segmentation(result)
        case VizResult():
            body = _viz(result)
        case Comparison():
            body = _written(comparison_parts(result))
        case Sweep():
            body = _written(sweep_parts(result))
        case Report():
            body = _written(report_parts(result))
        case _:
            raise ConfigError(
                f"{type(result).__name__} has no HTML representation",
                hint="as_html takes a segmentation, what tok.viz gives, a comparison, a sweep or a report",
            )
    return f'<div class="tokbench">{_STYLE}\n{"".join(body)}</div>\n'


# --- tokens -----------------------------------------------------------------------------------


def _segmentation(segmentation: Segmentation) -> Iterator[str]:
    yield token_list(_beginning(segmentation))
    size = counted(len(segmentation.text.encode()), "byte")
    yield f"<p>{counted(len(segmentation.tokens), 'token')} of {size}{_left_out(segmentation)}</p>\n"


def _viz(result: VizResult) -> Iterator[str]:
    views = tuple(replace(view, segmentation=_beginning(view.segmentation)) for view in result.views)
    yield from shown_result(VizResult(result.text, views))
    for view in result.views:
        if left_out := _left_out(view.segmentation):
            yield f"<p>{escape(visible(view.info.name))}: {counted(view.tokens, 'token')}{left_out}</p>\n"


def _beginning(segmentation: Segmentation) -> Segmentation:
    """Return the first tokens of a long text, and the text that they cover."""
    if len(segmentation.tokens) <= _MOST_TOKENS:
        return segmentation
    tokens = tuple(islice(segmentation.tokens, _MOST_TOKENS))
    reached = max(token.span.stop for token in tokens)
    return Segmentation(segmentation.text.encode()[:reached].decode(errors="ignore"), tokens)


def _left_out(segmentation: Segmentation) -> str:
    return f", the first {_MOST_TOKENS:,} shown" if len(segmentation.tokens) > _MOST_TOKENS else ""


# --- tables -----------------------------------------------------------------------------------


def _written(parts: Iterable[Table | str]) -> Iterator[str]:
    for part in parts:
        yield _table(part) if isinstance(part, Table) else f"<p>{escape(part)}</p>\n"


def _table(table: Table) -> str:
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    heads = "".join(_head(column) for column in table.columns)
    rows = "".join(
        f"<tr>{''.join(_cell(cell, column) for cell, column in zip(row, table.columns, strict=True))}</tr>\n"
        for row in table.rows
    )
    return f"<table>{caption}<thead><tr>{heads}</tr></thead>\n<tbody>{rows}</tbody></table>\n"


def _head(column: Column) -> str:
    meaning = f' title="{escape(column.meaning)}"' if column.meaning else ""
    return f"<th scope=col{_side(column)}{meaning}>{escape(column.title)}</th>"


def _cell(cell: Cell, column: Column) -> str:
    words = f"<b>{escape(cell.text + BEST)}</b>" if cell.best else escape(cell.text)
    return f"<td{_side(column)}>{words}</td>"


def _side(column: Column) -> str:
    return " class=text" if column.align == "left" else ""
