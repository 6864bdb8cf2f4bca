"""Notes of parts: which documents of each part are encoded twice."""

from __future__ import annotations

import pytest

from tokbench.corpus import Document
from tokbench.evaluation import fidelity
from tokbench.evaluation.alignment import AlignedLines, Alignment
from tokbench.evaluation.corpus_notes import num_checked
from tokbench.evaluation.fidelity import Stability

LINES = Alignment(("de", "en"), 3)
DOCUMENTS = [
    Document(f"{language}\n\nzwei\n", language, f"{language}-{number}")
    for number in range(4)
    for language in ("de", "en", "code")
]


@pytest.mark.parametrize("alignment", [None, LINES])
@pytest.mark.parametrize("most", [1, 7, 20, 31, 60, 1_000])
@pytest.mark.parametrize("size", [1, 2, 5, 12])
def test_parts_check_as_many_documents_as_one_pass(
    monkeypatch: pytest.MonkeyPatch, size: int, most: int, alignment: Alignment | None
) -> None:
    monkeypatch.setattr(fidelity, "_CHECKED_FOR_STABILITY", most)
    parts = [DOCUMENTS[start : start + size] for start in range(0, len(DOCUMENTS), size)]
    whole = DOCUMENTS if alignment is None else list(AlignedLines(DOCUMENTS, alignment))
    chosen = Stability().chosen(whole).tolist()
    wanted = []
    for part in parts:
        number = len(part if alignment is None else list(AlignedLines(part, alignment)))
        wanted.append(sum(chosen[:number]))
        chosen = chosen[number:]
    assert list(num_checked(parts, alignment)) == wanted


def test_parts_after_the_first_megabytes_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fidelity, "_CHECKED_FOR_STABILITY", 1)

    class Unread:
        def __iter__(self) -> None:
            raise AssertionError("there is no need to read this")

    assert list(num_checked([DOCUMENTS, Unread()], None)) == [1, 0]  # type: ignore[list-item]
