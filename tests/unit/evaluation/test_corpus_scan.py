"""One reading of the documents answers several questions, and no document is read twice for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokbench.corpus import Document, Fingerprint
from tokbench.evaluation import corpus_scan as reading_module
from tokbench.evaluation import fidelity
from tokbench.evaluation.corpus_scan import CorpusScan, num_checked
from tokbench.evaluation.fidelity import Stability
from tokbench.evaluation.units import AlignedLines, Alignment

if TYPE_CHECKING:
    from collections.abc import Iterator


documents = st.lists(
    st.builds(
        Document,
        st.text(st.sampled_from("ab é\n\r\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029"), min_size=1, max_size=30),
        st.sampled_from(["x", "y"]),
        st.just("a.txt"),
    ),
    min_size=1,
    max_size=6,
)


class Counted:
    """Documents that count how often they are read."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self.readings = 0

    def __iter__(self) -> Iterator[Document]:
        self.readings += 1
        return iter([Document(text, "x", "a.txt") for text in self.texts])


@given(documents=documents)
def test_scan_collects_fingerprint_beginning_and_lines(documents: list[Document]) -> None:
    scan = CorpusScan(documents)
    assert list(scan) == list(scan) == documents
    fingerprint = Fingerprint()
    lines: dict[str, list[str]] = {}
    for document in documents:
        fingerprint.update(document.text)
        lines.setdefault(document.group, []).extend(
            line for line in document.text.splitlines() if line.strip()
        )
    assert scan.identity == fingerprint.identity()
    assert scan.beginning == tuple(document.text for document in documents)
    assert scan.lines == {group: tuple(texts) for group, texts in lines.items()}


def test_complete_scan_is_not_repeated() -> None:
    documents = Counted("one", "two")
    scan = CorpusScan(documents)
    assert [document.text for document in scan] == ["one", "two"]
    assert scan.beginning == ("one", "two")
    assert scan.lines == {"x": ("one", "two")}
    assert documents.readings == 1


def test_abandoned_scan_is_repeated() -> None:
    scan = CorpusScan(Counted("one", "two"))
    assert next(iter(scan)).text == "one"
    assert scan.beginning == ("one", "two")


def test_beginnings_and_lines_are_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_module, "BEGINNING_CHARACTERS", 5)
    monkeypatch.setattr(reading_module, "LINES_OF_GROUP", 3)
    monkeypatch.setattr(reading_module, "_LONGEST_LINE", 4)
    scan = CorpusScan(Counted("abcdefg\n\n  \nhi", "jk\nlm\nno"))
    assert scan.beginning == ("abcde",)
    assert scan.lines == {"x": ("abcd", "hi", "jk")}


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
