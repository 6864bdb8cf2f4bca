"""The command that lists text by group."""

from __future__ import annotations

from tokbench.cli.corpus_options import (
    MAX_DOCUMENT,
    TEXT_FIELD,
    ErrorsOption,
    GroupByOption,
    MaxDocumentOption,
    PathsArgument,
    TextFieldOption,
    tell_problems,
    tell_records,
)
from tokbench.cli.options import parse_bytes, taking_groups
from tokbench.cli.output_options import ResultChoices
from tokbench.corpus import bundled_corpus, open_corpus
from tokbench.workbench.corpus import describe_bundled_corpus, describe_corpus


@taking_groups
def corpus(
    *,
    paths: PathsArgument = None,
    group_by: GroupByOption = "auto",
    text_field: TextFieldOption = None,
    errors: ErrorsOption = "strict",
    max_document_bytes: MaxDocumentOption = MAX_DOCUMENT,
    form: ResultChoices,
) -> None:
    """List text by group: the bundled texts with their licences, or your own."""
    from tokbench.render.listings import render_corpus

    opened = None
    if paths:
        opened = open_corpus(
            *paths,
            group_by=group_by,
            text_field=text_field or TEXT_FIELD,
            errors=errors,
            max_document_bytes=parse_bytes(max_document_bytes, option="--max-document-bytes"),
        )
        tell_records(opened, text_field)
        result = describe_corpus(opened, place=" ".join(paths))
    elif group_by != "auto":
        opened = bundled_corpus(group_by=group_by)
        result = describe_corpus(opened, place="bundled with tokbench")
    else:
        result = describe_bundled_corpus()
    if opened is not None:
        tell_problems(opened)
    form.show(result, render_corpus)
