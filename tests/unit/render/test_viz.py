"""Tests for the terminal and JSON output of `tokbench viz`."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any, Literal

import pytest
from rich.console import Console
from support.segmentations import cut_at, in_words, token, view

from tokbench.core.tokens import Segmentation, Span, Token, TokenKind
from tokbench.render.viz import render_viz
from tokbench.workbench.viz import VizResult

if TYPE_CHECKING:
    from collections.abc import Iterable

FAMILY = "👩\u200d👩\u200d👧"


def rendered(
    result: VizResult,
    *,
    width: int = 60,
    ids: bool = False,
    layout: Literal["stacked", "side-by-side"] = "stacked",
    **console: Any,
) -> str:
    file = io.StringIO()
    render_viz(result, console=Console(file=file, width=width, **console), ids=ids, layout=layout)
    return file.getvalue()


def byte_token(position: int, byte: int) -> Token:
    return Token(id=byte, piece=bytes([byte]), span=Span(position, position + 1), kind=TokenKind.BYTE)


def two_views(text: str = "if x:\n\ty") -> VizResult:
    words = view(in_words("if", " x", ":\n", "\t", "y"), name="words")
    pairs = view(cut_at(text, 2, 4, 6, 7), name="pairs", vocab_size=1000)
    return VizResult(text=text, views=(words, pairs))


def test_one_tokenizer_is_shown() -> None:
    segmentation = in_words("Hello", ",", " wörld", "!")
    result = VizResult(text=segmentation.text, views=(view(segmentation),))
    assert rendered(result) == (
        "── mine · bpe · 50,257 tokens ──────────────────────────────\n"
        "Hello│,│·wörld│!\n"
        "13 characters · 14 bytes · 4 tokens · 3.50 bytes/token\n"
    )


def test_several_tokenizers_are_stacked_and_compared() -> None:
    assert rendered(two_views()) == (
        "── words · bpe · 50,257 tokens ─────────────────────────────\n"
        "if│·x│:⏎│\n"
        "→│y\n"
        "8 characters · 8 bytes · 5 tokens · 1.60 bytes/token\n"
        "\n"
        "── pairs · bpe · 1,000 tokens ──────────────────────────────\n"
        "if│·x│:⏎│\n"
        "→│y\n"
        "8 characters · 8 bytes · 5 tokens · 1.60 bytes/token\n"
        "\n"
        "tokens: words 5 · pairs 5\n"
    )


def test_side_by_side_columns_start_text_lines_together() -> None:
    text = "a" * 60 + "\nb\nc"
    result = VizResult(
        text=text,
        views=(
            view(in_words("a" * 20, "a" * 20, "a" * 20, "\n", "b\n", "c"), name="left"),
            view(in_words("a" * 30, "a" * 30 + "\n", "b", "\n", "c"), name="right"),
        ),
    )
    rows = rendered(result, width=83, layout="side-by-side").splitlines()
    columns = [(row[:40].rstrip(), row[43:].rstrip()) for row in rows[:8]]
    assert columns == [
        ("── left · bpe · 50,257 tokens " + "─" * 10, "── right · bpe · 50,257 tokens " + "─" * 9),
        ("a" * 20 + "│", "a" * 30 + "│"),
        ("a" * 20 + "│", "a" * 30 + "⏎│"),
        ("a" * 20 + "│⏎│", ""),
        ("b⏎│", "b│⏎│"),
        ("c", "c"),
        ("64 characters · 64 bytes · 6 tokens ·", "64 characters · 64 bytes · 5 tokens ·"),
        ("10.67 bytes/token", "12.80 bytes/token"),
    ]
    assert rows[8:] == ["", "tokens: right 5 · left 6 (+20.0 %)"]


def test_side_by_side_with_ids_keeps_the_columns() -> None:
    rows = rendered(two_views(), width=100, ids=True, layout="side-by-side").splitlines()
    assert [(row[:48].rstrip(), row[51:].rstrip()) for row in rows[1:5]] == [
        ("if│·x│:⏎│", "if│·x│:⏎│"),
        ("0 │1 │2 │", "0 │1 │2 │"),
        ("→│y", "→│y"),
        ("3│4", "3│4"),
    ]


def test_too_narrow_columns_are_stacked_with_a_note() -> None:
    output = rendered(two_views(), width=80, layout="side-by-side")
    assert output.splitlines()[-1] == "shown stacked: side by side takes 83 columns, and there are 80"
    assert output.startswith(rendered(two_views(), width=80))


def test_side_by_side_with_one_tokenizer_is_stacked() -> None:
    segmentation = in_words("a", "b")
    result = VizResult(text="ab", views=(view(segmentation),))
    assert rendered(result, layout="side-by-side") == rendered(result)


def test_cut_characters_are_listed_with_their_code_points() -> None:
    segmentation = cut_at(f"안e\u0301{FAMILY}안", 2, 4, 13, 26)
    output = rendered(VizResult(text=segmentation.text, views=(view(segmentation),)), width=200)
    assert output.splitlines()[3:] == [
        "4 characters are cut:",
        "  안  ⟨EC⟩⟨95⟩ ╎ ⟨88⟩  U+C548 HANGUL SYLLABLE AN  ×2",
        "  e\u0301  e ╎ ◌\u0301  U+0065 LATIN SMALL LETTER E, U+0301 COMBINING ACUTE ACCENT",
        f"  {FAMILY}  👩⟨ZWJ⟩ ╎ 👩⟨ZWJ⟩👧  U+1F469 WOMAN, U+200D ZERO WIDTH JOINER, U+1F469 WOMAN, "
        "U+200D ZERO WIDTH JOINER, U+1F467 GIRL",
    ]


def test_no_more_than_five_cut_characters_are_listed() -> None:
    segmentation = cut_at("äöüßéèà", *range(1, 14))
    output = rendered(VizResult(text=segmentation.text, views=(view(segmentation),)))
    _, _, listed = output.partition("7 characters are cut:\n")
    assert [row.split()[0] for row in listed.splitlines()] == ["ä", "ö", "ü", "ß", "é", "…"]
    assert output.splitlines()[-1] == "  … and 2 others"


def test_one_cut_character_is_singular() -> None:
    segmentation = cut_at("é", 1)
    assert "1 character is cut:\n" in rendered(VizResult(text="é", views=(view(segmentation),)))


@pytest.mark.parametrize("positions", [range(1, 9000, 2), [5001]], ids=["many parts", "long parts"])
def test_long_cut_cluster_is_abbreviated(positions: Iterable[int]) -> None:
    segmentation = cut_at("e" + "\u0301" * 5000, *positions)
    output = rendered(VizResult(text=segmentation.text, views=(view(segmentation),)))
    _, _, listed = output.partition("1 character is cut:")
    assert len(listed) < 1000
    assert "and 4,993 more" in " ".join(listed.split())


def test_uncovered_bytes_are_counted() -> None:
    segmentation = Segmentation("a b ", (token(0, 1), token(2, 3)))
    output = rendered(VizResult(text="a b ", views=(view(segmentation),)))
    assert output.splitlines()[-1] == "2 bytes of the text are in no token"


def test_empty_text_is_labelled_and_has_no_ratio() -> None:
    result = VizResult(text="", views=(view(Segmentation("", ())), view(Segmentation("", ()), name="other")))
    rows = rendered(result).splitlines()
    assert rows[1:3] == ["(empty text)", "0 characters · 0 bytes · 0 tokens"]
    assert rows[-1] == "tokens: mine 0 · other 0"


def test_tokenizer_name_is_escaped() -> None:
    result = VizResult(text="a", views=(view(in_words("a"), name="[red]\x1b[31m\u202e" + "x" * 100),))
    header = rendered(result).splitlines()[0]
    assert header.startswith("── [red]␛[31m⟨RLO⟩xxx")
    assert len(header) == 60


def test_narrow_console_loses_nothing() -> None:
    rows = rendered(two_views(), width=5).splitlines()
    assert all(len(row) <= 20 for row in rows)
    texts = "".join(row for row in rows if not row.startswith("──"))
    assert texts.count("if") == texts.count("x") == 2 and texts.count("y") >= 2


def test_colour_depends_on_the_console_only() -> None:
    result = two_views()
    assert "\x1b" not in rendered(result, color_system=None)
    assert "\x1b[" in rendered(result, force_terminal=True, color_system="truecolor")
    assert "│" not in rendered(result, force_terminal=True, color_system="truecolor")
    assert "│" in rendered(result, force_terminal=True, color_system="truecolor", no_color=True)
    assert "38;5" not in rendered(result, force_terminal=True, color_system="truecolor", no_color=True)


def test_escapes_in_the_text_never_reach_the_terminal() -> None:
    segmentation = in_words("\x1b[31m", "[bold]", "\x9b2J", "\u202e")
    result = VizResult(text=segmentation.text, views=(view(segmentation),))
    output = rendered(result)
    assert "␛[31m│[bold]│⟨U+009B⟩2J│⟨RLO⟩" in output
    assert not set(output) & set("\x1b\x9b\u202e")


def test_long_text_is_written_in_parts() -> None:
    class Writes(io.StringIO):
        sizes: list[int]

        def write(self, text: str) -> int:
            self.sizes.append(len(text))
            return super().write(text)

    file = Writes()
    file.sizes = []
    segmentation = in_words(*["word "] * 30_000)
    render_viz(
        VizResult(text=segmentation.text, views=(view(segmentation),)), console=Console(file=file, width=80)
    )
    assert len(file.sizes) > 5
    assert file.getvalue().count("word·") == 30_000


def test_json_has_every_field() -> None:
    tokens = (
        token(0, 0, "<s>", kind=TokenKind.SPECIAL, id=1),
        token(0, 1, "a", id=2),
        byte_token(1, 0xC3),
        byte_token(2, 0xA9),
    )
    document = VizResult(text="aé", views=(view(Segmentation("aé", tokens)),)).to_json()
    assert json.loads(json.dumps(document)) == {
        "schema": "tokbench.viz/1",
        "text": "aé",
        "tokenizers": [
            {
                "name": "mine",
                "backend": "bpe",
                "vocab_size": 50257,
                "kernel": "native",
                "characters": 2,
                "bytes": 3,
                "tokens": 4,
                "bytes_per_token": 0.75,
                "segments": [
                    {"id": 1, "piece": "<s>", "bytes": "3c733e", "span": [0, 0], "kind": "special"},
                    {"id": 2, "piece": "a", "bytes": "61", "span": [0, 1], "kind": "normal"},
                    {"id": 195, "piece": "\ufffd", "bytes": "c3", "span": [1, 2], "kind": "byte"},
                    {"id": 169, "piece": "\ufffd", "bytes": "a9", "span": [2, 3], "kind": "byte"},
                ],
                "cut_characters": [
                    {"text": "é", "span": [1, 3], "boundaries": [2], "code_points": ["U+00E9"]}
                ],
            }
        ],
    }


def test_json_of_an_empty_text_has_no_ratio() -> None:
    document = VizResult(text="", views=(view(Segmentation("", ())),)).to_json()
    assert document["tokenizers"][0]["bytes_per_token"] is None
    assert document["tokenizers"][0]["segments"] == []


@pytest.mark.parametrize("width", [20, 39, 83, 200])
def test_no_row_is_wider_than_the_console(width: int) -> None:
    for layout in ("stacked", "side-by-side"):
        output = rendered(two_views(), width=width, ids=True, layout=layout)
        assert max(map(len, output.splitlines())) <= width
