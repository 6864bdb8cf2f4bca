"""Rules about the class of transformers that a folder names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.wording import quoted
from tokbench.lint.class_pipeline import (
    flags_lost_by_class,
    kind_of_class,
    other_pipeline,
    other_vocabulary_kind,
    spelled_parts,
    takes_file_as_it_is,
)
from tokbench.lint.findings import Found, Severity
from tokbench.lint.piece_pipelines import classes_of_pieces, differences_of_classes
from tokbench.lint.rules import DoesNotApplyError, document_of, rules_of
from tokbench.opening.config_files import CONFIG
from tokbench.opening.contradictions import contradictions
from tokbench.opening.recognition import Format
from tokbench.opening.tokenizer_classes import json_beside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.lint.target import LintTarget

_rule = rules_of("files")

NEWER_CLASSES = ("TokenizersBackend", "PythonBackend", "SentencePieceBackend", "MistralCommonBackend")
"""Values of tokenizer_class that only transformers 5 knows."""


@_rule(
    name="class-disagrees",
    severity=Severity.WARNING,
    breaks="`transformers` builds another tokenizer for tokenizer_class than the vocabulary's own file: ids differ.",
    found="What its versions build for the class, if known, is compared with tokenizer.json or the .model, on texts.",
    remedy="Write PreTrainedTokenizerFast, which uses tokenizer.json unchanged, or the right class; convert a .model.",
)
def _class(target: LintTarget) -> Iterator[Found]:
    if target.opened.source.format is Format.SENTENCEPIECE:
        yield from _class_of_pieces(target)
        return
    document = document_of(target)
    name = target.opened.source.config.tokenizer_class
    if name is None or kind_of_class(name) is None:
        raise DoesNotApplyError("no tokenizer_class says how its vocabulary works")
    if takes_file_as_it_is(target):
        raise DoesNotApplyError("by its model_type, transformers takes tokenizer.json as it is")
    if (lost := flags_lost_by_class(target, name)) is not None:
        yield Found(subject=f"tokenizer_class {name}", evidence=lost)
    if (said := other_vocabulary_kind(target, name)) is not None:
        yield Found(subject=f"tokenizer_class {name}", evidence=said)
    elif (other := other_pipeline(target, name)) is not None:
        shown = (
            "no text was found on which they differ"
            if other.text is None
            else f"{quoted(other.text)} is {other.ours} by the file, and {other.theirs} by the class"
        )
        settings = [] if target.folder is None else contradictions(document, folder=target.folder)
        but = ", ".join(found.option for found in settings)
        yield Found(
            subject=f"tokenizer_class {name}",
            evidence=f"transformers 5 builds another {spelled_parts(other.parts)} for it than tokenizer.json has, "
            f"which version 4 takes as it is{f' but for {but}' if but else ''}: {shown}",
            severity=None if other.text is not None else Severity.NOTE,
            details={"parts": other.parts, "text": other.text},
        )


def _class_of_pieces(target: LintTarget) -> Iterator[Found]:
    if not classes_of_pieces(target):
        raise DoesNotApplyError("no class is named that makes a tokenizer of its own of the model")
    for difference in differences_of_classes(target):
        first = difference.examples[0]
        shown = "; ".join(
            f"{quoted(example.text)} is {example.ours} by the model, and {example.theirs} by the class"
            for example in difference.examples
        )
        yield Found(
            subject=str(difference.made_by),
            evidence=f"it makes a pipeline {'and merges ' if difference.has_merges else ''}of its own: {shown}",
            severity=Severity.NOTE if difference.is_rare else None,
            details={"text": first.text, "differing": difference.differing, "tried": difference.tried},
        )


@_rule(
    name="needs-transformers-5",
    severity=Severity.NOTE,
    breaks="AutoTokenizer of transformers 4.57, and of tools that require it, cannot open the folder.",
    found="Reported for a tokenizer_class that only version 5 has, and for a list of extra_special_tokens.",
    remedy="Write PreTrainedTokenizerFast and additional_special_tokens, as --fix does: both versions open them.",
)
def _newer_version(target: LintTarget) -> Iterator[Found]:
    config = {} if target.folder is None else json_beside(target.folder / CONFIG)
    if not config:
        raise DoesNotApplyError(f"no {CONFIG} is beside it")
    name = config.get("tokenizer_class")
    if name in NEWER_CLASSES:
        yield Found(
            subject=f"tokenizer_class {name}",
            evidence="transformers 4.57 has no such class, and fails",
            details={"field": "tokenizer_class"},
        )
    extra = config.get("extra_special_tokens", {})
    if not isinstance(extra, dict):
        kind = "a list" if isinstance(extra, list) else "not an object"
        yield Found(
            subject="extra_special_tokens",
            evidence=f"it is {kind}: transformers 4.57 expects an object of names and tokens, and fails",
            details={"field": "extra_special_tokens"},
        )


RULES = (_class, _newer_version)
