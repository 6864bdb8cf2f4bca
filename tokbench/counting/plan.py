"""The plan of a word count: a corpus in parts, the backend that counts, and its options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.distributed.corpus_plan import PART_BYTES, plan_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.corpus.corpus import Corpus
    from tokbench.distributed.corpus_plan import CorpusPlan

SCHEMA = "tokbench.words.plan/1"


def make_plan(
    corpus: Corpus,
    *,
    backend: str,
    options: Mapping[str, Any],
    cuts_at_lines: bool,
    part_bytes: int = PART_BYTES,
) -> CorpusPlan:
    """Divide a corpus into parts of about `part_bytes` bytes, whose words a backend counts.

    Args:
        corpus: the documents.
        backend: the name of the backend that counts.
        options: its options, as JSON.
        cuts_at_lines: whether its words allow cutting a document between two lines.
        part_bytes: as for `tokbench.distributed.corpus_plan.plan_of`.

    Raises:
        CorpusError: a file can be read only once, or not at all.
    """
    return plan_of(
        corpus,
        schema=SCHEMA,
        settings={"backend": backend, "options": dict(options)},
        cuts_at_lines=cuts_at_lines,
        part_bytes=part_bytes,
    )
