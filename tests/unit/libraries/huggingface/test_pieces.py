"""The bytes of the pieces of a `tokenizer.json`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.texts import texts

from tokbench.libraries.huggingface.pieces import PieceSpelling

spelled_pieces = st.lists(
    texts.filter(bool)
    | st.sampled_from(
        ["<0x41>", "<0xfF>", "<0x+A>", "<0x4>", "<0x041>", "▁a", "Ġa", "##", "##a", "a</w>", "</w>"]
    )
)


@given(
    spelling=st.builds(
        PieceSpelling,
        byte_level=st.booleans(),
        byte_fallback=st.booleans(),
        replacements=st.sampled_from([(), (("▁", " "),), (("a", "bb"), ("b", ""))]),
        prefix=st.sampled_from(["", "##"]),
        suffix=st.sampled_from(["", "</w>"]),
    ),
    pieces=spelled_pieces,
)
def test_many_pieces_have_the_bytes_of_each(spelling, pieces):
    assert spelling.bytes_of_all(pieces) == [spelling.bytes_of(piece) for piece in pieces]
