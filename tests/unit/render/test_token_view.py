"""Tests for the lines of a segmentation: cells, wrapping, ids and marks."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console
from support.eyes import EYES, contrast, lab
from support.segmentations import cut_at, in_words, token

from tokbench.core.tokens import Segmentation, Token, TokenKind
from tokbench.render.token_view import (
    CUBE,
    MIN_WIDTH,
    SEPARATORS,
    SIXTEEN,
    Line,
    Palette,
    palette_for,
    plain,
    separators_for,
    token_lines,
)

if TYPE_CHECKING:
    from support.eyes import Rgb

FAMILY = "👩\u200d👩\u200d👧"


def shown(segmentation: Segmentation, *, width: int = 80, ids: bool = False) -> list[str]:
    """Return the rows of the view without colour."""
    return [
        row for line in token_lines(segmentation, width=width, ids=ids) for row in plain(line).split("\n")
    ]


def coloured(segmentation: Segmentation, *, width: int = 80, ids: bool = False) -> list[Line]:
    return list(token_lines(segmentation, width=width, palette=CUBE, ids=ids))


def test_boundaries_are_visible_without_colour() -> None:
    assert shown(in_words("Hello", ",", " wörld", "!")) == ["Hello│,│·wörld│!"]


def test_coloured_tokens_have_no_separators() -> None:
    (line,) = coloured(in_words("Hello", ",", " wörld", "!"))
    assert plain(line) == "Hello,·wörld!"
    assert len({segment.style.bgcolor for segment in line.rows[0].segments if segment.style}) == 4


def test_empty_segmentation_has_no_lines() -> None:
    assert shown(Segmentation("", ())) == []


def test_markup_and_escapes_are_text() -> None:
    assert shown(in_words("[bold]", "x", "[/]", "\x1b[31m")) == ["[bold]│x│[/]│␛[31m"]


def test_lines_wrap_between_tokens() -> None:
    assert shown(in_words("aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd"), width=20) == [
        "aaaaaaaa│bbbbbbbb│",
        "cccccccc│dddddddd",
    ]


def test_token_wider_than_the_line_is_split_between_characters() -> None:
    assert shown(in_words("ab", "한" * 12, "cd"), width=20) == ["ab│", "한" * 9, "한" * 3 + "│cd"]


def test_split_token_keeps_its_colour() -> None:
    lines = coloured(in_words("x" * 50), width=20)
    assert [plain(line) for line in lines] == ["x" * 20, "x" * 20, "x" * 10]
    assert len({segment.style for line in lines for segment in line.rows[0].segments}) == 1


def test_first_line_is_made_of_the_tokens_that_it_shows() -> None:
    class Tokens(Sequence[Token]):
        def __len__(self) -> int:
            return 100

        def __getitem__(self, index: int | slice) -> Any:
            assert index in range(3), "only two tokens are on the line"
            assert isinstance(index, int)
            return token(index * 9, index * 9 + 9, "ninebytes")

    lines = token_lines(Segmentation("ninebytes" * 100, Tokens()), width=20, palette=CUBE)
    assert plain(next(lines)) == "ninebytes" * 2


def test_newline_ends_the_line_after_its_glyph() -> None:
    assert shown(in_words("if x", ":\n", "\t", "y")) == ["if·x│:⏎│", "→│y"]
    assert shown(in_words("a\n\n  b", "c")) == ["a⏎", "⏎", "··b│c"]
    assert shown(in_words("a", "\n")) == ["a│⏎"]


def test_line_knows_whether_it_ends_a_text_line() -> None:
    lines = token_lines(in_words("x" * 15, "y" * 15, "\n", "z"), width=20)
    assert [line.ends_text_line for line in lines] == [False, True, False]


def test_ids_are_below_their_tokens() -> None:
    segmentation = Segmentation(
        "Hi 世界!", (token(0, 2, id=12345), token(2, 9, id=7), token(9, 10, id=4294967295))
    )
    assert shown(segmentation, ids=True) == ["Hi   │·世界│!         ", "12345│7    │4294967295"]


def test_ids_are_separated_without_separators() -> None:
    (line,) = coloured(in_words("a", "b", " long"), ids=True)
    assert plain(line) == "a b ·long\n0 1 2    "


def test_id_of_a_split_token_is_below_its_start() -> None:
    assert shown(in_words("x" * 25, "y"), width=20, ids=True) == [
        "x" * 19,
        f"{'0':19}",
        "x" * 6 + "│y",
        "      │1",
    ]


def test_boundary_inside_a_character_has_its_own_separator() -> None:
    assert shown(cut_at("a안b", 1, 3, 4)) == ["a│⟨EC⟩⟨95⟩╎⟨88⟩│b"]
    assert shown(cut_at("e\u0301!", 1, 3)) == ["e╎◌\u0301│!"]
    assert shown(cut_at("🇩🇪", 4)) == ["⟨RI-D⟩╎⟨RI-E⟩"]


def test_emoji_is_spelled_out_only_if_it_is_cut() -> None:
    assert shown(in_words("a", FAMILY)) == [f"a│{FAMILY}"]
    assert shown(cut_at(FAMILY, 7)) == ["👩⟨ZWJ⟩╎👩⟨ZWJ⟩👧"]
    assert shown(cut_at(f"x{FAMILY}y", 12)) == ["x👩⟨ZWJ⟩👩╎⟨ZWJ⟩👧y"]


def test_cut_character_is_underlined_completely() -> None:
    (line,) = coloured(cut_at("a안b", 1, 3))
    underlined = [
        segment.text for segment in line.rows[0].segments if segment.style and segment.style.underline
    ]
    assert underlined == ["⟨EC⟩⟨95⟩", "⟨88⟩"]


def test_emoji_of_uncertain_width_reserve_space() -> None:
    assert shown(in_words("x" * 14, FAMILY, "y"), width=20) == ["x" * 14 + "│", f"{FAMILY}│y"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (TokenKind.NORMAL, "a│é│b"),
        (TokenKind.SPECIAL, "a│⟪é⟫│b"),
        (TokenKind.UNKNOWN, "a│⟨?⟩é│b"),
        (TokenKind.BYTE, "a│⟨0xC3⟩⟨0xA9⟩│b"),
    ],
)
def test_each_token_kind_is_marked(kind: TokenKind, expected: str) -> None:
    tokens = (token(0, 1), token(1, 3, "é", kind=kind), token(3, 4))
    assert shown(Segmentation("aéb", tokens)) == [expected]


def test_byte_fallback_of_a_newline_ends_the_line() -> None:
    tokens = (token(0, 1), token(1, 2, "\n", kind=TokenKind.BYTE), token(2, 3))
    assert shown(Segmentation("a\nb", tokens)) == ["a│⟨0x0A⟩│", "b"]


def test_closing_bracket_stays_on_the_line_of_its_token() -> None:
    tokens = (token(0, 4, kind=TokenKind.SPECIAL), token(5, 6))
    assert shown(Segmentation("<s>\n\nb", tokens)) == ["⟪<s>⏎⟫│", "⟦⏎⟧│", "b"]


def test_token_with_an_empty_span_shows_its_piece() -> None:
    tokens = (
        token(0, 0, "<s>", kind=TokenKind.SPECIAL),
        token(0, 0, "▁"),
        token(0, 2, "▁Hi"),
        token(2, 2),
        token(2, 2, "<unk>", kind=TokenKind.UNKNOWN),
    )
    assert shown(Segmentation("Hi", tokens)) == ["⟪<s>⟫│▁│Hi│⟨empty⟩│⟨?⟩<unk>"]


def test_token_shows_its_covered_text_instead_of_its_piece() -> None:
    assert shown(Segmentation("Ｈi", (token(0, 4, "hi"),))) == ["Ｈi"]


def test_uncovered_text_is_shown_in_brackets() -> None:
    tokens = (token(1, 3), token(4, 6))
    segmentation = Segmentation(" ab cd\n", tokens)
    assert shown(segmentation) == ["⟦·⟧│ab│⟦·⟧│cd│⟦⏎⟧"]
    (line,) = coloured(segmentation)
    bare = [segment.text for segment in line.rows[0].segments if segment.style and not segment.style.bgcolor]
    assert bare == ["·", "·", "⏎"]


def test_text_without_tokens_is_shown() -> None:
    assert shown(Segmentation("a b", ())) == ["⟦a·b⟧"]


def test_overlapping_tokens_show_their_covered_text() -> None:
    assert shown(Segmentation("éx", (token(0, 2), token(0, 2), token(2, 3)))) == ["é│é│x"]


def test_separators_do_not_occur_in_the_text() -> None:
    assert shown(in_words("│", "a")) == ["│┃a"]
    assert separators_for("╎") == SEPARATORS[1]
    assert separators_for("".join(map("".join, SEPARATORS))) == SEPARATORS[-1]


def test_narrow_terminal_fits_the_widest_glyph() -> None:
    rows = shown(in_words("\U0010ffff" * 3, "x"), width=1)
    assert "".join(rows) == "⟨U+10FFFF⟩" * 3 + "│x"
    assert max(map(len, rows)) <= MIN_WIDTH


def test_lines_are_generated_lazily() -> None:
    lines = token_lines(in_words(*["word "] * 100_000), width=40)
    assert plain(next(lines)).startswith("word·│word·│")


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
