"""The findings of `tokbench lint` by rule, the most severe first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.wording import counted
from tokbench.render.glyphs import visible
from tokbench.render.terminal import print_grid, print_rows, unbroken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import Console

    from tokbench.lint.findings import Finding, Severity
    from tokbench.lint.rules import Outcome, Rule
    from tokbench.workbench.lint import LintResult, RuleList
    from tokbench.workbench.lint_fix import FixResult
    from tokbench.workbench.lint_text import TextFinding, TextLint

_SHOWN = 8
STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan"}

_TEXTS_SHOWN = 40


def render_lint(result: LintResult, *, console: Console, shown: int | None = _SHOWN) -> None:
    """Print the findings by rule.

    Args:
        result: the findings.
        console: the console to print to.
        shown: number of findings per rule; None for all.
    """
    has_figures: set[str] = set()
    for severity in STYLES:
        for outcome in result.outcomes:
            findings = [finding for finding in outcome.findings if finding.severity == severity]
            if findings:
                figures = "" if outcome.rule.name in has_figures else _figures(outcome)
                has_figures.add(outcome.rule.name)
                _print_title(severity, outcome.rule.name, len(findings), figures=figures, console=console)
                _print_findings(findings, console=console, shown=shown)
                console.print()
    counted_only = [outcome for outcome in result.outcomes if outcome.figures and not outcome.findings]
    for outcome in counted_only:
        row = Text(outcome.rule.name, style="bold"), Text(_figures(outcome), style="dim")
        print_grid([row], console=console)
    if counted_only:
        console.print()
    _render_skipped(result.outcomes, console=console)
    ran = sum(outcome.skipped is None for outcome in result.outcomes)
    found = severities(result.by_severity)
    console.print(
        Text.assemble((visible(result.info.name), "bold"), ": ", found, f" from {counted(ran, 'rule')}")
    )


def render_rules(found: RuleList, *, console: Console) -> None:
    """Print a line per rule."""
    rows = (
        (Text(rule.name, style="bold"), Text(rule.group), _severity(rule.severity), Text(rule.breaks))
        for rule in found.rules
    )
    print_grid(rows, console=console)


def render_rule(rule: Rule, *, console: Console) -> None:
    """Print the page of a rule: what breaks, how it is found, the remedy."""
    console.print(Text.assemble((rule.name, "bold"), f"  {rule.group}  ", _severity(rule.severity)))
    print_rows(
        [("breaks", Text(rule.breaks)), ("found", Text(rule.found)), ("remedy", Text(rule.remedy))],
        console=console,
    )


def print_remedies(remedies: Iterable[str], *, console: Console) -> None:
    """Print remedies, each wrapped after its arrow."""
    print_grid(((Text("  →"), Text(visible(remedy))) for remedy in remedies), console=console)


def _print_title(severity: str, rule: str, findings: int, *, figures: str, console: Console) -> None:
    title = Text.assemble((severity, STYLES[severity]), "  ", (rule, "bold"))
    console.print(title.append(f"  {counted(findings, 'finding')}", style="dim"))
    if figures:
        print_grid([(Text(), Text(figures, style="dim"))], console=console)


def _print_findings(findings: Sequence[Finding], *, console: Console, shown: int | None) -> None:
    rows = (
        (Text(), *(Text(unbroken(visible(text))) for text in (finding.subject, finding.evidence)))
        for finding in findings[:shown]
    )
    print_grid(rows, num_texts=2, console=console)
    if shown is not None and len(findings) > shown:
        console.print(Text(f"  and {len(findings) - shown:,} more (--all, --json)", style="dim"))
    print_remedies(dict.fromkeys(finding.remedy for finding in findings[:shown]), console=console)


def _render_skipped(outcomes: Iterable[Outcome], *, console: Console) -> None:
    """Print the rules that were not checked, grouped by reason."""
    reasons: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.skipped is not None:
            reasons.setdefault(outcome.skipped, []).append(outcome.rule.name)
    rows = (
        ("" if number else "skipped", Text(f"{', '.join(names)}: {visible(reason)}", style="dim"))
        for number, (reason, names) in enumerate(reasons.items())
    )
    print_rows(rows, console=console)


def _figures(outcome: Outcome) -> str:
    """Format the counts of a rule, such as `reachable 50,243, undecided 0`."""
    figures = outcome.figures.items()
    return visible(", ".join(f"{name.replace('_', ' ')} {_written(value)}" for name, value in figures))


def _written(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def _severity(severity: Severity) -> Text:
    return Text(severity.value, style=STYLES[severity])


def severities(by_severity: Mapping[Severity, int]) -> Text:
    """Format the number of findings of each severity."""
    return Text(", ").join(
        Text(counted(count, severity.value), style=STYLES[severity] if count else "")
        for severity, count in by_severity.items()
    )


def render_fix(result: FixResult, *, console: Console) -> None:
    """Print the repairs, then the remaining findings, then the folder of the copy."""
    print_grid(_repair_rows(result), console=console)
    if result.out is None:
        console.print(Text("nothing written: no finding has a safe repair"))
    else:
        if result.not_copied:
            console.print(Text(f"not copied: {visible(', '.join(result.not_copied))}", style="dim"))
        same = f"the same ids on {counted(result.texts, 'text')}"
        console.print(Text(f"{visible(str(result.out))}: {counted(len(result.repairs), 'repair')}, {same}"))


def _repair_rows(result: FixResult) -> Iterator[tuple[Text, Text, Text]]:
    for repair in result.repairs:
        change = Text(visible(f"{repair.file}: {repair.change}"))
        yield Text("repaired", style="green"), Text(repair.finding.rule, style="bold"), change
    for reason, findings in result.left_by_reason.items():
        for finding in findings:
            why = Text(unbroken(visible(f"{finding.subject}: {finding.evidence}")))
            yield Text("left", style="yellow"), Text(finding.rule, style="bold"), why
        yield Text(), Text("→"), Text(reason, style="dim")


def render_text_lint(result: TextLint, *, console: Console, shown: int | None = _TEXTS_SHOWN) -> None:
    """Print the findings by severity, then by document.

    Args:
        result: the findings.
        console: the console to print to.
        shown: number of findings; None for all.
    """
    order = list(STYLES)
    worst = sorted(result.findings, key=lambda finding: (order.index(finding.severity), finding.document))
    print_grid(map(_text_row, worst[:shown]), num_texts=2, console=console)
    if shown is not None and len(worst) > shown:
        console.print(Text(f"and {len(worst) - shown:,} more (--all, --json)", style="dim"))
    remedies = dict.fromkeys(f"{finding.check}: {finding.remedy}" for finding in worst[:shown])
    print_remedies(remedies, console=console)
    flagged = f"{result.flagged:,} of {counted(result.documents, 'document')} flagged, "
    found = severities(result.by_severity)
    console.print(Text.assemble((visible(result.info.name), "bold"), ": ", flagged, found))


def _text_row(finding: TextFinding) -> tuple[Text, Text, Text, Text]:
    first = finding.places[0]
    place = f"{finding.source}, line {first.line}, column {first.column}"
    more = "" if finding.count == 1 else f" ({finding.count:,} times)"
    return (
        _severity(finding.severity),
        Text(finding.check, style="bold"),
        Text(visible(place)),
        Text(unbroken(visible(first.evidence + more))),
    )
