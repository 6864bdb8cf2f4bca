"""The error for a corpus without a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.wording import first_of
from tokbench.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.corpus.document import Side
    from tokbench.corpus.files import CorpusFile
    from tokbench.corpus.text import Problems


def no_document(files: Sequence[CorpusFile], problems: Problems, side: Side | None) -> CorpusError:
    """Return the error for files in which no document was found.

    Args:
        files: at least one file.
        problems: what was skipped in them.
        side: the side of the last split; None without a split.
    """
    if side is not None:
        part = "held-out" if side.held_out else "training"
        return CorpusError(
            f"the {part} part of the corpus has no document",
            hint="cut files into smaller documents (--documents lines), or choose another share or seed",
        )
    names = first_of([file.name for file in files])
    if problems.long_documents:
        return CorpusError(
            f"no document of {names} is short enough", hint="--max-document-bytes raises the limit"
        )
    if problems.textless_documents:
        return CorpusError(
            f"no record of {names} has a text",
            hint="--text-field names the field that contains it; without --errors skip, the first error is shown",
        )
    if problems.skipped_documents:
        return CorpusError(
            f"no document of {names} is UTF-8",
            hint="--errors replace keeps what can be read; without --errors skip, the first error is shown",
        )
    return CorpusError(f"there is no text in {names}", hint="name a file with text")
