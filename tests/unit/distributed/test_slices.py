"""The messages of failed slices."""

from __future__ import annotations

import pytest

from tokbench.distributed.tasks import Slice


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("b.txt: not UTF-8", "part 3 of 8: b.txt: not UTF-8"),
        ("a.txt, bytes 5 to 9: not UTF-8", "part 3 of 8: a.txt, bytes 5 to 9: not UTF-8"),
        ("a.txt has changed", "part 3 of 8: a.txt has changed"),
        ("a.txtual error", "part 3 of 8 (a.txt, bytes 5 to 9 and 1 more): a.txtual error"),
        ("its worker ended", "part 3 of 8 (a.txt, bytes 5 to 9 and 1 more): its worker ended"),
    ],
)
def test_files_are_named_once(message: str, expected: str) -> None:
    part = Slice("part 3 of 8", {}, contents="a.txt, bytes 5 to 9 and 1 more", files=("a.txt", "b.txt"))
    assert part.failure(message) == expected


def test_slice_without_files_is_named_alone() -> None:
    assert Slice("words 1 of 2", {}).failure("gone") == "words 1 of 2: gone"
