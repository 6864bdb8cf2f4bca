"""Tests for glyphs: every character is visible, and none controls the terminal."""

from __future__ import annotations

import unicodedata

import pytest
from rich.cells import cell_len

from tokbench.render.glyphs import byte_glyphs, cut_glyphs, glyphs_of, sign, spelled, strip, text_of

FAMILY = "👩\u200d👩\u200d👧"


def displayed(text: str) -> str:
    return text_of(glyphs_of(text.encode(errors="surrogatepass")))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b", "a·b"),
        ("\t", "→"),
        ("\r\n", "␍⏎"),
        ("\u00a0", "⍽"),
        ("\u3000\u2003", "⟨U+3000⟩⟨U+2003⟩"),
        ("\u202f\u2028\u2029", "⟨NNBSP⟩⟨LS⟩⟨PS⟩"),
        ("\x00\x07\x1b\x7f", "␀␇␛␡"),
        ("\u0085\u009b", "⟨U+0085⟩⟨U+009B⟩"),
        ("\u202e\u200e\u200f\u061c", "⟨RLO⟩⟨LRM⟩⟨RLM⟩⟨ALM⟩"),
        ("\u2066\u2067\u2068\u2069", "⟨LRI⟩⟨RLI⟩⟨FSI⟩⟨PDI⟩"),
        ("\u202a\u202b\u202c\u202d", "⟨LRE⟩⟨RLE⟩⟨PDF⟩⟨LRO⟩"),
        ("\u200b\u200c\u200d\u2060\ufeff\u00ad", "⟨ZWSP⟩⟨ZWNJ⟩⟨ZWJ⟩⟨WJ⟩⟨BOM⟩⟨SHY⟩"),
        ("\u034f\u180e\ufe00\ufe0f\U000e0100", "⟨CGJ⟩⟨MVS⟩⟨VS1⟩⟨VS16⟩⟨VS17⟩"),
        ("\u3164\u2800\u115f\u2061", "⟨U+3164⟩⟨U+2800⟩⟨U+115F⟩⟨U+2061⟩"),
        ("\ue000\U0010ffff\ufdd0\u0378", "⟨U+E000⟩⟨U+10FFFF⟩⟨U+FDD0⟩⟨U+0378⟩"),
        ("안녕 世界 Ωж", "안녕·世界·Ωж"),
        ("[bold]x[/]", "[bold]x[/]"),
        (":smile:", ":smile:"),
        ("\ufffd", "\ufffd"),
    ],
)
def test_each_character_has_its_glyph(text: str, shown: str) -> None:
    assert displayed(text) == shown


@pytest.mark.parametrize(
    ("picture", "width"),
    [
        ("👩", 2),
        (FAMILY, 2),
        ("👍🏽", 2),
        ("☝🏽", 2),
        ("❤\ufe0f", 2),
        ("☺\ufe0e", 1),
        ("😀\ufe0e", 2),
        ("🇩🇪", 2),
        ("1\ufe0f\u20e3", 2),
        ("👩🏽\u200d❤\ufe0f\u200d💋\u200d👨🏿", 2),
        ("🏳\ufe0f\u200d🌈", 2),
    ],
)
def test_emoji_sequence_is_one_glyph(picture: str, width: int) -> None:
    (glyph,) = glyphs_of(picture.encode())
    assert (glyph.text, glyph.width, glyph.stand_in) == (picture, width, False)
    assert glyph.room >= glyph.width


def test_tag_sequence_flag_is_one_glyph() -> None:
    england = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    assert [glyph.text for glyph in glyphs_of(england.encode())] == [england]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("😀\U000e0101\U000e0102", "😀⟨VS18⟩⟨VS19⟩"),
        ("😀\U000e0061\U000e007a", "😀⟨TAG-a⟩⟨TAG-z⟩"),
        ("a\ufe0f", "a⟨VS16⟩"),
        ("a\u200d", "a⟨ZWJ⟩"),
        ("😀\u200d", "😀⟨ZWJ⟩"),
        ("می\u200cخواهم", "می⟨ZWNJ⟩خواهم"),
        ("\u200d".join("😀" * 5), "⟨ZWJ⟩".join("😀" * 5)),
    ],
)
def test_invisible_trailing_characters_are_shown(text: str, shown: str) -> None:
    assert displayed(text) == shown


