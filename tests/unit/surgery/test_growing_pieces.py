"""Pieces of a BPE over characters while they grow."""

from __future__ import annotations

from tokbench.surgery.growing_pieces import MergedPieces, by_text


def test_dropped_piece_leaves_no_trace() -> None:
    pieces = MergedPieces(["a", "b", "c", "ab"], by_text({"ab": 0}))
    before = pieces.cut("abc"), pieces.value("abc", 3)
    pieces.add("abc", 3)
    assert pieces.cut("abc") == ("abc",)
    assert pieces.value("abc", 3) == 0
    pieces.drop("abc")
    assert (pieces.cut("abc"), pieces.value("abc", 3)) == before == (("ab", "c"), 3)
    assert pieces.parts == {}
