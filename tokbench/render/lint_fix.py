"""What `tokbench lint --fix` changed, and what it left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.plurals import counted
from tokbench.render.glyphs import visible
from tokbench.render.terminal import grid, print_table, unbroken

if TYPE_CHECKING:
    from rich.console import Console

    from tokbench.workbench.lint_fix import FixResult


def render_fix(result: FixResult, *, console: Console) -> None:
    """The repairs, then what is left, then where the copy is."""
    table = grid("label", "label", "text")
    for repair in result.repairs:
        table.add_row(
            Text("repaired", style="green"),
            Text(repair.finding.rule, style="bold"),
            Text(visible(f"{repair.file}: {repair.change}")),
        )
    for reason, findings in result.left_by_reason.items():
        for finding in findings:
            table.add_row(
                Text("left", style="yellow"),
                Text(finding.rule, style="bold"),
                Text(unbroken(visible(f"{finding.subject}: {finding.evidence}"))),
            )
        table.add_row(Text(), Text("→"), Text(reason, style="dim"))
    if result.repairs or result.left:
        print_table(table, console=console)
    if result.out is None:
        console.print(Text("nothing written: there is nothing that can be repaired with certainty"))
    else:
        if result.not_copied:
            console.print(Text(f"not copied: {visible(', '.join(result.not_copied))}", style="dim"))
        same = f"the same ids on {counted(result.texts, 'text')}"
        console.print(Text(f"{visible(str(result.out))}: {counted(len(result.repairs), 'repair')}, {same}"))
