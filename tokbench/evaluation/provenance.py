"""What a comparison was made of, so that it can be made again, and whether a tokenizer was judged on its own text."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench import __version__
from tokbench.corpus.fingerprint import overlap
from tokbench.evaluation.wording import percent
from tokbench.interfaces import KnowsTrainingText

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.evaluation.contestants import Contestant
    from tokbench.interfaces import TextIdentity
    from tokbench.metrics.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where figures come from.

    Attributes:
        corpus: the fingerprint of the documents that were judged on, whatever their order.
        vocabularies: tokenizer → sha256 of its entries and special tokens.
        versions: "tokbench", "python" and what runs each tokenizer.
        arguments: what was asked for that is not so by default.
        warnings: what makes figures look better than they are, a sentence each.
    """

    corpus: str
    vocabularies: Mapping[str, str]
    versions: Mapping[str, str]
    arguments: Mapping[str, Any]
    warnings: tuple[str, ...]


def provenance_of(
    names: Sequence[str],
    contestants: Sequence[Contestant],
    vocabularies: Sequence[Vocabulary],
    judged_on: TextIdentity,
    *,
    arguments: Mapping[str, Any],
) -> Provenance:
    """Identify what was compared, and on what."""
    tokenizers = [one.tokenizer for one in contestants]
    return Provenance(
        corpus=judged_on.fingerprint,
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
            f"{name} was trained on {part}: its figures are better than on text it never saw"
            for name, tokenizer in zip(names, tokenizers, strict=True)
            if isinstance(tokenizer, KnowsTrainingText)
            and (part := _part_seen(tokenizer.training_text, judged_on)) is not None
        ),
    )


def _part_seen(trained_on: TextIdentity | None, judged_on: TextIdentity) -> str | None:
    """Which part of a text was trained on, in words; None for none of it, as far as is known."""
    if trained_on is None:
        return None
    if trained_on.fingerprint == judged_on.fingerprint:
        return "this very text"
    share = overlap(trained_on, judged_on)
    return f"{percent(share)} of these documents" if share else None


def vocabulary_hash(vocabulary: Vocabulary, special_tokens: Mapping[str, int]) -> str:
    """The SHA-256 of all entries, each with its length before it, and of the special tokens with their ids."""
    digest = hashlib.sha256()
    for piece in vocabulary.pieces:
        size = -1 if piece is None else len(piece)
        digest.update(size.to_bytes(8, "little", signed=True) + (piece or b""))
    for text, id in sorted(special_tokens.items()):
        encoded = text.encode()
        digest.update(len(encoded).to_bytes(8, "little") + encoded + id.to_bytes(8, "little"))
    return digest.hexdigest()
