"""What a comparison was made of: texts, vocabularies, versions, and why its figures may look better than they are."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench import __version__
from tokbench.core.capabilities import KnowsTrainingText
from tokbench.corpus.fingerprint import line_overlap, overlap
from tokbench.evaluation.figures import percent
from tokbench.metrics.vocabulary import vocabulary_hash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.core.documents import TextIdentity
    from tokbench.core.interfaces import Tokenizer
    from tokbench.evaluation.candidates import Candidate
    from tokbench.evaluation.corpus_scan import CorpusFacts
    from tokbench.metrics.vocabulary import Vocabulary

_BOILERPLATE = 0.02
"""Share of lines that unrelated programs by the same authors have in common; smaller overlaps are ignored."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """The corpus, vocabularies, versions and arguments of a comparison, and warnings.

    Attributes:
        corpus: fingerprint of the evaluated documents, independent of their order.
        vocabularies: tokenizer → SHA-256 of its tokens and special tokens.
        versions: versions of "tokbench" and "python", and the kernel of each tokenizer.
        arguments: the user's arguments that differ from the defaults.
        warnings: reasons why figures look better than they are, one sentence each.
    """

    corpus: str
    vocabularies: Mapping[str, str]
    versions: Mapping[str, str]
    arguments: Mapping[str, Any]
    warnings: tuple[str, ...]


def provenance_of(
    names: Sequence[str],
    candidates: Sequence[Candidate],
    vocabularies: Sequence[Vocabulary],
    evaluated_on: CorpusFacts,
    *,
    arguments: Mapping[str, Any],
) -> Provenance:
    """Collect the provenance of a comparison."""
    tokenizers = [candidate.tokenizer for candidate in candidates]
    return Provenance(
        corpus=evaluated_on.identity.fingerprint,
        vocabularies={
            name: vocabulary_hash(vocabulary, tokenizer.info.special_tokens)
            for name, tokenizer, vocabulary in zip(names, tokenizers, vocabularies, strict=True)
        },
        versions={
            **{name: tokenizer.info.kernel for name, tokenizer in zip(names, tokenizers, strict=True)},
            "tokbench": __version__,
            "python": platform.python_version(),
        },
        arguments=dict(arguments),
        warnings=tuple(
            f"{name} was trained on {part}: its figures are better than on unseen text"
            for name, tokenizer in zip(names, tokenizers, strict=True)
            if isinstance(tokenizer, KnowsTrainingText)
            and (part := _part_seen(tokenizer.training_text, evaluated_on)) is not None
        ),
    )


def knows_training_text(tokenizer: Tokenizer) -> bool:
    """Whether a tokenizer knows the identity of its training text."""
    return isinstance(tokenizer, KnowsTrainingText) and tokenizer.training_text is not None


def _part_seen(trained_on: TextIdentity | None, evaluated_on: CorpusFacts) -> str | None:
    """Return the part of the evaluated text that was trained on, in words; None if none is known.

    Lines are compared, so that their division into documents does not matter; if no lines can be compared, documents.
    """
    if trained_on is None:
        return None
    if trained_on.fingerprint == evaluated_on.identity.fingerprint:
        return "this text"
    if trained_on.lines is not None:
        if trained_on.lines.fingerprint == evaluated_on.lines_read.fingerprint:
            return "this text"
        share = line_overlap(trained_on.lines, evaluated_on.lines_read)
        if share is not None:
            return _overlap_in_words(share, "lines") if share > _BOILERPLATE else None
    return _overlap_in_words(overlap(trained_on, evaluated_on.identity), "documents")


def _overlap_in_words(share: float | None, unit: str) -> str | None:
    if not share:
        return None
    return f"all {unit} of this text, and others" if share == 1 else f"{percent(share)} of these {unit}"
