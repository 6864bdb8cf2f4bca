"""The colours of the token view: adjacent tokens always differ, also for colour-blind readers.

The backgrounds are fixed entries of the 256-colour cube with their own text colour, so they look the same in dark
and light terminals. They were found by search: under normal sight, protanopia, deuteranopia and tritanopia, colours
next to each other in the cycle are at least ΔE 35 apart (CIE 1976).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.color import Color
from rich.style import Style
from rich.text import Text

from tokbench.core.tokens import TokenKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

FAINT = Style(dim=True)
"""The style of ids, rules and notes."""
_NO_ATTRIBUTES = Style()


def rule_with_title(name: str, about: str, *, width: int) -> Text:
    """Return a rule that begins with a name and what follows it, cut to a width."""
    title = Text.assemble(("── ", FAINT), (name, "bold"), f" · {about} ")
    title.truncate(width, overflow="ellipsis")
    return title.append("─" * (width - title.cell_len), FAINT)


@dataclass(frozen=True, slots=True)
class Look:
    """The styles of one token's cell.

    Attributes:
        text: style of characters that stand for themselves, and of padding.
        stand_in: style of stand-ins (`·`, `⟨ZWSP⟩`).
        cut: like `text`, inside a character that a token boundary cuts.
        cut_stand_in: like `stand_in`, inside such a character.
    """

    text: Style
    stand_in: Style
    cut: Style
    cut_stand_in: Style

    def style(self, *, stand_in: bool, cut: bool) -> Style:
        """Return the style of a run of glyphs."""
        if stand_in:
            return self.cut_stand_in if cut else self.stand_in
        return self.cut if cut else self.text


@dataclass(frozen=True, slots=True)
class Palette:
    """The looks of all tokens; neighbours in a tuple, which is cyclic, have different backgrounds.

    Attributes:
        tokens: the cycle of looks of each kind; ordinary and byte-fallback tokens share their backgrounds.
        absent: the same cycle for tokens that cover no text.
        uncovered: the look of text that no token covers.
    """

    tokens: Mapping[TokenKind, tuple[Look, ...]]
    absent: tuple[Look, ...]
    uncovered: Look

    def look(self, kind: TokenKind, *, turn: int, absent: bool = False) -> Look:
        """Return the look of the token at position `turn`, whose background differs from those of its neighbours."""
        cycle = self.absent if absent and kind is TokenKind.NORMAL else self.tokens[kind]
        return cycle[turn % len(cycle)]


def palette_for(console: Console) -> Palette | None:
    """Return the palette that a console can show; None if it shows no colour."""
    if console.no_color or console.color_system is None:
        return None
    return SIXTEEN if console.color_system in ("standard", "windows") else CUBE


def _palette(
    *,
    cycle: Sequence[int],
    text: int,
    stand_in: int,
    special: Sequence[int],
    unknown: Sequence[int],
    bright: int,
    bright_stand_in: int,
) -> Palette:
    """Build a palette from colour numbers: dark text on the cycle, bright bold text on special and unknown tokens."""
    ordinary = tuple(_look(ground, text, stand_in) for ground in cycle)
    marked = {
        kind: tuple(_look(ground, bright, bright_stand_in, Style(bold=True)) for ground in grounds)
        for kind, grounds in ((TokenKind.SPECIAL, special), (TokenKind.UNKNOWN, unknown))
    }
    byte = tuple(_look(ground, text, stand_in, Style(italic=True)) for ground in cycle)
    return Palette(
        tokens={TokenKind.NORMAL: ordinary, TokenKind.BYTE: byte, **marked},
        absent=tuple(_look(ground, text, stand_in, FAINT) for ground in cycle),
        uncovered=Look(text=FAINT, stand_in=FAINT, cut=_underlined(FAINT), cut_stand_in=_underlined(FAINT)),
    )


def _look(ground: int, text: int, stand_in: int, attributes: Style = _NO_ATTRIBUTES) -> Look:
    plain = Style(color=Color.from_ansi(text), bgcolor=Color.from_ansi(ground)) + attributes
    muted = Style(color=Color.from_ansi(stand_in), bgcolor=Color.from_ansi(ground)) + attributes
    return Look(text=plain, stand_in=muted, cut=_underlined(plain), cut_stand_in=_underlined(muted))


def _underlined(style: Style) -> Style:
    return style + Style(underline=True)


CUBE = _palette(
    cycle=(216, 153, 185, 79, 147),  # apricot, sky, olive, mint, lavender
    text=16,
    stand_in=19,
    special=(18, 60),
    unknown=(88, 89),
    bright=231,
    bright_stand_in=229,
)
"""The palette for terminals with 256 colours or more."""

SIXTEEN = _palette(
    cycle=(7, 6, 3),  # white, cyan, yellow
    text=0,
    stand_in=0,
    special=(4, 8),
    unknown=(1, 5),
    bright=15,
    bright_stand_in=15,
)
"""The palette for terminals with sixteen colours, which users may change: only pairs that most themes keep readable."""
