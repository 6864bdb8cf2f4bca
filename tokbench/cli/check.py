"""The command that holds tokenizers to bounds, for CI."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tokbench.cli import completion
from tokbench.cli.corpora import DocumentChoices, GroupByOption
from tokbench.cli.opening import OpeningChoices
from tokbench.cli.option_groups import taking_groups
from tokbench.cli.options import ColorChoice, ColorOption, JsonFlag, ProgressChoice, ProgressOption
from tokbench.cli.texts import tell_problems

_FELL_SHORT = 3
_MAX_BASELINE_BYTES = 64 << 20


@taking_groups
def check(
    *,
    tokenizer: Annotated[
        list[str],
        typer.Option(
            "--tokenizer",
            "-t",
            autocompletion=completion.tokenizers,
            metavar="NAME",
            help="A tokenizer to check; several times.",
        ),
    ],
    min: Annotated[
        list[str] | None,
        typer.Option(
            autocompletion=completion.bounds,
            metavar="METRIC=N",
            help="A figure that must not be lower; GROUP:METRIC=N for a group.",
        ),
    ] = None,
    max: Annotated[
        list[str] | None,
        typer.Option(
            autocompletion=completion.bounds,
            metavar="METRIC=N",
            help="A figure that must not be higher; also premium=N and gini=N.",
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What `compare --json` printed: no figure may be worse now."),
    ] = None,
    tolerance: Annotated[
        str, typer.Option(metavar="SHARE", help="How much worse than the baseline is allowed, as 1%.")
    ] = "0",
    reference: Annotated[
        str | None, typer.Option(metavar="GROUP", help="The language that premiums are taken over.")
    ] = None,
    documents: DocumentChoices,
    group_by: GroupByOption = "auto",
    threads: Annotated[int | None, typer.Option(metavar="N", min=1, help="Threads. By default all.")] = None,
    opening: OpeningChoices,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the findings as JUnit XML too.")
    ] = None,
    json: JsonFlag = False,
    color: ColorOption = ColorChoice.auto,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Hold tokenizers to bounds: exit code 3, and what fell short, where one is not kept."""
    from tokbench import judging
    from tokbench.errors import ConfigError
    from tokbench.evaluation.gates import findings_document, parse_gate, parse_number
    from tokbench.render.console import make_console, print_json
    from tokbench.render.gates import render_findings
    from tokbench.render.junit import as_junit
    from tokbench.render.progress import showing_progress
    from tokbench.store.file import write_file

    gates = [
        *(parse_gate(text, bound="min") for text in min or []),
        *(parse_gate(text, bound="max") for text in max or []),
    ]
    if not gates and baseline is None:
        raise ConfigError(
            "there is nothing to check", hint="--min bytes_per_token=3.5, or --baseline saved.json"
        )
    saved = None if baseline is None else _saved(baseline)
    allowed = parse_number(tolerance)
    with showing_progress(progress.value) as report:
        report("reading", 0, None, "files")
        corpus = documents.corpus(group_by=group_by)
        findings = judging.check(
            corpus,
            tokenizers=[opening.open(name, progress=progress) for name in tokenizer],
            gates=gates,
            saved=saved,
            tolerance=allowed,
            reference_group=reference,
            threads=threads,
            progress=report,
        )
    tell_problems(corpus)
    if junit is not None:
        write_file(junit, as_junit(findings))
    if json:
        print_json(findings_document(findings))
    else:
        render_findings(findings, console=make_console(color=color.value))
    if not all(finding.passed for finding in findings):
        raise typer.Exit(_FELL_SHORT)


def _saved(path: Path) -> Any:
    from tokbench.errors import ConfigError, ModelFormatError
    from tokbench.reading import load_json, read_named

    try:
        return load_json(read_named(path, limit=_MAX_BASELINE_BYTES), path=path)
    except (OSError, ModelFormatError) as error:
        raise ConfigError(
            f"the baseline {path} cannot be read: {error}", hint="write it with `tokbench compare --json`"
        ) from None
