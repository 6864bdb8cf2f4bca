"""Tests for the colours: neighbours differ also for colour-blind readers, and text on them is readable."""

from __future__ import annotations

import io
import math
from itertools import combinations, product
from typing import TYPE_CHECKING

import pytest
from rich.console import Console
from support.eyes import EYES, contrast, lab

from tokbench.core.tokens import TokenKind
from tokbench.render.palette import CUBE, SIXTEEN, Palette, palette_for

if TYPE_CHECKING:
    from support.eyes import Rgb

PALETTES = pytest.mark.parametrize("palette", [CUBE, SIXTEEN], ids=["cube", "sixteen"])


def background(palette: Palette, kind: TokenKind, turn: int, *, absent: bool = False) -> Rgb:
    color = palette.look(kind, turn=turn, absent=absent).text.bgcolor
    assert color is not None
    return color.get_truecolor()


@PALETTES
def test_adjacent_tokens_have_different_backgrounds(palette: Palette) -> None:
    looks = [*product(TokenKind, (False, True))]
    for (kind, absent), (next_kind, next_absent), turn in product(looks, looks, range(30)):
        here = background(palette, kind, turn, absent=absent)
        assert here != background(palette, next_kind, turn + 1, absent=next_absent)


@PALETTES
def test_all_parts_of_a_token_have_one_background(palette: Palette) -> None:
    for kind, turn in product(TokenKind, range(5)):
        look = palette.look(kind, turn=turn)
        styles = [
            look.style(stand_in=stand_in, cut=cut) for stand_in in (False, True) for cut in (False, True)
        ]
        assert len({style.bgcolor for style in styles}) == 1
        assert [bool(style.underline) for style in styles] == [False, True, False, True]


@pytest.mark.parametrize("eye", EYES)
def test_adjacent_backgrounds_differ_for_colour_blind_readers(eye: str) -> None:
    cycle = [background(CUBE, TokenKind.NORMAL, turn) for turn in range(5)]
    for turn in range(5):
        assert math.dist(lab(cycle[turn], eye), lab(cycle[turn - 1], eye)) >= 34.5
    for one, other in combinations(cycle, 2):
        assert math.dist(lab(one, eye), lab(other, eye)) >= 13
    for kind in (TokenKind.SPECIAL, TokenKind.UNKNOWN):
        one, other = (background(CUBE, kind, turn) for turn in (0, 1))
        assert math.dist(lab(one, eye), lab(other, eye)) >= 20


def test_text_has_contrast_on_every_background() -> None:
    for kind, turn, stand_in in product(TokenKind, range(5), (False, True)):
        style = CUBE.look(kind, turn=turn).style(stand_in=stand_in, cut=False)
        assert style.color is not None
        assert style.bgcolor is not None
        assert contrast(style.color.get_truecolor(), style.bgcolor.get_truecolor()) >= 4.5


@PALETTES
def test_marked_kinds_differ_by_more_than_colour(palette: Palette) -> None:
    assert palette.look(TokenKind.SPECIAL, turn=0).text.bold
    assert palette.look(TokenKind.UNKNOWN, turn=0).text.bold
    assert palette.look(TokenKind.BYTE, turn=0).text.italic
    assert palette.look(TokenKind.NORMAL, turn=0, absent=True).text.dim
    assert palette.uncovered.text.bgcolor is None


@pytest.mark.parametrize(
    ("color_system", "no_color", "expected"),
    [
        ("truecolor", False, CUBE),
        ("256", False, CUBE),
        ("standard", False, SIXTEEN),
        ("windows", False, SIXTEEN),
        (None, False, None),
        ("truecolor", True, None),
    ],
)
def test_palette_depends_on_the_console(
    color_system: str | None, no_color: bool, expected: Palette | None
) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, color_system=color_system, no_color=no_color)
    assert palette_for(console) is expected
