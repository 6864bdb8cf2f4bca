"""The colours: neighbours differ for every eye, and text can be read on them."""

from __future__ import annotations

import io
import math
from itertools import combinations, product
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from tokbench.render.palette import CUBE, SIXTEEN, Palette, palette_for
from tokbench.tokens import TokenKind

if TYPE_CHECKING:
    from rich.color import Color

PALETTES = pytest.mark.parametrize("palette", [CUBE, SIXTEEN], ids=["cube", "sixteen"])

# Machado, Oliveira & Fernandes 2009, severity 1, on linear RGB.
EYES = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.01182, 0.04294, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.3039),
    ),
}


def linear(color: Color) -> tuple[float, ...]:
    return tuple(
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (part / 255 for part in color.get_truecolor())
    )


def luminance(color: Color) -> float:
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear(color), strict=True))


def lab(color: Color, eye: str) -> tuple[float, float, float]:
    seen = [
        min(1.0, max(0.0, sum(a * b for a, b in zip(row, linear(color), strict=True)))) for row in EYES[eye]
    ]
    to_xyz = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    xyz = (sum(a * b for a, b in zip(row, seen, strict=True)) for row in to_xyz)
    x, y, z = (
        value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116
        for value in (part / white for part, white in zip(xyz, (0.95047, 1, 1.08883), strict=True))
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def background(palette: Palette, kind: TokenKind, turn: int, *, absent: bool = False) -> Color:
    color = palette.look(kind, turn=turn, absent=absent).text.bgcolor
    assert color is not None
    return color


@PALETTES
def test_neighbours_of_any_kind_have_different_backgrounds(palette: Palette) -> None:
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
def test_neighbours_in_the_cycle_are_far_apart_for_every_eye(eye: str) -> None:
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
        low, high = sorted((luminance(style.color), luminance(style.bgcolor)))
        assert (high + 0.05) / (low + 0.05) >= 4.5


@PALETTES
def test_marked_kinds_differ_in_more_than_colour(palette: Palette) -> None:
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
def test_the_console_decides(color_system: str | None, no_color: bool, expected: Palette | None) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, color_system=color_system, no_color=no_color)
    assert palette_for(console) is expected
