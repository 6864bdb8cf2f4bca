"""The command that fails when a metric violates a threshold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tokbench.cli import completion
from tokbench.cli.corpus_options import DocumentChoices, GroupByOption, as_before, tell_problems
from tokbench.cli.engine_options import EvaluationChoices, PartedOpeningChoices, counts_share
from tokbench.cli.options import ThreadsOption, name_option, taking_groups
from tokbench.cli.output_options import ColorOption, JsonFlag, ProgressOption, refuse_folder
from tokbench.errors import ConfigError, ModelFormatError
from tokbench.files.atomic import write_file
from tokbench.files.untrusted import read_named, unreadable
from tokbench.files.untrusted_json import load_strict_json
from tokbench.render.check import as_junit
from tokbench.render.console import make_console, print_json, showing_progress

_FELL_SHORT = 3
_MAX_BASELINE_BYTES = 64 << 20


@taking_groups
def check(
    command: typer.Context,
    *,
    tokenizer: Annotated[
        list[str],
        name_option(completion.tokenizers, "--tokenizer", "-t", help="A tokenizer to check; repeatable."),
    ],
    min: Annotated[
        list[str] | None,
        typer.Option(
            autocompletion=completion.bounds,
            metavar="METRIC=N",
            help="The minimum of a metric; GROUP:METRIC=N for a group; repeatable.",
        ),
    ] = None,
    max: Annotated[
        list[str] | None,
        typer.Option(
            autocompletion=completion.bounds,
            metavar="METRIC=N",
            help="The maximum of a metric, premium or gini; GROUP:METRIC=N for a group; repeatable.",
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The output of `compare --json`: no metric, premium or gini may be worse than in it, on all text and "
            "in each group. The text, how it is read, and --aggregate are taken from it.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC,…",
            help="Check only these metrics against the baseline; GROUP:METRIC for a group; repeatable.",
        ),
    ] = None,
    except_: Annotated[
        list[str] | None,
        typer.Option(
            "--except",
            metavar="METRIC,…",
            help="Do not check these metrics against the baseline; GROUP:METRIC for a group; repeatable.",
        ),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SHARE",
            help="The tolerance against the baseline, e.g. 1%; METRIC=SHARE for one metric; repeatable.",
        ),
    ] = None,
    other_text: Annotated[
        bool, typer.Option("--other-text", help="Allow a baseline that was measured on another text.")
    ] = False,
    reference: Annotated[
        str | None, typer.Option(metavar="GROUP", help="The language that premiums are relative to.")
    ] = None,
    documents: DocumentChoices,
    group_by: GroupByOption = "auto",
    threads: ThreadsOption = None,
    opening: PartedOpeningChoices,
    parts: EvaluationChoices,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the findings as JUnit XML.")
    ] = None,
    json: JsonFlag = False,
    color: ColorOption = "auto",
    progress: ProgressOption = "bar",
) -> None:
    """Fail when a metric violates a threshold: exit code 3, and a list of violations."""
    from tokbench.evaluation.baseline import parse_policy, read_saved
    from tokbench.evaluation.thresholds import checked_document, parse_threshold
    from tokbench.render.check import render_checked
    from tokbench.workbench.check import check_thresholds

    thresholds = [
        *(parse_threshold(text, bound="min") for text in min or []),
        *(parse_threshold(text, bound="max") for text in max or []),
    ]
    if not thresholds and baseline is None:
        raise ConfigError(
            "there is nothing to check", hint="--min bytes_per_token=3.5, or --baseline saved.json"
        )
    if baseline is None and (only or except_ or tolerance or other_text):
        raise ConfigError(
            "--only, --except, --tolerance and --other-text need a baseline",
            hint="name one with --baseline",
        )
    refuse_folder(junit, option="--junit")
    saved = None if baseline is None else read_saved(_saved(baseline))
    policy = parse_policy(only=only or (), excepted=except_ or (), tolerances=tolerance or ())
    if saved is not None:
        documents, group_by = as_before(saved.arguments, documents, group_by, command)
    with showing_progress(progress) as report:
        report("reading", 0, None, "files")
        corpus = documents.corpus(group_by=group_by, written=parts.parts)
        opened = [opening.open(name, progress=progress) for name in tokenizer]
        with parts.work(opening.of_work, opening.named(tokenizer), threads=threads) as work:
            means = saved is not None and saved.aggregation == "per_document"
            if counts_share(work, corpus, opened, means=means, progress=report):
                return
            checked = check_thresholds(
                corpus,
                tokenizers=opened,
                thresholds=thresholds,
                saved=saved,
                policy=policy,
                other_text=other_text,
                reference_group=reference,
                threads=threads,
                work=work,
                progress=report,
            )
    tell_problems(corpus)
    if junit is not None:
        write_file(junit, as_junit(checked.findings))
    if json:
        print_json(checked_document(checked))
    else:
        render_checked(checked, console=make_console(color=color))
    if not checked.passed:
        raise typer.Exit(_FELL_SHORT)


def _saved(path: Path) -> Any:
    try:
        return load_strict_json(read_named(path, limit=_MAX_BASELINE_BYTES), path=path)
    except (OSError, ModelFormatError) as error:
        raise unreadable("baseline", path, error, hint="write it with `tokbench compare --json`") from None
