"""The findings of `tokbench lint --text`: a line for each document and check, the most severe first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.plurals import counted
from tokbench.render.glyphs import visible
from tokbench.render.lint import STYLES, print_remedies, severities
from tokbench.render.terminal import grid, print_table, unbroken

if TYPE_CHECKING:
    from rich.console import Console

    from tokbench.workbench.lint_text import TextFinding, TextLint

_SHOWN = 40


def render_text_lint(result: TextLint, *, console: Console, shown: int | None = _SHOWN) -> None:
    """The findings by severity, then by document.

    Args:
        result: them.
        console: where they go.
        shown: how many; None for all.
    """
    order = list(STYLES)
    worst = sorted(result.findings, key=lambda finding: (order.index(finding.severity), finding.document))
    table = grid("label", "label", "text", "text")
    for finding in worst[:shown]:
        table.add_row(
            Text(finding.severity.value, style=STYLES[finding.severity]),
            Text(finding.check, style="bold"),
            Text(visible(_where(finding))),
            Text(unbroken(visible(_evidence(finding)))),
        )
    if worst:
        print_table(table, console=console)
    if shown is not None and len(worst) > shown:
        console.print(Text(f"and {len(worst) - shown:,} more (--all, --json)", style="dim"))
    remedies = dict.fromkeys(f"{finding.check}: {finding.remedy}" for finding in worst[:shown])
    print_remedies(remedies, console=console)
    console.print(_summary(result))


def _where(finding: TextFinding) -> str:
    first = finding.places[0]
    return f"{finding.source}, line {first.line}, column {first.column}"


def _evidence(finding: TextFinding) -> str:
    more = "" if finding.count == 1 else f" ({finding.count:,} times)"
    return finding.places[0].evidence + more


def _summary(result: TextLint) -> Text:
    text = Text.assemble((visible(result.info.name), "bold"), ": ")
    text.append(f"{result.flagged:,} of {counted(result.documents, 'document')} flagged, ")
    return text.append_text(severities(result.by_severity))
