"""The command that finds problems in a tokenizer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tokbench.cli import completion
from tokbench.cli.corpus_options import DocumentChoices, tell_problems
from tokbench.cli.options import ThreadsOption, name_option, refuse_combined, taking_groups
from tokbench.cli.output_options import ProgressOption, ResultChoices, refuse_folder
from tokbench.cli.tokenizer_options import DEFAULT, OpeningChoices, TokenizerOption
from tokbench.core.result_json import json_bytes
from tokbench.files.atomic import write_file
from tokbench.render.console import ProgressChoice, showing_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.lint.findings import Finding
    from tokbench.workbench.lint_text import TextFinding

_FAILED = 3
_OF_TEMPLATES = ("template", "bos-count", "turn-end-not-eos")


class FailOn(StrEnum):
    """The lowest severity for which the exit code is 3."""

    error = "error"
    warning = "warning"
    note = "note"
    never = "never"


@dataclass(frozen=True, slots=True)
class _TextChoices(DocumentChoices):
    """The text on which the tokenizer is checked; by default none."""

    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH",
            help="Text for the rules that need some: files, folders, patterns, URLs, or - for stdin.",
        ),
    ] = None


@taking_groups
def lint(
    *,
    documents: _TextChoices,
    tokenizer: TokenizerOption = DEFAULT,
    opening: OpeningChoices,
    reference: Annotated[
        str | None,
        name_option(
            completion.tokenizers,
            help="The tokenizer that this one is based on: finds swapped ids and changed merges.",
        ),
    ] = None,
    word_counts: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The counts of the training text's pre-tokens, as a JSON object or a folder of "
            "`tokbench count-words`: replays the training.",
        ),
    ] = None,
    model_vocab_size: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="The number of rows of the model's embedding: finds ids beyond them."
        ),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            autocompletion=completion.chat_templates,
            metavar="NAME|FILE",
            help="Check this chat template, and nothing else without --select: a built-in name, a Jinja file, or "
            "auto, the tokenizer's own.",
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Check this text instead, for special tokens, look-alikes and hidden characters: "
            "files or folders; repeatable.",
        ),
    ] = None,
    fix: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Write a copy with all safe repairs to this new folder."),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE,…",
            help="The rules to check: names, groups, or prefixes of these; repeatable.",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="RULE,…", help="The rules to leave out, given as for --select."),
    ] = None,
    fail_on: Annotated[
        FailOn, typer.Option(help="The lowest severity for which the exit code is 3.")
    ] = FailOn.error,
    show_all: Annotated[bool, typer.Option("--all", help="Show every finding of a rule.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the rules and exit.")] = False,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="RULE", help="Explain a rule and exit: what breaks, how it is found, what to do."
        ),
    ] = None,
    sarif: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the findings as SARIF 2.1.0.")
    ] = None,
    verdicts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write JSON Lines: for each token a text that encodes to it, or why there is none.",
        ),
    ] = None,
    threads: ThreadsOption = None,
    form: ResultChoices,
    progress: ProgressOption = "bar",
) -> None:
    """Find what is wrong with a tokenizer: exit code 3 if a finding is an error.

    Rules that count tokens on text run only with PATH.
    """
    import orjson

    from tokbench.render.lint import render_lint
    from tokbench.workbench.lint import lint_tokenizer, read_word_counts, refuse_tokenizers

    refuse_combined(
        {"--list": list_, "--explain": explain is not None, "--text": bool(text), "--fix": fix is not None},
        {
            "PATH": bool(documents.paths),
            "--reference": reference is not None,
            "--word-counts": word_counts is not None,
            "--model-vocab-size": model_vocab_size is not None,
            "--template": template is not None,
            "--select": bool(select),
            "--ignore": bool(ignore),
            "--all": show_all,
            "--sarif": sarif is not None,
            "--verdicts": verdicts is not None,
        },
        taken={"--text": ("--all",), "--fix": ("--select", "--ignore")},
    )
    refuse_folder(sarif, option="--sarif")
    refuse_folder(verdicts, option="--verdicts")
    if list_ or explain is not None:
        _show_rules(explain, form=form)
        return
    if text:
        texts = replace(documents, paths=text)
        findings = _lint_text(texts, tokenizer, opening, show_all=show_all, form=form, progress=progress)
        _exit(findings, fail_on)
        return
    if fix is not None:
        from tokbench.render.lint import render_fix
        from tokbench.workbench.lint_fix import fix_tokenizer

        fixed = fix_tokenizer(
            tokenizer, fix, request=opening.request(), select=select or (), ignore=ignore or ()
        )
        form.show(fixed, render_fix)
        _exit(fixed.left, fail_on)
        return
    if tokenizer == DEFAULT:
        refuse_tokenizers(documents.paths or ())
    corpus = documents.corpus() if documents.paths else None
    counts = None if word_counts is None else read_word_counts(word_counts)
    request = opening.request()
    with showing_progress(progress) as report:
        result = lint_tokenizer(
            tokenizer,
            corpus=corpus,
            word_counts=counts,
            reference=reference,
            select=select or (() if template is None else _OF_TEMPLATES),
            ignore=ignore or (),
            request=request,
            threads=threads,
            model_vocab_size=model_vocab_size,
            template=template,
            progress=report,
        )
    if corpus is not None:
        tell_problems(corpus)
    if verdicts is not None:
        write_file(verdicts, result.verdict_lines())
    if sarif is not None:
        write_file(sarif, json_bytes(result.to_sarif(), option=orjson.OPT_INDENT_2))
    form.show(result, partial(render_lint, shown=None) if show_all else render_lint)
    _exit(result.findings, fail_on)


def _exit(findings: Sequence[Finding | TextFinding], fail_on: FailOn) -> None:
    """End with exit code 3 if a finding is as severe as --fail-on."""
    from tokbench.lint.findings import Severity, reached

    if fail_on is not FailOn.never and reached(findings, Severity(fail_on.value)):
        raise typer.Exit(_FAILED)


def _lint_text(
    documents: DocumentChoices,
    tokenizer: str,
    opening: OpeningChoices,
    *,
    show_all: bool,
    form: ResultChoices,
    progress: ProgressChoice,
) -> Sequence[TextFinding]:
    """Report what is dangerous in a text, and return it."""
    from tokbench.render.lint import render_text_lint
    from tokbench.workbench.lint_text import lint_text

    corpus = documents.corpus()
    with showing_progress(progress) as report:
        result = lint_text(tokenizer, corpus, request=opening.request(), progress=report)
    tell_problems(corpus)
    form.show(result, partial(render_text_lint, shown=None) if show_all else render_text_lint)
    return result.findings


def _show_rules(name: str | None, *, form: ResultChoices) -> None:
    """Show one rule, or all. Raises `ConfigError`."""
    from tokbench.lint.catalogue import rule_named
    from tokbench.render.lint import render_rule, render_rules
    from tokbench.workbench.lint import list_rules

    if name is None:
        form.show(list_rules(), render_rules)
    else:
        form.show(rule_named(name), render_rule)
