"""The token view for any text, any segmentation, any width."""

from __future__ import annotations

import io
import re
import unicodedata
from itertools import pairwise
from typing import TYPE_CHECKING

import regex
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from support.segmentations import odd_segmentations, tilings, view

from tokbench.core.graphemes import cut_clusters
from tokbench.render.token_view import CUBE, SIXTEEN, Line, Palette, plain, separators_for, token_lines
from tokbench.render.viz import render_viz
from tokbench.workbench.viz import VizResult

if TYPE_CHECKING:
    from tokbench.core.tokens import Segmentation

ANY_SEGMENTATION = st.one_of(tilings(), odd_segmentations())
ANY_PALETTE = st.sampled_from([None, CUBE, SIXTEEN])
WIDTHS = st.one_of(st.integers(20, 40), st.integers(20, 200))

PICTURE_JOINERS = {"\u200d", "\ufe0f"}
INSIDE_PICTURES = {"\u200d", *map(chr, range(0xE0020, 0xE0080))}


def cells(lines: list[Line]) -> list[str]:
    """Return the texts of the cells of a coloured view, separated by their backgrounds alone."""
    found: list[tuple[object, str]] = []
    for line in lines:
        for segment in line.rows[0].segments:
            background = segment.style.bgcolor if segment.style else None
            if found and found[-1][0] == background:
                found[-1] = (background, found[-1][1] + segment.text)
            else:
                found.append((background, segment.text))
    return [text for _, text in found]


@given(ANY_SEGMENTATION, ANY_PALETTE, WIDTHS, st.booleans())
def test_no_row_exceeds_the_width(
    segmentation: Segmentation, palette: Palette | None, width: int, ids: bool
) -> None:
    for line in token_lines(segmentation, width=width, palette=palette, ids=ids):
        for row in line.rows:
            text = "".join(segment.text for segment in row.segments)
            assert max(cell_len(text), row.width) <= width
            if not PICTURE_JOINERS & set(text):  # their width depends on the release of rich
                assert cell_len(text) == row.width


@given(ANY_SEGMENTATION, ANY_PALETTE, st.booleans())
def test_no_invisible_character_reaches_the_terminal(
    segmentation: Segmentation, palette: Palette | None, ids: bool
) -> None:
    text = "".join(plain(line) for line in token_lines(segmentation, width=80, palette=palette, ids=ids))
    for character in set(text) - {" ", "\n"} - INSIDE_PICTURES:
        assert unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Zs", "Zl", "Zp"}
    assert regex.findall(r"\u200d(?!\p{Emoji})|(?<![\p{Emoji}\uFE0E\uFE0F])\u200d", text) == []


@given(tilings(), WIDTHS)
def test_adjacent_tokens_have_different_colours(segmentation: Segmentation, width: int) -> None:
    assert len(cells(list(token_lines(segmentation, width=width, palette=CUBE)))) == len(segmentation.tokens)


@given(odd_segmentations(), st.sampled_from([CUBE, SIXTEEN]))
def test_adjacent_tokens_of_all_kinds_have_different_colours(
    segmentation: Segmentation, palette: Palette
) -> None:
    backgrounds = [
        palette.look(token.kind, turn=turn, absent=not token.span.length).text.bgcolor
        for turn, token in enumerate(segmentation.tokens)
    ]
    assert all(here != following for here, following in pairwise(backgrounds))


@given(tilings(), WIDTHS)
def test_tokens_can_be_read_back_without_colour(segmentation: Segmentation, width: int) -> None:
    """The separators divide the view like the colours, and complete plain tokens appear unchanged."""
    whole, cut = separators_for(segmentation.text)
    text = "".join(plain(line) for line in token_lines(segmentation, width=width))
    read = re.split(f"[{whole}{cut}]", text) if text else []
    assert read == cells(list(token_lines(segmentation, width=width, palette=CUBE)))
    for token, shown in zip(segmentation.tokens, read, strict=True):
        if re.fullmatch(rb"[!-~]+", token.piece):
            assert shown == token.piece.decode()


@given(tilings())
def test_cut_separators_are_those_of_cut_characters(segmentation: Segmentation) -> None:
    _, cut = separators_for(segmentation.text)
    text = "".join(plain(line) for line in token_lines(segmentation, width=80))
    assert text.count(cut) == sum(len(cluster.boundaries) for cluster in cut_clusters(segmentation))


@given(st.lists(ANY_SEGMENTATION, min_size=1, max_size=3), st.integers(20, 140), st.booleans(), st.booleans())
def test_view_fits_the_console(
    segmentations: list[Segmentation], width: int, ids: bool, beside: bool
) -> None:
    file = io.StringIO()
    views = tuple(view(segmentation) for segmentation in segmentations)
    render_viz(
        VizResult(text=segmentations[0].text, views=views),
        console=Console(file=file, width=width),
        ids=ids,
        layout="side-by-side" if beside else "stacked",
    )
    for row in file.getvalue().split("\n"):
        assert cell_len(row) <= width
        assert not set(row) & set("\x1b\r\t\x85\u2028\u202e\u2066")
