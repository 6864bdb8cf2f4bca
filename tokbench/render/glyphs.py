"""Visible glyphs for bytes and tokens: invisible characters get a stand-in, control characters never reach a terminal.

Printable characters stand for themselves. Everything else gets a stand-in: `·` for a space, `⏎` for
a newline, control pictures such as `␛`, a name in angle brackets (`⟨ZWSP⟩`, `⟨RLO⟩`, `⟨U+E000⟩`), and
`⟨E2⟩` for a byte that is not part of a complete character.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.cells import get_character_cell_size

from tokbench.core.graphemes import clusters
from tokbench.core.wording import bytes_of_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


UNKNOWN_MARK = "⟨?⟩"
EMPTY_MARK = "⟨empty⟩"

DOTTED_CIRCLE = "◌"
TEXT_STYLE = "\ufe0e"

_PICTURES = {" ": "·", "\t": "→", "\n": "⏎", "\r": "␍", "\u00a0": "⍽", "\x7f": "␡"}

_NAMES = {
    "\u00ad": "SHY", "\u034f": "CGJ", "\u061c": "ALM", "\u180e": "MVS", "\u200b": "ZWSP", "\u200c": "ZWNJ",
    "\u200d": "ZWJ", "\u200e": "LRM", "\u200f": "RLM", "\u2028": "LS", "\u2029": "PS", "\u202a": "LRE",
    "\u202b": "RLE", "\u202c": "PDF", "\u202d": "LRO", "\u202e": "RLO", "\u202f": "NNBSP", "\u2060": "WJ",
    "\u2066": "LRI", "\u2067": "RLI", "\u2068": "FSI", "\u2069": "PDI", "\ufeff": "BOM",
    "\U0001f3fb": "FITZ1-2", "\U0001f3fc": "FITZ3", "\U0001f3fd": "FITZ4", "\U0001f3fe": "FITZ5",
    "\U0001f3ff": "FITZ6",
}  # fmt: skip

_NAMED_RANGES: tuple[tuple[int, int, Callable[[int], str]], ...] = (
    (0xFE00, 0xFE0F, lambda code: f"VS{code - 0xFE00 + 1}"),
    (0xE0100, 0xE01EF, lambda code: f"VS{code - 0xE0100 + 17}"),
    (0xE0021, 0xE007E, lambda code: f"TAG-{chr(code - 0xE0000)}"),
    (0x1F1E6, 0x1F1FF, lambda code: f"RI-{chr(code - 0x1F1E6 + ord('A'))}"),
)

# Characters without a visible form: controls, format characters, surrogates, private and unassigned code
# points, separators, ignorables, a blank Braille cell; and the parts of emoji sequences, which a terminal
# would join to the character before them.
_NEVER_RAW = r"[\p{C}\p{Z}\p{DI}\p{Emoji_Modifier}\p{Regional_Indicator}\u2800]"

# Characters drawn together with the one before: marks, and the vowels and finals of a Hangul syllable.
_JOINS_BASE = rf"(?!{_NEVER_RAW})[\p{{M}}\p{{Hangul_Syllable_Type=V}}\p{{Hangul_Syllable_Type=T}}]"

# Clusters that are drawn as one picture although they contain invisible characters. Stricter than Unicode's
# grammar, so nothing can hide in a cluster: no long chains, no stray selectors or tags.
_ONE_PICTURE = r"""(?x)
    \p{Regional_Indicator}{2}
    | [0-9\#*] \uFE0F \u20E3
    | \U0001F3F4 [\U000E0030-\U000E0039\U000E0061-\U000E007A]{1,6} \U000E007F
    | (?<element> (?! [0-9\#*] | \p{Emoji_Modifier}) \p{Emoji} (?: \p{Emoji_Modifier} | [\uFE0E\uFE0F] )? )
      (?: \u200D (?&element) ){0,3}
"""

_FIRST_ESCAPED_BYTE = 0xDC80
_LAST_ESCAPED_BYTE = 0xDCFF
_C0_END = 0x20
_PICTURE_WIDTH = 2
_MARKS_PER_GLYPH = 6  # more than any script stacks; terminals drop what goes beyond their cell


class Glyph(NamedTuple):
    """A unit of drawing, never broken over two lines.

    Attributes:
        text: the text sent to the terminal.
        width: its columns.
        room: its columns on a terminal that draws each part of an emoji sequence separately.
        stand_in: whether it replaces a character that cannot be shown itself.
        cut: whether it is part of a grapheme cluster that a token boundary cuts.
        ends_line: whether a line of the text ends here.
    """

    text: str
    width: int
    room: int
    stand_in: bool = False
    cut: bool = False
    ends_line: bool = False


class Run(NamedTuple):
    """Neighbouring glyphs with the same style."""

    text: str
    stand_in: bool
    cut: bool


@dataclass(frozen=True, slots=True, eq=False)
class Strip:
    """Glyphs side by side; a strip is equal only to itself, so that what is drawn of it is quickly found again.

    Attributes:
        glyphs: the glyphs in order.
        runs: the glyphs grouped by style.
        width: their total columns.
        room: their maximum columns, see `Glyph`.
        ends_line: whether a line of the text ends after them.
        breaks_inside: whether a line ends before the last glyph.
    """

    glyphs: tuple[Glyph, ...]
    runs: tuple[Run, ...]
    width: int
    room: int
    ends_line: bool
    breaks_inside: bool


def sign(text: str, *, ends_line: bool = False) -> Glyph:
    """Return a stand-in made of brackets, names or marks, whose characters are all one column wide.

    >>> sign("⟨ZWSP⟩").width
    6
    """
    return Glyph(text, len(text), len(text), stand_in=True, ends_line=ends_line)


def strip(glyphs: Iterable[Glyph]) -> Strip:
    """Combine glyphs into a strip.

    >>> [run.text for run in strip(glyphs_of(b"two words")).runs]
    ['two', '·', 'words']
    """
    glyphs = tuple(glyphs)
    runs = tuple(
        Run("".join(glyph.text for glyph in group), *style)
        for style, group in groupby(glyphs, key=lambda glyph: (glyph.stand_in, glyph.cut))
    )
    return Strip(
        glyphs=glyphs,
        runs=runs,
        width=sum(glyph.width for glyph in glyphs),
        room=sum(glyph.room for glyph in glyphs),
        ends_line=bool(glyphs) and glyphs[-1].ends_line,
        breaks_inside=any(glyph.ends_line for glyph in glyphs[:-1]),
    )


def glyphs_of(data: bytes) -> tuple[Glyph, ...]:
    r"""Return the glyphs of bytes that consist of whole grapheme clusters.

    >>> [glyph.text for glyph in glyphs_of("é \u200b\n".encode())]
    ['é', '·', '⟨ZWSP⟩', '⏎']
    """
    if data.isascii():
        return tuple(map(_character, data.decode("ascii")))
    return tuple(chain.from_iterable(map(_cluster, clusters(_decoded(data)))))


def spelled(data: bytes) -> tuple[Glyph, ...]:
    r"""Return the glyphs of bytes that may be part of a grapheme cluster, character by character.

    >>> [glyph.text for glyph in spelled("\u200d👧".encode()[:-1])]
    ['⟨ZWJ⟩', '⟨F0⟩', '⟨9F⟩', '⟨91⟩']
    """
    return tuple(_spelled(_decoded(data)))


def cut_glyphs(data: bytes, *, head: int = 0, tail: int = 0) -> tuple[Glyph, ...]:
    r"""Return the glyphs of bytes whose first `head` and last `tail` bytes belong to clusters cut by a boundary.

    >>> [glyph.text for glyph in cut_glyphs("é👩\u200d".encode(), tail=7)]
    ['é', '👩', '⟨ZWJ⟩']
    """
    if not head and not tail:
        return glyphs_of(data)
    stop = max(head, len(data) - tail)
    return (
        *(glyph._replace(cut=True) for glyph in spelled(data[:head])),
        *glyphs_of(data[head:stop]),
        *(glyph._replace(cut=True) for glyph in spelled(data[stop:])),
    )


def byte_glyphs(data: bytes) -> tuple[Glyph, ...]:
    """Return the glyphs of byte-fallback tokens, in the spelling of their vocabulary tokens.

    >>> "".join(glyph.text for glyph in byte_glyphs("é".encode()))
    '⟨0xC3⟩⟨0xA9⟩'
    """
    return tuple(sign(f"⟨0x{byte:02X}⟩", ends_line=byte == ord("\n")) for byte in data)


def text_of(glyphs: Iterable[Glyph]) -> str:
    r"""Return the text of glyphs side by side.

    >>> text_of(spelled(b"to be\xc3"))
    'to·be⟨C3⟩'
    """
    return "".join(glyph.text for glyph in glyphs)


def visible(text: str) -> str:
    r"""Make all characters of a name or message visible; spaces stay spaces.

    >>> visible("my \x1b[31m\u202efile")
    'my ␛[31m⟨RLO⟩file'
    """
    words = text.split(" ")
    return " ".join(text_of(glyphs_of(bytes_of_name(word))) for word in words)


def enclosed(opening: str, glyphs: tuple[Glyph, ...], closing: str) -> Strip:
    """Enclose glyphs in brackets; the closing bracket stays on the line of the last glyph."""
    last = glyphs[-1]
    return strip(
        (sign(opening), *glyphs[:-1], last._replace(ends_line=False), sign(closing, ends_line=last.ends_line))
    )


def _decoded(data: bytes) -> str:
    """Decode bytes; those that are not part of a complete character become U+DC80 to U+DCFF."""
    return data.decode(errors="surrogateescape")


def _cluster(cluster: str) -> Iterable[Glyph]:
    if len(cluster) == 1:
        return (_character(cluster),)
    if _compiled(_ONE_PICTURE).fullmatch(cluster):
        return (_picture(cluster),)
    return _spelled(cluster)


def _picture(cluster: str) -> Glyph:
    is_text = len(cluster) == len("x" + TEXT_STYLE) and cluster.endswith(TEXT_STYLE)
    width = get_character_cell_size(cluster[0]) if is_text else _PICTURE_WIDTH
    parts = sum(not _compiled(r"[\p{DI}\p{M}]").match(character) for character in cluster)
    return Glyph(cluster, width, max(width, _PICTURE_WIDTH * parts))


def _spelled(characters: str) -> Iterator[Glyph]:
    """Yield glyphs character by character, each combining mark together with its base."""
    base = ""
    for character in characters:
        if base and len(base) <= _MARKS_PER_GLYPH and _joins_base(character):
            base += character
            continue
        if base:
            yield _literal(base)
        glyph = _character(character)
        base = "" if glyph.stand_in else glyph.text
        if glyph.stand_in:
            yield glyph
    if base:
        yield _literal(base)


def _literal(text: str) -> Glyph:
    width = sum(map(get_character_cell_size, text))
    return Glyph(text, width, width)


@lru_cache(maxsize=1 << 16)
def _character(character: str) -> Glyph:
    """Return the glyph of a standalone character."""
    if stand_in := _stand_in(character):
        return sign(stand_in, ends_line=character == "\n")
    if not character.isascii() and _compiled(r"\p{M}").match(character):
        return _literal(DOTTED_CIRCLE + character)
    return _literal(character)


def _stand_in(character: str) -> str | None:
    """Return the stand-in of a character without a visible form, or None."""
    code = ord(character)
    if character in _PICTURES:
        return _PICTURES[character]
    if code < _C0_END:
        return chr(0x2400 + code)
    if _FIRST_ESCAPED_BYTE <= code <= _LAST_ESCAPED_BYTE:
        return f"⟨{code - 0xDC00:02X}⟩"
    if character.isascii():  # avoids importing `regex`, which is slow, for the most common texts
        return None
    if _compiled(_NEVER_RAW).match(character) or (
        get_character_cell_size(character) == 0 and not _compiled(r"\p{M}").match(character)
    ):
        return f"⟨{_name(character)}⟩"
    return None


@lru_cache(maxsize=1 << 16)
def _joins_base(character: str) -> bool:
    return not character.isascii() and _compiled(_JOINS_BASE).match(character) is not None


def _name(character: str) -> str:
    if character in _NAMES:
        return _NAMES[character]
    code = ord(character)
    for first, last, name in _NAMED_RANGES:
        if first <= code <= last:
            return name(code)
    return f"U+{code:04X}"


@cache
def _compiled(pattern: str) -> Any:
    import regex

    return regex.compile(pattern)