def test_width_reserved_for_a_family_is_that_of_its_members() -> None:
    (glyph,) = glyphs_of(FAMILY.encode())
    assert (glyph.width, glyph.room) == (2, 6)


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"\xe2\x80", "⟨E2⟩⟨80⟩"),
        (b"\x98\x80 a", "⟨98⟩⟨80⟩·a"),
        (b"a\xed\xa0\x80", "a⟨ED⟩⟨A0⟩⟨80⟩"),
        (b"\xff\xc3\xa9", "⟨FF⟩é"),
    ],
)
def test_invalid_bytes_are_named(data: bytes, shown: str) -> None:
    assert "".join(glyph.text for glyph in glyphs_of(data)) == shown


def test_byte_fallback_is_spelled_as_in_the_vocabulary() -> None:
    assert [glyph.text for glyph in byte_glyphs("é\n".encode())] == ["⟨0xC3⟩", "⟨0xA9⟩", "⟨0x0A⟩"]
    assert [glyph.ends_line for glyph in byte_glyphs(b"a\n")] == [False, True]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\u0301a", "◌\u0301a"),
        (" \u0301", "·◌\u0301"),
        ("e\u0301\u0302", "e\u0301\u0302"),
        ("\u200d\u0301", "⟨ZWJ⟩◌\u0301"),
        ("ก\u0e34", "ก\u0e34"),
        ("कि", "कि"),
    ],
)
def test_mark_without_a_base_has_a_dotted_circle(text: str, shown: str) -> None:
    assert displayed(text) == shown


def test_hangul_jamo_form_a_syllable_if_complete() -> None:
    letters = unicodedata.normalize("NFD", "한글")
    assert [glyph.text for glyph in glyphs_of(letters.encode())] == [letters[:3], letters[3:]]
    assert displayed("\u1161") == "⟨U+1161⟩"


def test_stacked_marks_are_split_over_glyphs() -> None:
    glyphs = glyphs_of(("x" + "\u0301" * 100).encode())
    assert max(len(glyph.text) for glyph in glyphs) <= 7
    assert sum(glyph.text.count("\u0301") for glyph in glyphs) == 100


@pytest.mark.parametrize(
    ("data", "head", "tail", "shown", "cut"),
    [
        ("👩\u200d".encode(), 0, 7, "👩⟨ZWJ⟩", "👩⟨ZWJ⟩"),
        ("👩\u200d👩".encode(), 0, 11, "👩⟨ZWJ⟩👩", "👩⟨ZWJ⟩👩"),
        ("🏽 a".encode(), 4, 0, "⟨FITZ4⟩·a", "⟨FITZ4⟩"),
        ("🇩".encode(), 0, 4, "⟨RI-D⟩", "⟨RI-D⟩"),
        ("\u0301x e".encode(), 2, 1, "◌\u0301x·e", "◌\u0301e"),
        ("녕 안".encode()[:-1], 0, 2, "녕·⟨EC⟩⟨95⟩", "⟨EC⟩⟨95⟩"),
        (f"a{FAMILY}".encode(), 0, 0, f"a{FAMILY}", ""),
    ],
)
def test_parts_of_a_cut_cluster_are_spelled_out_and_marked(
    data: bytes, head: int, tail: int, shown: str, cut: str
) -> None:
    glyphs = cut_glyphs(data, head=head, tail=tail)
    assert "".join(glyph.text for glyph in glyphs) == shown
    assert "".join(glyph.text for glyph in glyphs if glyph.cut) == cut


def test_only_a_newline_ends_the_line() -> None:
    glyphs = glyphs_of("a\r\nb\u2028\x0b\x85".encode())
    assert [glyph.text for glyph in glyphs if glyph.ends_line] == ["⏎"]


def test_strip_joins_glyphs_of_the_same_style() -> None:
    joined = strip((*glyphs_of(b"ab c"), sign("⟨?⟩")))
    assert [run.text for run in joined.runs] == ["ab", "·", "c", "⟨?⟩"]
    assert (joined.width, joined.room, joined.ends_line, joined.breaks_inside) == (7, 7, False, False)
    assert strip(glyphs_of(b"a\nb")).breaks_inside
    assert strip(()).runs == ()


def test_no_glyph_is_invisible_or_controls_the_terminal() -> None:
    """Check the glyphs of most of the BMP and of the emoji blocks: shown, measured, and free of control characters."""
    never = {"Cc", "Cf", "Cs", "Co", "Zs", "Zl", "Zp"}
    for code in (*range(0xD800), *range(0xE000, 0xE010), *range(0xF900, 0x10000), *range(0x1F000, 0x1FB00)):
        glyphs = spelled(chr(code).encode())
        text = "".join(glyph.text for glyph in glyphs)
        assert not never & {unicodedata.category(character) for character in text}, f"U+{code:04X}"
        assert sum(glyph.width for glyph in glyphs) == cell_len(text) > 0, f"U+{code:04X}"
