"""Reading all pieces at once equals reading them field by field, whatever the bytes are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tokbench.formats.protobuf import fields
from tokbench.formats.sentencepiece.model import dump_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType, message, piece_of, usual_pieces

pieces = st.lists(
    st.builds(
        ModelPiece,
        st.text(min_size=1, max_size=6) | st.sampled_from(["x" * size for size in (117, 118, 119, 127, 128)]),
        st.floats(width=32, allow_nan=False),
        st.sampled_from(PieceType),
    ),
    max_size=5,
)


def by_fields(data: bytes) -> list[ModelPiece]:
    return [piece_of(message(value), id=id) for id, (_, value) in enumerate(fields(data))]


@given(pieces=pieces)
def test_pieces_are_read_as_written(pieces: list[ModelPiece]) -> None:
    data = dump_model(pieces, trainer={}, normalizer={})
    read, after = usual_pieces(data)
    short = next((n for n, piece in enumerate(pieces) if len(piece.text.encode()) > 118), len(pieces))
    assert read == pieces[:short]
    assert by_fields(data[:after]) == pieces[:short]
    specs = len(dump_model([], trainer={}, normalizer={}))
    assert by_fields(data[: len(data) - specs]) == pieces


@given(
    pieces=pieces,
    changes=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=3),
    size=st.integers(0, 200),
)
def test_damaged_pieces_are_left_to_the_slow_reader(
    pieces: list[ModelPiece], changes: list[tuple[int, int]], size: int
) -> None:
    data = bytearray(dump_model(pieces, trainer={}, normalizer={})[:size])
    for at, value in changes:
        if at < len(data):
            data[at] = value
    read, after = usual_pieces(bytes(data))
    assert by_fields(bytes(data[:after])) == read
