"""Conversations on the terminal or as a page: tokens by role, with marks on those that the model is trained on."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

from rich.color import Color
from rich.style import Style
from rich.text import Text

from tokbench.core.tokens import Segmentation, Span, Token, TokenKind
from tokbench.core.wording import counted
from tokbench.render.glyphs import visible
from tokbench.render.terminal import print_rows
from tokbench.render.token_view import FAINT, Separators, palette_for, rule_with_title, separators_for
from tokbench.render.visible_tokens import visible_tokens
from tokbench.render.viz_files import escaped, inert_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

    from tokbench.chat.encoding import Finding
    from tokbench.render.glyphs import Glyph
    from tokbench.workbench.chat import ChatResult

LEARNED, REFUSED = "▔", "!"
"""Marks below learned tokens, and below text that would otherwise have become a control token."""

_NARROWEST = 20
_MOST_FINDINGS = 20
_KINDS = tuple(TokenKind)
_DARK, _BRIGHT = 16, 231
_GROUNDS = {
    "system": (147, 183),
    "developer": (147, 183),
    "user": (153, 117),
    "assistant": (79, 114),
    "model": (79, 114),
    "tool": (216, 222),
    "tools": (216, 222),
    "ipython": (216, 222),
    "function": (216, 222),
}
_OTHER, _TEMPLATE, _CONTROL = (185, 186), (250, 252), (18, 60)
_SIXTEEN = {"system": 5, "user": 6, "assistant": 2, "tool": 3}


class ShownToken(NamedTuple):
    """A token as it is displayed.

    Attributes:
        glyphs: its glyphs.
        section: the role of its message, or the name of a list, such as "tools"; None for the rest of the template.
        message: index of its message; -1 outside messages.
        is_control: whether it is a control token.
        mark: the mark below it.
        turn: its position, which alternates colours of neighbours.
    """

    glyphs: tuple[Glyph, ...]
    section: str | None
    message: int
    is_control: bool
    mark: str
    turn: int

    @property
    def place(self) -> tuple[int, str | None]:
        """Its message and section, which neighbours in one block have in common."""
        return self.message, self.section


def render_chat(result: ChatResult, *, console: Console) -> None:
    """Print a conversation with its legend and notes."""
    about = f"{visible(result.template)} · {visible(result.info.name)}"
    width = max(console.width, _NARROWEST)
    console.print(rule_with_title(visible(result.place), about, width=width), soft_wrap=True)
    pieces = list(shown_tokens(result))
    for line in _lines(pieces, text=result.chat.rendered.text, console=console):
        console.print(line, soft_wrap=True)
    console.print(_legend(result, console=console))
    console.print()
    print_rows(((label, Text(value)) for label, value in _figures(result).items()), console=console)
    for note in notes_of(result):
        console.print(Text(note), soft_wrap=False)


def shown_tokens(result: ChatResult) -> Iterator[ShownToken]:
    """Yield the tokens of a conversation as they are displayed, on the terminal or in HTML."""
    chat = result.chat
    tokens = tuple(
        Token(id, piece, Span(start, stop), _KINDS[kind])
        for id, piece, start, stop, kind in zip(
            chat.ids.tolist(), result.pieces, chat.starts.tolist(), chat.stops.tolist(), chat.kinds.tolist(),
            strict=True,
        )
    )  # fmt: skip
    refused = _refused_bytes(result)
    learned, messages, sections = chat.loss_mask.tolist(), chat.message_index.tolist(), result.sections
    for shown in visible_tokens(Segmentation(chat.rendered.text, tokens)):
        if shown.token is None:
            continue
        is_refused = any(start < shown.stop and shown.start < stop for start, stop in refused)
        mark = REFUSED if is_refused else LEARNED if learned[shown.turn] else " "
        yield ShownToken(
            shown.strip.glyphs,
            sections[shown.turn],
            messages[shown.turn],
            shown.token.kind is TokenKind.SPECIAL,
            mark,
            shown.turn,
        )


def _refused_bytes(result: ChatResult) -> list[tuple[int, int]]:
    text = result.chat.rendered.text
    return [
        (len(text[: finding.start].encode()), len(text[: finding.stop].encode()))
        for finding in result.chat.findings
    ]


def notes_of(result: ChatResult) -> Iterator[str]:
    """Yield notes on a conversation, one sentence each."""
    findings = result.chat.findings
    for finding in findings[:_MOST_FINDINGS]:
        yield f"! {finding_in_words(finding)}"
    if len(findings) > _MOST_FINDINGS:
        yield f"! and {counted(len(findings) - _MOST_FINDINGS, 'other')}"
    for token in result.missing_tokens:
        yield (
            f"! the template writes {visible(token)}, which tokenizer_config.json lists and the vocabulary lacks: "
            "it becomes several tokens; add it to the vocabulary's file"
        )
    for path in result.left_out:
        yield f"! the template leaves out {_part_in_words(path, result.roles)}"
    if result.has_prompt is False:
        yield "! the template has no generation prompt: --completion changes nothing"
    for difference in result.mask_differences:
        where = "in a {% generation %} block alone" if difference.generated else "in a turn alone"
        yield f"mask: {visible(repr(difference.text)):.60} is {where}; what the block says counts"
    if result.seams is not None:
        yield f"seams: {counted(len(result.seams), 'difference')} from encoding the text together"
        for seam in result.seams[:_MOST_FINDINGS]:
            yield (
                f"  bytes {seam.start}-{seam.stop} {visible(repr(seam.text)):.50}: "
                f"together {_listed(seam.joint)}, apart {_listed(seam.apart)}"
            )


def finding_in_words(finding: Finding) -> str:
    """Describe a finding in a sentence.

    >>> from tokbench.chat.encoding import Finding
    >>> finding_in_words(Finding(1, "content", "<|im_end|>", 40, 50, crosses=False))
    'message 1, content: the text of <|im_end|> stays text (characters 40-50 of the rendered text)'
    """
    owner = "" if finding.message is None else f"message {finding.message}, "
    across = " that meets its surroundings" if finding.crosses else ""
    return (
        f"{owner}{visible(finding.field)}: the text of {visible(finding.token)}{across} stays text "
        f"(characters {finding.start}-{finding.stop} of the rendered text)"
    )


def _part_in_words(path: str, roles: Sequence[str]) -> str:
    """Describe a part of a conversation by its path.

    >>> _part_in_words("messages[1].tool_calls", ["user", "assistant"])
    'the tool_calls of message 1 (assistant)'
    >>> _part_in_words("tools", [])
    'the tools'
    """
    owner, _, name = path.rpartition("].")
    if not owner:
        return f"the {path}"
    index = int(owner.partition("[")[2])
    return f"the {name} of message {index} ({visible(roles[index])})"


def _listed(ids: Sequence[int]) -> str:
    shown = " ".join(map(str, ids[:8]))
    return f"{shown} …" if len(ids) > 8 else shown or "nothing"


def _figures(result: ChatResult) -> dict[str, str]:
    total = len(result.chat)
    share = f" ({100 * result.learned / total:.0f} %)" if total else ""
    by_role = " · ".join(f"{visible(role)} {count:,}" for role, count in result.tokens_by_role.items())
    figures = {
        "tokens": f"{total:,} · {by_role}" if by_role else "0",
        "learned": f"{result.learned:,}{share}",
        "findings": f"{len(result.chat.findings):,}" if result.chat.findings else "none",
    }
    if result.dropped:
        figures["dropped"] = counted(result.dropped, "message")
    return figures


# --- lines ------------------------------------------------------------------------------------


def _lines(pieces: Sequence[ShownToken], *, text: str, console: Console) -> Iterator[Text]:
    """Yield rows of tokens with the role of their message, each followed by a row of marks if it has any."""
    is_coloured = palette_for(console) is not None
    separators = None if is_coloured else separators_for(text)
    gutter = min(12, max((len(piece.section or "template") for piece in pieces), default=0) + 1)
    columns = max(console.width - gutter, _NARROWEST) - (separators is not None)
    row = _Row(gutter)
    current: tuple[int, str | None] | None = None
    for piece in pieces:
        if piece.place != current:
            yield from row.written()
            row.label = piece.section or ("template" if current is not None else "")
            row.style = _ground(piece.section, 0, console) if is_coloured else Style(bold=True)
            current = piece.place
        style = _style(piece, console) if is_coloured else Style()
        room = sum(glyph.room for glyph in piece.glyphs)
        if row.used + room > columns >= room:  # a token is split only if it does not fit in a row
            yield from row.written()
        for glyph in piece.glyphs:
            if row.used + glyph.room > columns:
                yield from row.written()
            row.add(glyph, style, piece.mark)
            if glyph.ends_line:
                yield from row.written()
        if separators is not None and row.used:
            row.separate(separators)
    yield from row.written()


class _Row:
    """A row that is being filled."""

    def __init__(self, gutter: int) -> None:
        self._gutter = gutter
        self.label = ""
        self.style = Style()
        self._clear()

    def _clear(self) -> None:
        self.used = 0
        self._text = Text()
        self._marks = ""

    def add(self, glyph: Glyph, style: Style, mark: str) -> None:
        self._text.append(
            glyph.text, style + Style(dim=True) if glyph.stand_in and not style.bgcolor else style
        )
        self._marks += mark * glyph.width
        self.used += glyph.room

    def separate(self, separators: Separators) -> None:
        self._text.append(separators.whole, FAINT)
        self._marks += " "
        self.used += 1

    def written(self) -> Iterator[Text]:
        """Yield the row and its marks, unless it is empty, and start a new one."""
        if not self.used:
            return
        label = visible(self.label)[: self._gutter - 1]
        yield Text.assemble((label, self.style), " " * (self._gutter - len(label)), self._text)
        if self._marks.strip():
            yield Text(" " * self._gutter + self._marks.rstrip())
        self._clear()
        self.label = ""


def _style(piece: ShownToken, console: Console) -> Style:
    style = _ground(piece.section, piece.turn, console)
    if piece.is_control:
        if console.color_system in ("standard", "windows"):
            return Style(color=Color.from_ansi(15), bgcolor=Color.from_ansi(4), bold=True)
        return Style(
            color=Color.from_ansi(_BRIGHT), bgcolor=Color.from_ansi(_CONTROL[piece.turn % 2]), bold=True
        )
    return style + Style(bold=True) if piece.mark == REFUSED else style


def _ground(role: str | None, turn: int, console: Console) -> Style:
    if console.color_system in ("standard", "windows"):
        ground = _SIXTEEN.get(role or "", 7)
        return Style(color=Color.from_ansi(0), bgcolor=Color.from_ansi(ground), underline=turn % 2 == 1)
    grounds = _TEMPLATE if role is None else _GROUNDS.get(role, _OTHER)
    return Style(color=Color.from_ansi(_DARK), bgcolor=Color.from_ansi(grounds[turn % 2]))


def _legend(result: ChatResult, *, console: Console) -> Text:
    is_coloured = palette_for(console) is not None
    legend = Text.assemble(("legend: ", FAINT))
    if is_coloured:
        for role in dict.fromkeys([*result.roles, *filter(None, result.sections)]):
            legend.append(f" {visible(role)} ", _ground(role, 0, console))
            legend.append(" ")
        legend.append(
            " control token ", _style(ShownToken((), None, -1, is_control=True, mark=" ", turn=0), console)
        )
        legend.append(" ")
    else:
        legend.append("⟪control token⟫  ")
    legend.append(f" {LEARNED} learned")
    if result.chat.findings:
        legend.append(f"  {REFUSED} would have been a control token")
    return legend


_STYLE = """
html{color-scheme:light dark}
body{margin:0 auto;max-width:70rem;padding:1rem;font:1rem/1.5 system-ui,sans-serif}
h2{font-size:1.1rem;margin:2rem 0 .5rem;overflow-wrap:anywhere}
section{display:grid;grid-template-columns:7rem 1fr;gap:.3rem .8rem;margin:.4rem 0}
b.role{overflow-wrap:anywhere}
p{margin:.3rem 0}
.text{font:.95rem/1.9 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
.text span{color:#111;padding:.1em 0;border-inline-start:1px solid #0003;
-webkit-print-color-adjust:exact;print-color-adjust:exact}
.system span,.developer span{background:#c7b8f5}.user span{background:#a8d4f7}
.assistant span,.model span{background:#8fdcae}
.tool span,.ipython span,.function span{background:#fbc79a}
.other span{background:#dcd98d}.template span{background:#c8c8c8}
.text span.control{background:#1c1c5e;color:#fff;font-weight:700}
.text span.learned{border-block-end:3px solid #0b6b2e}
.text span.control.learned{border-block-end-color:#8fdcae}
.text span.refused{outline:2px solid #c00;font-weight:700}
.faint{opacity:.7}
@media (prefers-color-scheme:dark){.text span.learned{border-block-end-color:#fff}}
"""
_ROLES = {"system", "developer", "user", "assistant", "model", "tool", "ipython", "function"}


def chat_page(results: Iterable[ChatResult]) -> bytes:
    """Return a page with each conversation by message, and a legend."""
    legend = (
        '<p class="text template"><span class="control">control token</span> <span class="learned">learned</span> '
        '<span class="refused">would have been a control token, and stays text</span></p>\n'
    )
    conversations = (part for result in results for part in _conversation(result))
    return inert_page("Conversations as tokens", legend + "".join(conversations), style=_STYLE)


def _conversation(result: ChatResult) -> Iterator[str]:
    yield f"<h2>{escaped(result.place)} · {escaped(result.template)} · {escaped(result.info.name)}</h2>\n"
    roles = " · ".join(f"{escaped(role)} {count:,}" for role, count in result.tokens_by_role.items())
    yield f"<p>{counted(len(result.chat), 'token')} ({roles}), {result.learned:,} learned</p>\n"
    group: list[ShownToken] = []
    for piece in shown_tokens(result):
        if group and piece.place != group[-1].place:
            yield _section(group)
            group = []
        group.append(piece)
    if group:
        yield _section(group)
    for note in notes_of(result):
        yield f"<p>{escape(note)}</p>\n"


def _section(group: list[ShownToken]) -> str:
    role = group[0].section
    kind = "template" if role is None else role if role in _ROLES else "other"
    tokens = "".join(map(_token, group))
    return f'<section><b class="role">{escaped(role or "")}</b><div class="text {kind}">{tokens}</div></section>\n'


def _token(piece: ShownToken) -> str:
    classes = [
        name
        for name, holds in (
            ("control", piece.is_control),
            ("learned", piece.mark == LEARNED),
            ("refused", piece.mark == REFUSED),
        )
        if holds
    ]
    attribute = f' class="{" ".join(classes)}"' if classes else ""
    parts = (escape(glyph.text) + ("<br>" if glyph.ends_line else "") for glyph in piece.glyphs)
    return f"<span{attribute}>{''.join(parts)}</span>"
